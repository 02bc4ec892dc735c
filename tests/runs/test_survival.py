"""A training that is killed goes on as if nothing had been. The benchmark of the same name kills more often."""

import pytest

from benchmarks.survival import same, survive


@pytest.mark.parametrize("env", ["Point-1-Pillar"])
def test_killed_at_a_random_moment_a_run_ends_with_the_same_bytes(env, tmp_path):
    whole, killed, moments = survive(env, 1, tmp_path)
    assert len(moments) == 1
    assert same(whole, killed) == {"metrics.csv": True, "parameters": True}
