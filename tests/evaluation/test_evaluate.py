import json
from dataclasses import replace

import numpy as np
import pytest

from ascpo.engines.gymnasium.errors import Faulty
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.evaluation.evaluation_file import check_belongs
from ascpo.evaluation.records import read_records
from ascpo.evaluation.retrace import retrace
from ascpo.runs import files
from ascpo.runs.files import BadFile
from ascpo.runs.hosting import Hosting
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import read_policy
from ascpo.seeding import Purpose, seed_of
from tests.evaluation.untrained import untrained
from tests.misbehaving import Misbehaving
from tests.slow import slow


def test_an_evaluation_stores_figures_episodes_and_the_worst_of_them_with_the_run(tmp_path):
    run = untrained(tmp_path)
    found = evaluate_run(run, 25, keep=3)
    assert json.loads((run / "evaluation.json").read_text())["sampled"] == found["sampled"]
    rows = read_table(run / "episodes-sampled.csv")
    assert len(rows["EpRet"]) == 25
    assert found["sampled"]["EpRet"] == pytest.approx(rows["EpRet"].mean(), abs=1e-5)
    assert found["sampled"]["SafeRate"] == rows["Safe"].mean()
    worst = read_records(run / "worst-sampled.safetensors")
    assert len(worst) == 3
    assert worst[0].maximum[0] == pytest.approx(rows["EpMaxCost"].max(), abs=1e-5)
    assert retrace(worst[0]).reward.sum() == worst[0].reward


@pytest.mark.usefixtures("unchecked_shapes")
def test_the_same_seed_gives_the_same_episodes_and_another_gives_others(tmp_path):
    run = untrained(tmp_path)
    first = evaluate_run(run, 10)["sampled"]["EpRet"]
    assert evaluate_run(run, 10)["sampled"]["EpRet"] == first
    evaluate_run(run, 10, seed=1)
    other = read_table(run / "episodes-sampled.csv")["Seed"]
    evaluate_run(run, 10, seed=0)
    assert not set(other) & set(read_table(run / "episodes-sampled.csv")["Seed"])


@slow("test_seeding.py tests it with the seeds")
def test_evaluations_with_neighbouring_seeds_share_no_episode_of_a_suite(tmp_path):
    run = untrained(tmp_path, env="Point-1-Hazard")
    seeds = []
    for seed in (0, 1):
        evaluate_run(run, 3, seed=seed, actions="mean")
        seeds.append(set(read_table(run / "episodes-mean.csv")["Seed"]))
    assert not seeds[0] & seeds[1]
    assert seeds == [{seed_of(Purpose.EVALUATION, seed)} for seed in (0, 1)]


@pytest.mark.usefixtures("unchecked_shapes")
def test_sampled_and_mean_actions_can_both_be_evaluated(tmp_path):
    run = untrained(tmp_path)
    found = evaluate_run(run, 10, actions="both")
    assert found["sampled"]["EpRet"] != found["mean"]["EpRet"]
    assert read_records(run / "worst-mean.safetensors")[0].mean_action


@pytest.mark.usefixtures("unchecked_shapes")
def test_mean_actions_may_be_evaluated_after_sampled_ones(tmp_path):
    run = untrained(tmp_path)
    first = evaluate_run(run, 10)["sampled"]
    found = evaluate_run(run, 10, actions="mean")
    assert found["sampled"] == first
    assert "sampled" not in evaluate_run(run, 10, actions="mean", seed=1), "those were other scenes"


def test_a_shields_interventions_are_reported(tmp_path):
    """A safety layer does nothing in its warm-up. When it acts, it changes actions with a predicted cost."""
    asleep = evaluate_run(untrained(tmp_path, algo="trpo-sl"), 10)["sampled"]["Interventions"]
    switch = np.zeros(untrained_size(tmp_path), np.float32)
    switch[-1] = 1.0
    awake = evaluate_run(untrained(tmp_path, algo="trpo-sl", seed=1, shift=switch), 10)["sampled"]["Interventions"]
    assert asleep == 0.0
    assert 0.01 < awake <= 1.0


def untrained_size(out):
    return len(read_policy(next(out.glob("*trpo-sl*"))).theta)


@pytest.mark.parametrize("bad", [{"episodes": 0}, {"episodes": 5, "keep": -1}, {"episodes": 5, "seed": -1}])
def test_impossible_arguments_are_refused(tmp_path, bad):
    with pytest.raises(BadSetting):
        evaluate_run(untrained(tmp_path), bad.pop("episodes"), **bad)


def test_the_files_appear_together_or_not_at_all(tmp_path, monkeypatch):
    run = untrained(tmp_path)
    evaluate_run(run, 5)
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    write_all = files.write_all

    def full(file, content):
        if b"checksum" in content:
            raise OSError(28, "No space left on device")
        write_all(file, content)

    monkeypatch.setattr(files, "write_all", full)
    with pytest.raises(OSError, match=r"evaluation.json could not be written: No space left on device"):
        evaluate_run(run, 6)
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before


def test_damaged_files_of_an_earlier_evaluation_are_not_kept(tmp_path):
    run = untrained(tmp_path)
    evaluate_run(run, 5, actions="both")
    (run / "episodes-sampled.csv").write_text("EpRet\n1\n")
    with pytest.raises(BadFile, match=r"episodes-sampled.csv is damaged, or belongs to another evaluation"):
        check_belongs(run, "episodes-sampled.csv")
    check_belongs(run, "episodes-mean.csv")
    assert "sampled" not in evaluate_run(run, 5, actions="mean")


def test_episodes_end_as_in_training_unless_another_number_of_steps_is_given(tmp_path):
    run = untrained(tmp_path, env="tests.misbehaving:Endless", max_episode_steps=7)
    evaluate_run(run, 3, trust_env=True, keep=1)
    assert set(read_table(run / "episodes-sampled.csv")["EpLen"]) == {7}
    (worst,) = read_records(run / "worst-sampled.safetensors")
    assert len(retrace(worst, trust_env=True).reward) == 7
    evaluate_run(run, 3, trust_env=True, actions="mean", max_episode_steps=5)
    found = json.loads((run / "evaluation.json").read_text())
    assert found["max_episode_steps"] == 5
    assert "sampled" not in found, "episodes of other lengths are another evaluation"


def test_an_evaluation_whose_process_dies_fails_or_counts_the_episode_as_violated(tmp_path, monkeypatch):
    """The limit is 100, so nothing else violates it."""
    monkeypatch.setenv("FAULT", "SIGKILL")
    monkeypatch.setenv("AT", "33")
    Misbehaving.made = 0
    run, processes = untrained(tmp_path, env="tests.misbehaving:make", limits=(100.0,)), Hosting(processes=True)
    Misbehaving.made = 0
    with pytest.raises(Faulty, match="step 13: Its process died during step: SIGKILL ended it"):
        evaluate_run(run, 3, trust_env=True, hosting=processes)
    assert not (run / "evaluation.json").exists()
    Misbehaving.made = 0
    found = evaluate_run(run, 3, trust_env=True, hosting=replace(processes, restart_environments=True))
    assert read_table(run / "episodes-sampled.csv")["Safe"].tolist() == [1, 0, 1]
    assert found["sampled"]["SafeRate"] == pytest.approx(2 / 3)
