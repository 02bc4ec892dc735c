"""The command line as users type it."""

import csv
import json
import re
import shutil
import subprocess
import sys

import pytest

from ascpo.cli import main
from ascpo.cli.train import parse
from ascpo.runs.config import configure
from ascpo.runs.directory import runs_in
from ascpo.runs.serialization import BadSetting
from tests.runs.helpers import CART, EPOCH, POINT, words
from tests.slow import slow

QUICK = [*words(), "--evaluate", "3", "--checkpoint-every", "0"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short training."""
    out = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["ascpo", "train", "--env", POINT, "--total-steps", "200", "--out", str(out), *QUICK])
        main.main()
    return out / "Point-1-Hazard-ascpo-seed0"


@slow("tests/runs/test_final_policy.py tests each of them")
def test_a_finished_training_may_take_another_final_policy(run, ascpo, tmp_path):
    copies = [shutil.copytree(run, tmp_path / name) for name in ("a", "b")]
    quiet = ["--evaluate", "0", "--no-progress"]
    assert "policy.safetensors, the policy after 2 epochs, the last one" in ascpo("train", "--resume", run, *quiet)
    average = "the mean of the policies after 1 to 2 epochs"
    words = ["train", "--resume", copies[0], "--final-policy", "average"]
    assert f"policy.safetensors, {average}\n" in ascpo(*words, *quiet)
    both = ascpo("train", "--resume", *copies, *quiet)
    assert both.count(average) == 1, "without the flag, each run keeps the final policy that it would have had"
    some = ["--final-policy", "selected", "--validation-episodes", "2"]
    assert ascpo("train", "--resume", copies[1], *some, *quiet).count("selected on validation scenes") == 1
    assert json.loads((copies[1] / "config.json").read_text())["validation_episodes"] == 2
    ascpo("train", "--resume", copies[1], "--final-policy", "last", *quiet)
    assert "validation_episodes" not in json.loads((copies[1] / "config.json").read_text())


def test_a_training_leaves_its_log_its_settings_its_policy_an_evaluation_and_a_report(run):
    with (run / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["TotalEnvInteracts"]) for row in rows] == [100, 200]
    assert {"EpRet", "EpCost", "EpMaxCost", "EpLen", "CostRate", "WorstCost", "Case", "KL", "EVCost"} <= set(rows[0])
    assert json.loads((run / "config.json").read_text())["algo"] == "ascpo"
    assert json.loads((run / "evaluation.json").read_text())["sampled"]["Episodes"] == 3
    assert json.loads((run / "versions.json").read_text())["jax"]
    assert "<svg" in (run / "report" / "index.html").read_text()
    assert (run / "worst-sampled.safetensors").exists()
    assert (run / "policy.safetensors").exists()


def test_a_run_says_at_its_start_what_is_constrained(ascpo, tmp_path):
    out = ascpo("train", "--env", POINT, "--total-steps", EPOCH, "--out", tmp_path, *QUICK, "--evaluate", 0)
    said = " ".join(out.split())
    assert "the largest cost of any state in an episode stays within its limit (hazard at or under 0) in 98 %" in said
    assert "mode chernoff" in said
    assert re.search(r"1/1 .*EpRet .*EpCost .*WorstCost .*SafeRate .*steps/s .*left", said)
    assert "metrics.csv" in said


def test_resuming_needs_only_the_directory_and_may_be_longer(ascpo, run):
    out = ascpo("train", "--resume", run, "--total-steps", 3 * EPOCH, "--evaluate", 0)
    assert "Continuing after epoch 2" in out
    assert "3/3" in out


def test_resuming_with_other_settings_is_refused(ascpo, run):
    with pytest.raises(SystemExit, match=r"discount is 0\.99 in this run, and you asked for 0\.9"):
        ascpo("train", "--resume", run, "--discount", 0.9)
    with pytest.raises(SystemExit, match="algo is ascpo in this run, and you asked for cpo"):
        ascpo("train", "--resume", run, "--algo", "cpo", "--evaluate", 0)


def test_the_settings_of_another_run_can_be_taken_and_changed(ascpo, run, tmp_path):
    ascpo("train", "--config", run, "--seed", 4, "--total-steps", EPOCH, "--out", tmp_path, "--evaluate", 0)
    (other,) = runs_in(tmp_path)
    assert other.config().seed == 4
    assert other.config().settings.num_envs == 4


def test_a_resumed_run_keeps_its_seeding_and_a_new_one_with_its_settings_gets_the_latest(tmp_path):
    plain = configure(POINT, seeding=1).plain()
    (tmp_path / "config.json").write_text(json.dumps(plain))
    resumed, _ = parse(["--resume", str(tmp_path)])
    new, _ = parse(["--config", str(tmp_path)])
    repeated, _ = parse(["--config", str(tmp_path), "--seeding", "1"])
    assert [asked.as_configs()[0].seeding for asked in (resumed, new, repeated)] == [1, 2, 1]
    with pytest.raises(BadSetting, match="seeding is 1 in this run, and you asked for 2"):
        parse(["--resume", str(tmp_path), "--seeding", "2"])


def test_a_run_keeps_its_episode_length_and_mentions_it_only_if_it_was_set(tmp_path):
    asked, _ = parse(["--env", CART, "--max-episode-steps", "7"])
    (config,) = asked.as_configs()
    assert config.plain()["max_episode_steps"] == 7
    (tmp_path / "config.json").write_text(json.dumps(config.plain()))
    with pytest.raises(BadSetting, match="max_episode_steps is 7 in this run, and you asked for 8"):
        parse(["--resume", str(tmp_path), "--max-episode-steps", "8"])
    assert "max_episode_steps" not in configure(CART).plain()


def test_a_stopped_training_says_how_to_continue(ascpo, tmp_path, monkeypatch, capsys):
    import signal

    from tests.runs.test_run import Signal

    monkeypatch.setattr("ascpo.runs.api._callbacks", lambda options, directories: [Signal(1, signal.SIGINT)])
    with pytest.raises(SystemExit) as end:
        ascpo("train", "--env", POINT, "--total-steps", 3 * EPOCH, "--out", tmp_path, *QUICK)
    assert end.value.code == 130
    assert f"ascpo train --resume {runs_in(tmp_path)[0].path}" in capsys.readouterr().out


def test_an_evaluation_has_the_figures_of_this_field(ascpo, run):
    out = ascpo("evaluate", run, "--episodes", 4)
    for name in ("4 fresh episodes", "EpRet", "EpCost", "EpMaxCost", "SafeRate", "CostRate"):
        assert name in out


def test_lists_show_what_there_is(ascpo, run):
    assert "ascpo" in ascpo("list")
    assert "Arm3-8-Hazard" in ascpo("list", "suites")
    assert "Point-1-Hazard-ascpo-seed0" in ascpo("list", "runs", run.parent).replace("\n", "")


def test_a_check_describes_an_environment(ascpo):
    out = ascpo("check", CART)
    assert "tests/Cart-v0 can be trained on" in out
    assert "-2 to 2" in out
    assert "constraints    cost" in out
    assert "30 numbers" not in ascpo("check", "Point-4-Hazard+2-Pillar")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["trian"], "Did you mean train"),
        (["train", "--env", "Point8Hazard"], "Did you mean Point-8-Hazard"),
        (["train", "--algo", "asppo"], "Did you mean ascpo"),
        (["train", "--env", "CartPole-v1"], "Discrete"),
        (["train", "--env", "tests.own:WithoutCost"], "cost"),
        (["train", "--env", "tests.own:mak"], "Did you mean make"),
        (["train", "--env", CART, "--limits", "0", "1"], "2 limits for 1 constraints"),
        (["train", "--env", CART, "--total-steps", "0"], "total_steps=0 must be a whole number from 1"),
        (["train", "--resume", "runs/nothing"], "holds no run"),
        (["train", "--config", "nothing.json"], "does not exist"),
        (["evaluate", "runs/nothing"], "holds no run"),
        (["check", "tests.own:WithoutCost"], "cost"),
        (["list", "algoritms"], "Did you mean algorithms"),
        (["list", "runs", "nowhere"], "There is no run"),
        (["list", "runs", __file__], "is not a directory"),
    ],
)
def test_a_mistake_gets_an_error_that_says_what_is_right(ascpo, typed, answer, tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match=answer):
        ascpo(*typed, *(["--out", tmp_path / "out"] if typed[0] == "train" else []))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["--total_steps", "6m"], "Did you mean 6e6"),
        (["--total-stpes", "6e6"], "--total-steps"),
        (["--mode", "papr"], "paper"),
        (["--num-env", "3"], "--num-envs"),
        (["--probability", "lots"], "FLOAT"),
        (["--probability", "98"], "must be a number above 0 and below 1"),
        (["--evaluate", "-1"], "evaluate=-1 must be a whole number from 0"),
    ],
)
def test_a_mistyped_flag_gets_the_nearest_one_suggested(ascpo, typed, answer, capsys):
    with pytest.raises(SystemExit) as end:
        ascpo("train", *typed)
    printed = capsys.readouterr()
    assert answer in " ".join(f"{printed.out} {printed.err} {end.value}".replace("│", " ").split())


def test_help_needs_no_heavy_imports():
    """Help must appear at once."""
    code = "import sys; sys.argv = ['ascpo', '--help']; from ascpo.cli.main import main; main(); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "usage: ascpo COMMAND" in out
    assert not {"jax", "mujoco", "matplotlib", "orbax", "tyro"} & set(out.split())


def test_a_mistyped_argument_is_refused_without_heavy_imports(tmp_path):
    """The answer must appear at once."""
    typed = [[verb, "nowhere"] for verb in ("certify", "evaluate", "report", "replay", "video", "export")]
    typed += [["check", "Pont-8-Hazard"], ["train", "--env", "Pont-8-Hazard"], ["train", "--gamma", "1"]]
    code = f"""
import sys
from ascpo.cli.main import main
for words in {typed}:
    sys.argv = ["ascpo", *words]
    try:
        main()
    except SystemExit as end:
        assert end.code in (1, 2), words
    assert not {{"jax", "matplotlib", "orbax"}} & set(sys.modules), words
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr.count("\n") == len(typed)


def test_the_help_of_train_shows_the_settings_of_the_chosen_algorithm(ascpo, capsys):
    for algo, shown in (("ascpo", True), ("trpo", False)):
        with pytest.raises(SystemExit):
            ascpo("train", "--algo", algo, "--help")
        said = capsys.readouterr().out
        assert ("--omega1" in said) == shown
        assert "The run's directory holds the policy" in said
