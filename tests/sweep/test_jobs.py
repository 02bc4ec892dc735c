"""What a batch trains and plays in its process."""

from dataclasses import dataclass, field

import pytest

from ascpo.runs import api
from ascpo.sweep.jobs import run_batch
from tests.runs.helpers import CART, tiny
from tests.sweep.helpers import SUITE, job, write_run


@dataclass(frozen=True)
class Episodes:
    """An evaluation that only remembers with how many threads it was played."""

    threads: list[int] = field(default_factory=list, compare=False)

    def kept(self, run):
        return len(self.threads), None

    def count(self, run):
        return 1

    def play(self, run, env, threads=0):
        self.threads.append(threads)


@pytest.mark.parametrize(("env", "threads"), [(SUITE, 3), (CART, 0)])
def test_episodes_after_training_take_threads_only_in_a_suite(tmp_path, env, threads):
    """Your own environments refuse a number of threads."""
    episodes = Episodes()
    one = job(tmp_path, env=env, evaluation=episodes, **tiny("trpo"))
    write_run(one)
    run_batch((one,), threads=3)
    assert episodes.threads == [threads]


def test_runs_of_an_engine_that_trains_one_are_trained_one_after_the_other(tmp_path, monkeypatch):
    jobs = tuple(job(tmp_path, env=CART, seed=seed, **tiny("trpo")) for seed in range(2))
    trained = []

    def relaunch(runs, env, options, callbacks):
        if len(runs) > 1:
            raise api.OneRunAtATime("one seed at a time")
        trained.extend(run.directory.path for run in runs)

    monkeypatch.setattr(api, "relaunch", relaunch)
    run_batch(jobs)
    assert trained == [one.directory for one in jobs]
