import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ascpo.evaluation.bound import allowed_violations, each_of, episodes_needed, lower_bound


@given(st.integers(1, 5000), st.floats(0, 1), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_at_the_bound_so_few_violations_have_exactly_the_error_probability(episodes, share, confidence):
    violations = int(share * (episodes - 1))
    bound = lower_bound(violations, episodes, confidence)
    assert stats.binom.cdf(violations, episodes, 1 - bound) == pytest.approx(1 - confidence, rel=1e-6)


@given(st.integers(1, 3000), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_bound_is_scipys_one_sided_interval_and_a_quantile_of_a_beta_distribution(episodes, share, confidence):
    violations = int(share * (episodes - 1))
    expected = stats.beta.ppf(1 - confidence, episodes - violations, violations + 1)
    assert lower_bound(violations, episodes, confidence) == pytest.approx(expected, rel=1e-9)


def test_if_every_episode_violates_the_bound_is_zero():
    assert lower_bound(50, 50, 0.95) == 0.0


@pytest.mark.parametrize(
    ("probability", "confidence", "episodes"), [(0.99, 0.95, 299), (0.98, 0.95, 149), (0.9, 0.9, 22)]
)
def test_the_numbers_of_clean_episodes_are_the_known_ones(probability, confidence, episodes):
    """The rule of three, exactly: N ≥ log(1 − c)/log(p)."""
    assert episodes_needed(probability, confidence) == episodes
    assert episodes == math.ceil(math.log(1 - confidence) / math.log(probability))
    assert lower_bound(0, episodes, confidence) >= probability
    assert lower_bound(0, episodes - 1, confidence) < probability


@given(st.integers(1, 2000), st.floats(0.5, 0.999), st.sampled_from([0.9, 0.95]))
def test_one_violation_more_than_allowed_is_too_many(episodes, probability, confidence):
    allowed = allowed_violations(episodes, probability, confidence)
    if allowed >= 0:
        assert lower_bound(allowed, episodes, confidence) >= probability
    if allowed < episodes:
        assert lower_bound(allowed + 1, episodes, confidence) < probability


@pytest.mark.parametrize("truth", [0.5, 0.9, 0.97, 0.98, 0.99, 0.999])
@pytest.mark.parametrize("episodes", [150, 1000])
def test_over_two_thousand_simulated_policies_the_confidence_holds(truth, episodes):
    """A bound is wrong if it is above the truth. That may happen to one policy in twenty."""
    rng = np.random.default_rng(7)
    violations = rng.binomial(episodes, 1 - truth, 2000)
    bounds = {k: lower_bound(int(k), episodes, 0.95) for k in np.unique(violations)}
    right = np.mean([bounds[k] <= truth for k in violations])
    # The bound falls as violations rise, so it is wrong exactly for as many as would still show the truth.
    exact = 1 - stats.binom.cdf(allowed_violations(episodes, truth, 0.95), episodes, 1 - truth)
    assert exact >= 0.95
    assert right == pytest.approx(exact, abs=3 * math.sqrt(exact * (1 - exact) / 2000) + 1e-9)
    assert right >= 0.95 - 0.005


def test_several_statements_share_the_error():
    assert each_of(0.95, 1) == 0.95
    assert each_of(0.95, 5) == pytest.approx(0.99)


@pytest.mark.parametrize("bad", [(-1, 10, 0.95), (11, 10, 0.95), (0, 0, 0.95), (0, 10, 1.0)])
def test_impossible_counts_are_refused(bad):
    with pytest.raises(ValueError, match="must"):
        lower_bound(*bad)
