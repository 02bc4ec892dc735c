"""Training several seeds with one command."""

import json

import pytest

from ascpo.cli.trained import _continued
from ascpo.runs.config import configure
from ascpo.runs.directory import find
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import read_table
from ascpo.sweep.seeds import seeds_of
from tests.runs.helpers import EPOCH, POINT, TINY, words
from tests.slow import slow

QUICK = [*words(), "--evaluate", 0, "--checkpoint-every", 0]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0..3", [0, 1, 2, 3]), ("0,3,5", [0, 3, 5]), ("7", [7]), ("4..4", [4]), ("0..2,2,9", [0, 1, 2, 9])],
)
def test_seeds_are_given_as_a_list_or_a_range(text, seeds):
    assert seeds_of(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "1..", "..3", "3..1", "0..2..4", "1;2", "0-7", "1.5"])
def test_a_wrong_list_of_seeds_is_refused_with_an_example(text):
    with pytest.raises(BadSetting, match=r"not a list of seeds\. Try 0\.\.7, or 0,3,5"):
        seeds_of(text)


@slow("tests/runs/test_train_many.py tests it, too")
def test_seeds_train_at_the_same_time_and_continue_at_the_same_time(ascpo, tmp_path):
    said = ascpo("train", "--env", POINT, "--seeds", "0..1", "--total-steps", EPOCH, "--out", tmp_path, *QUICK)
    runs = [tmp_path / f"Point-1-Hazard-ascpo-seed{seed}" for seed in (0, 1)]
    assert "At the same time: Point-1-Hazard-ascpo-seed1" in said
    ascpo("train", "--resume", *runs, "--total-steps", 2 * EPOCH, "--evaluate", 0)
    assert [len(read_table(find(run).metrics)["Epoch"]) for run in runs] == [2, 2]
    assert [find(run).config().seed for run in runs] == [0, 1]


def test_runs_of_different_lengths_keep_their_lengths_unless_one_is_typed(ascpo, tmp_path):
    runs = [tmp_path / "short", tmp_path / "long"]
    configs = [configure(POINT, seed=i, total_steps=(i + 1) * EPOCH, **TINY) for i in range(2)]
    for run, config in zip(runs, configs, strict=True):
        run.mkdir()
        (run / "config.json").write_text(json.dumps(config.plain()))
    for both in (runs, runs[::-1]):
        with pytest.raises(SystemExit, match="Runs that train at the same time need the same total_steps"):
            ascpo("train", "--resume", *both)
    assert [find(run).config() for run in runs] == configs
    words = ["--final-policy", "last"]
    assert [_continued(config, configs[0], words).total_steps for config in configs] == [EPOCH, 2 * EPOCH]
    assert _continued(configs[0], configs[1], ["--total_steps=200"]).total_steps == 2 * EPOCH


def test_a_run_that_is_named_twice_is_refused(ascpo, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(configure(POINT, **TINY).plain()))
    with pytest.raises(SystemExit, match=r"--resume names .*run twice"):
        ascpo("train", "--resume", run, tmp_path / "." / "run")


def test_a_name_is_shared_by_several_seeds(ascpo, tmp_path):
    ascpo(
        "train", "--env", POINT, "--seeds", "2,4", "--name", "mine", "--total-steps", EPOCH, "--out", tmp_path, *QUICK
    )
    assert {path.name for path in tmp_path.iterdir()} == {"mine-seed2", "mine-seed4"}


def test_wrong_seeds_are_refused_before_anything_is_written(ascpo, tmp_path):
    for seeds, answer in (("1-2", "not a list of seeds"), ("-1..0", "seed")):
        with pytest.raises(SystemExit, match=answer):
            ascpo("train", "--env", POINT, f"--seeds={seeds}", "--out", tmp_path / "out", *QUICK)
    assert not (tmp_path / "out").exists()
