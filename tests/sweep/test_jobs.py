"""What a batch trains and plays in its process."""

from dataclasses import dataclass, field

import pytest

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
