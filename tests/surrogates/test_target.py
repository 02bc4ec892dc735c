"""What steps are asked to achieve, on episodes made by hand: every number follows from the module's formulas."""

import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from ascpo.surrogates.target import CappedBound, OwnBound, TargetSettings, ViolationFeedback
from tests.surrogates.helpers import statistics

C = jnp.array([0.3])
"""What the bound itself asks for."""


def demand(settings, *epochs, m=1, probability=0.98, offset=C):
    target = settings.build(probability)
    state = target.init(m)
    for epoch in epochs:
        state = target.update(state, epoch)
    return target.demand(state, offset)


def episodes(violation_rates=(0.0,), timeout_rate=0.0):
    return statistics(violation_rates=violation_rates, timeout_rate=timeout_rate)


def test_while_far_too_many_episodes_violate_feedback_asks_for_the_whole_share():
    assert_allclose(demand(TargetSettings(share=0.9), episodes([0.5])).fraction, [0.9], rtol=1e-5)


def test_once_few_enough_episodes_violate_feedback_asks_for_nothing():
    assert_allclose(demand(TargetSettings(), episodes([0.02])).fraction, [0.0], atol=1e-5)


def test_in_between_feedback_asks_for_a_part():
    """Three percent, where two are allowed, are half too many."""
    assert_allclose(demand(TargetSettings(share=0.9), episodes([0.03])).fraction, [0.45], rtol=1e-4)


def test_feedback_asks_for_more_the_more_episodes_violate():
    asked = [float(demand(TargetSettings(), episodes([v])).fraction[0]) for v in (0.02, 0.025, 0.03, 0.035, 0.04)]
    assert asked == sorted(asked)
    assert asked[0] < asked[-1]


def test_feedback_does_not_look_at_the_bound():
    for offset in (jnp.array([-5.0]), jnp.array([5.0])):
        assert_allclose(demand(TargetSettings(share=0.9), episodes([0.03]), offset=offset).fraction, [0.45], rtol=1e-4)


def test_several_constraints_divide_what_may_go_wrong():
    fraction = demand(TargetSettings(share=0.9), episodes([0.01, 0.02]), m=2, offset=jnp.zeros(2)).fraction
    assert_allclose(fraction, [0.0, 0.9], atol=1e-4)


@pytest.mark.parametrize("kind", ["feedback", "capped"])
def test_a_policy_that_runs_into_the_time_limit_leaves_more_room_to_the_reward(kind):
    settings = TargetSettings(kind, share=0.8, timeout_relief=0.25, timeout_share=0.1)
    for timeout_rate, cap in ((0.9, 0.6), (0.05, 0.7), (0.0, 0.8)):
        assert_allclose(demand(settings, episodes(timeout_rate=timeout_rate)).cap, cap, rtol=1e-5)


def test_rates_are_smoothed_and_the_first_epoch_counts_in_full():
    settings = TargetSettings(share=1.0, smoothing=0.5)
    assert_allclose(demand(settings, episodes([0.75]), probability=0.5).fraction, [0.5], rtol=1e-5)
    # Weights ¼ and ½, so the mean is (0.75 + 2·0.6) / 3 = 0.65.
    both = demand(settings, episodes([0.75]), episodes([0.6]), probability=0.5)
    assert_allclose(both.fraction, [0.3], rtol=1e-4)


def test_a_capped_bound_asks_for_itself_within_the_share():
    capped = demand(TargetSettings("capped", share=0.9), episodes([0.5]))
    assert capped.fraction is None
    assert_allclose(capped.offset, C)
    assert_allclose(capped.cap, 0.9, rtol=1e-5)


def test_an_own_bound_asks_for_itself_and_nothing_caps_it():
    own = demand(TargetSettings("own"), episodes([0.5]))
    assert (own.fraction, own.cap) == (None, None)
    assert_allclose(own.offset, C)


def test_a_kind_builds_the_part_of_its_name():
    kinds = {"feedback": ViolationFeedback, "capped": CappedBound, "own": OwnBound}
    for kind, part in kinds.items():
        assert type(TargetSettings(kind).build(0.9)) is part


def test_equal_settings_build_equal_targets_and_other_probabilities_others():
    assert TargetSettings().build(0.9) == TargetSettings().build(0.9)
    assert TargetSettings().build(0.9) != TargetSettings().build(0.95)


@pytest.mark.parametrize(
    "wrong",
    [{"share": 0.0}, {"share": 1.5}, {"smoothing": 1.0}, {"timeout_relief": 1.0}, {"timeout_share": 0.0}],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        TargetSettings(**wrong)


@pytest.mark.parametrize("inert", [{"share": 0.5}, {"timeout_relief": 0.5}, {"timeout_share": 0.5}, {"smoothing": 0.5}])
def test_the_bounds_own_target_has_no_settings(inert):
    with pytest.raises(ValueError, match=f"{next(iter(inert))}=0.5 changes nothing"):
        TargetSettings("own", **inert)


def test_the_defaults_are_those_that_the_results_were_measured_with():
    usual = TargetSettings()
    assert (usual.kind, usual.share) == ("feedback", 0.97)
    assert (usual.timeout_relief, usual.timeout_share, usual.smoothing) == (0.25, 0.1, 0.7)


@pytest.mark.parametrize("edge", [{"share": 1.0}, {"smoothing": 0.0}, {"timeout_relief": 0.0}, {"timeout_share": 1e-3}])
def test_what_lies_on_the_edge_of_sense_is_allowed(edge):
    name, value = next(iter(edge.items()))
    assert getattr(TargetSettings(**edge), name) == value


@pytest.mark.parametrize("wrong", [{"smoothing": -0.1}, {"timeout_relief": -0.1}, {"share": 1.001}])
def test_what_lies_beyond_it_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        TargetSettings(**wrong)


@pytest.mark.parametrize("kind", ["feedback", "capped"])
def test_before_any_epoch_was_measured_there_is_nothing_to_demand(kind):
    target = TargetSettings(kind).build(0.9)
    with pytest.raises(ValueError, match="init"):
        target.demand(None, C)


def test_measured_rates_weigh_the_latest_epoch_by_what_smoothing_leaves():
    target = TargetSettings(smoothing=0.75).build(0.9)
    state = target.init(2)
    for epoch in (episodes([0.4, 0.8], timeout_rate=0.2), episodes([0.0, 0.4], timeout_rate=0.6)):
        state = target.update(state, epoch)
    # ¼ of the latest, and ¾ · ¼ of the one before.
    assert_allclose(state.violation_rates, [0.075, 0.25], rtol=1e-5)
    assert_allclose([state.timeout_rate, state.weight], [0.1875, 0.4375], rtol=1e-5)
