"""A training that is killed continues as if nothing had happened. The benchmark of the same name kills more often."""

import pytest

from benchmarks.survival import same, survive
from tests.slow import slow


@slow("the test of a killed sweep always runs")
@pytest.mark.parametrize("env", ["Point-1-Pillar"])
def test_a_run_that_is_killed_twice_at_random_moments_ends_with_the_same_bytes(env, tmp_path):
    whole, killed, moments = survive(env, 2, tmp_path)
    assert len(moments) == 2
    assert same(whole, killed) == {"metrics.csv": True, "parameters": True}
