"""The output of a sweep, and its estimates of time."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from ascpo.runs.config import configure
from ascpo.runs.directory import RunDirectory
from ascpo.sweep.estimate import Estimate, duration, longest_first
from ascpo.sweep.executors import InProcess
from ascpo.sweep.jobs import Job
from ascpo.sweep.progress import ConsoleProgress
from ascpo.sweep.scheduler import TOGETHER, run_sweep
from tests.sweep.helpers import SUITE, job, short, write_run


def test_a_batch_has_one_line_for_each_event(tmp_path, capsys):
    def train(batch):
        if "scpo-seed0" in short(batch):
            raise RuntimeError("Epoch 1 made numbers that are not finite.")
        for one in batch:
            write_run(one)

    jobs = [job(tmp_path, algo) for algo in ("trpo", "scpo")]
    write_run(jobs[0], epochs=1)
    progress = ConsoleProgress(jobs, Estimate(tmp_path), console=Console(highlight=False, soft_wrap=True))
    run_sweep(jobs, InProcess(train), progress, batches=TOGETHER)
    assert capsys.readouterr().out.splitlines() == [
        f"[1 to 2 of 2] batch of 2 runs of {SUITE}: 2 epochs, resumed after epoch 0 to 1; 0 s left in total",
        f"[1 to 2 of 2] batch of 2 runs of {SUITE}: failed: Epoch 1 made numbers that are not finite; it continues in "
        "two halves; 0 s left in total",
        f"[1 of 2] {SUITE}-trpo-seed0: 2 epochs, resumed after epoch 1; 0 s left in total",
        f"[1 of 2] {SUITE}-trpo-seed0: done in 0 s; 0 s left in total",
        f"[2 of 2] {SUITE}-scpo-seed0: 2 epochs; 0 s left in total",
        f"[2 of 2] {SUITE}-scpo-seed0: failed: Epoch 1 made numbers that are not finite; 0 s left in total",
    ]


def full(path, algo="trpo", **settings):
    """Two hundred epochs of 30 × 1000 steps, however few the helpers' jobs have."""
    return configure("Point-8-Hazard", algo, total_steps=6e6, **settings)


def test_finished_runs_estimate_better_than_the_rule_of_thumb(tmp_path):
    trpo = full(tmp_path)
    assert Estimate(tmp_path).seconds(trpo) == pytest.approx(200 * (30_000 / 15e3 + 1.5))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text(json.dumps(trpo.plain()))
    timing = "Epoch,TimeRollout,TimePolicy,TimeSaved\n0,9,9,9\n1,9,9,9\n2,1,2,9\n3,1,2,9\n4,8,8,9\n"
    (tmp_path / "run" / "timing.csv").write_text(timing)
    assert Estimate(tmp_path).seconds(trpo) == pytest.approx(200 * 3.0)
    assert Estimate(tmp_path).seconds(full(tmp_path, "ascpo"), epochs=10) == pytest.approx(30.0)


def test_an_estimate_that_was_wrong_for_one_suite_is_corrected_for_the_others(tmp_path):
    estimate, ant = Estimate(tmp_path), configure("Ant-8-Hazard", "trpo", total_steps=6e6)
    before = estimate.seconds(ant)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text(json.dumps(full(tmp_path).plain()))
    (tmp_path / "run" / "timing.csv").write_text("Epoch,TimeRollout\n0,9\n1,9\n2,7\n")
    estimate.learn(RunDirectory(tmp_path / "run"))
    assert estimate.seconds(ant) == pytest.approx(2.0 * before)
    assert estimate.seconds(replace(ant, engine="mjx-warp")) == pytest.approx(before / 30)


@pytest.mark.parametrize(("algo", "learning"), [("cpo", 1.5), ("pascpo", 3.0), ("ppo-lagrangian", 3.0)])
def test_algorithms_with_clipped_steps_take_longer(tmp_path, algo, learning):
    assert Estimate(tmp_path).seconds(full(tmp_path, algo), epochs=1) == pytest.approx(30_000 / 15e3 + learning)


def test_the_longest_runs_come_first_and_equal_ones_keep_their_order(tmp_path):
    envs = ("Point-1-Hazard", "Humanoid-8-Hazard", "Point-8-Hazard", "Ant-8-Hazard")
    jobs = [job(tmp_path, "trpo", env=env) for env in envs]
    order = [one.config.env for one in longest_first(jobs, Estimate(tmp_path))]
    assert order == ["Humanoid-8-Hazard", "Ant-8-Hazard", "Point-1-Hazard", "Point-8-Hazard"]


@pytest.mark.parametrize(("slots", "epochs", "left"), [(1, (0, 0), 400), (10**6, (0, 0), 200), (4, (200, 100), 100)])
def test_no_more_batches_count_at_the_same_time_than_runs_are_left(tmp_path, capsys, slots, epochs, left):
    """An executor with its own queue accepts a million batches."""
    jobs = [Job(full(tmp_path), tmp_path / f"run{i}") for i in range(2)]
    for one, done in zip(jobs, epochs, strict=True):
        write_run(one, done)
    ConsoleProgress(jobs, Estimate(tmp_path), slots, Console(highlight=False, soft_wrap=True)).start((jobs[1],))
    assert f"; {duration(left * 3.5)} left in total" in capsys.readouterr().out


def test_epochs_whose_times_were_lost_are_left_out_of_an_estimate(tmp_path):
    write_run(Job(full(tmp_path), tmp_path / "run"), 5)
    (tmp_path / "run" / "timing.csv").write_text("Epoch,TimeRollout\n0,9\n1,9\n2,nan\n3,7\n4,nan\n")
    assert Estimate(tmp_path).seconds(full(tmp_path)) == pytest.approx(200 * 7.0)
