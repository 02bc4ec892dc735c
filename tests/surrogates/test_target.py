"""The demands of targets on steps, for given measurements. Every number follows from the formulas of the module."""

import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from ascpo.errors import BadSetting
from ascpo.evaluation.bound import allowed_violations, spent_error
from ascpo.ranges import check
from ascpo.surrogates.settings import TargetSettings
from ascpo.surrogates.target import CappedBound, Feedback, Measured, OwnBound, allowed_share

C = jnp.array([0.3])
"""What the bound itself asks for."""


def measured(violation_rates=(0.0,), timeout_rate=0.0, excess=None, signal=None):
    """Of limits of zero, unless it is said by how much something is over its limit."""
    rates = jnp.asarray(violation_rates, jnp.float32)
    over = jnp.full_like(rates, jnp.inf) if excess is None else jnp.asarray(excess, jnp.float32)
    of_noise = None if signal is None else jnp.asarray(signal, jnp.float32)
    return Measured(over, rates, jnp.float32(timeout_rate), of_noise)


def demand(settings, *epochs, probability=0.98, offset=C):
    target = settings.build(probability)
    carried = target.init(len(offset))
    for epoch in epochs:
        asked, carried = target.demand(carried, offset, epoch)
    return asked


def proportional(**settings):
    """Feedback without its integral term, which aims at 1 − p itself."""
    return TargetSettings(gain=0.0, episodes=0, **settings)


def test_feedback_demands_the_whole_share_while_far_too_many_episodes_violate():
    assert_allclose(demand(proportional(share=0.9), measured([0.5])).fraction, [0.9], rtol=1e-5)


def test_feedback_demands_nothing_once_few_enough_episodes_violate():
    assert_allclose(demand(proportional(), measured([0.02])).fraction, [0.0], atol=1e-5)


def test_feedback_demands_a_part_in_between():
    """Three percent, where two are allowed, are half too many."""
    assert_allclose(demand(proportional(share=0.9), measured([0.03])).fraction, [0.45], rtol=1e-4)


def test_feedback_demands_more_the_more_episodes_violate():
    asked = [float(demand(proportional(), measured([v])).fraction[0]) for v in (0.02, 0.025, 0.03, 0.035, 0.04)]
    assert asked == sorted(asked)
    assert asked[0] < asked[-1]


def test_feedback_does_not_depend_on_the_bound():
    for offset in (jnp.array([-5.0]), jnp.array([5.0])):
        assert_allclose(demand(proportional(share=0.9), measured([0.03]), offset=offset).fraction, [0.45], rtol=1e-4)


def test_several_constraints_divide_the_allowed_share_of_violations():
    fraction = demand(proportional(share=0.9), measured([0.01, 0.02]), offset=jnp.zeros(2)).fraction
    assert_allclose(fraction, [0.0, 0.9], atol=1e-4)


def test_a_limit_above_zero_is_met_by_the_mean_however_many_episodes_are_over_it():
    """A mean a fifth over its limit demands a fifth. One under it demands nothing, even if all episodes are over it."""
    for excess, fraction in ((0.2, 0.2), (-0.1, 0.0), (3.0, 1.0)):
        asked = demand(proportional(share=1.0), measured([1.0], excess=[excess])).fraction
        assert_allclose(asked, [fraction], rtol=1e-5)


def test_the_integral_term_accumulates_a_steady_error():
    """An error of 0.2 for five epochs: 0.2 and five tenths of it; then of −0.2: it is taken back, ever below zero."""
    settings = TargetSettings(share=1.0, gain=0.1)
    up = [measured([1.0], excess=[0.2])] * 5
    assert_allclose(demand(settings, *up).fraction, [0.2 + 5 * 0.02], rtol=1e-4)
    down = [measured([1.0], excess=[-0.2])] * 3
    target = settings.build(0.98)
    carried = jnp.array([0.1])
    for epoch in down:
        asked, carried = target.demand(carried, C, epoch)
    assert_allclose(carried, [0.04], atol=1e-5)
    assert_allclose(asked.fraction, [0.0], atol=1e-6)
    _, carried = target.demand(carried, C, measured([0.0]))
    assert_allclose(carried, [0.0], atol=1e-6)


def test_the_integral_term_does_not_wind_up_at_full_demand():
    target = TargetSettings(gain=0.5).build(0.98)
    carried = target.init(1)
    for _ in range(50):
        asked, carried = target.demand(carried, C, measured([1.0]))
    assert_allclose(carried, [0.0])
    assert_allclose(asked.fraction, [0.97], rtol=1e-5)
    _, resting = target.demand(carried, C, measured([1.0], excess=[1.5]))
    assert_allclose(resting, [0.0])
    # Near the limit it may fill, and no further than to all.
    for _ in range(50):
        _, carried = target.demand(carried, C, measured([1.0], excess=[0.4]))
    assert_allclose(carried, [1.0])


def test_the_integral_term_weighs_errors_of_either_sign_equally():
    """So the integral term settles where the mean error is zero."""
    target = TargetSettings(gain=0.1).build(0.98)
    carried = jnp.array([0.9])
    for error in (0.4, -0.4, 0.3, -0.3):
        _, carried = target.demand(carried, C, measured([1.0], excess=[error]))
    assert_allclose(carried, [0.9], rtol=1e-5)


def test_a_weak_signal_reduces_the_demand_and_a_strong_one_does_not():
    """s / (s + 0.1): for none nothing, for 0.1 half, for 0.9 nine tenths; the cap is what it was."""
    settings = proportional(share=0.8, half_signal=0.1)
    for signal, part in ((0.0, 0.0), (0.1, 0.5), (0.9, 0.9), (0.01, 1 / 11)):
        asked = demand(settings, measured([0.5], signal=[signal]))
        assert_allclose(asked.fraction, [0.8 * part], rtol=1e-5)
        assert_allclose(asked.cap, 0.8, rtol=1e-5)


def test_the_demand_on_each_constraint_depends_on_its_own_signal():
    settings = proportional(share=1.0, half_signal=0.1)
    fraction = demand(settings, measured([0.5, 0.5], signal=[0.1, 0.4]), offset=jnp.zeros(2)).fraction
    assert_allclose(fraction, [0.5, 0.8], rtol=1e-5)


def test_the_signal_changes_nothing_if_half_signal_is_zero():
    assert_allclose(demand(proportional(share=0.8), measured([0.5], signal=[0.01])).fraction, [0.8], rtol=1e-6)
    with pytest.raises(ValueError, match="signal_every"):
        demand(proportional(half_signal=0.1), measured([0.5]))


def test_the_integral_term_does_not_depend_on_the_signal():
    """The error is steady, and so is what it adds up to."""
    target = TargetSettings(gain=0.1, half_signal=0.1).build(0.98)
    for signal in (0.01, 0.9):
        _, carried = target.demand(jnp.array([0.2]), C, measured([1.0], excess=[0.4], signal=[signal]))
        assert_allclose(carried, [0.24], rtol=1e-5)


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.95, 0.98, 0.99, 0.998])
def test_the_set_point_is_where_the_first_certificate_succeeds_nine_times_in_ten(probability):
    share = allowed_share(probability, 3000)
    allowed = allowed_violations(3000, probability, 1.0 - spent_error(0.05, 1))
    assert share < 1 - probability
    assert_allclose(binom.cdf(allowed, 3000, share), 0.9, rtol=1e-6)


def test_the_set_point_uses_as_many_episodes_as_the_probability_needs():
    assert_allclose(binom.cdf(0, 34933, allowed_share(0.9999, 3000)), 0.9, rtol=1e-6)


def test_feedback_aims_at_the_set_point_or_at_the_probability_itself():
    assert TargetSettings().build(0.98).allowed == pytest.approx(0.00784, abs=1e-5)
    assert TargetSettings(episodes=0).build(0.98).allowed == pytest.approx(0.02)
    assert TargetSettings(episodes=300_000).build(0.98).allowed > 0.019


@pytest.mark.parametrize("kind", ["feedback", "capped"])
def test_time_outs_leave_a_larger_share_to_the_reward(kind):
    settings = TargetSettings(kind, share=0.8, timeout_relief=0.25, timeout_share=0.1)
    for timeout_rate, cap in ((0.9, 0.6), (0.05, 0.7), (0.0, 0.8)):
        assert_allclose(demand(settings, measured(timeout_rate=timeout_rate)).cap, cap, rtol=1e-5)


def test_a_capped_bound_aims_at_the_bound_within_the_share():
    capped = demand(TargetSettings("capped", share=0.9), measured([0.5]))
    assert capped.fraction is None
    assert_allclose(capped.offset, C)
    assert_allclose(capped.cap, 0.9, rtol=1e-5)


def test_an_own_bound_aims_at_the_bound_without_a_cap():
    own = demand(TargetSettings("own"), measured([0.5]))
    assert (own.fraction, own.cap) == (None, None)
    assert_allclose(own.offset, C)


@pytest.mark.parametrize("kind", ["capped", "feedback"])
def test_a_target_has_the_weight_of_earlier_epochs(kind):
    assert TargetSettings(kind, smoothing=0.5).build(0.9).radius.smoothing == 0.5


def test_an_own_bound_has_no_share_of_the_region():
    assert TargetSettings("own").build(0.9).radius is None


def test_feedback_needs_the_state_from_its_init():
    with pytest.raises(ValueError, match="init"):
        TargetSettings().build(0.9).demand(None, C, measured())


def test_each_target_kind_builds_its_class():
    kinds = {"feedback": Feedback, "capped": CappedBound, "own": OwnBound}
    for kind, part in kinds.items():
        assert type(TargetSettings(kind).build(0.9)) is part


def test_equal_settings_build_equal_targets_and_other_probabilities_others():
    assert TargetSettings().build(0.9) == TargetSettings().build(0.9)
    assert TargetSettings().build(0.9) != TargetSettings().build(0.95)


@pytest.mark.parametrize(
    "wrong",
    [
        {"share": 0.0},
        {"share": 1.5},
        {"smoothing": 1.0},
        {"timeout_relief": 1.0},
        {"timeout_share": 0.0},
        {"gain": 1.5},
        {"gain": -0.1},
        {"episodes": -1},
        {"half_signal": -0.1},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(BadSetting, match="must"):
        check(TargetSettings(**wrong))


@pytest.mark.parametrize("inert", [{"share": 0.5}, {"timeout_relief": 0.5}, {"timeout_share": 0.5}, {"smoothing": 0.5}])
def test_the_target_own_refuses_all_settings(inert):
    with pytest.raises(ValueError, match=f"{next(iter(inert))}=0.5 changes nothing"):
        TargetSettings("own", **inert)


def test_the_defaults_are_those_of_the_published_measurements():
    usual = TargetSettings()
    assert (usual.kind, usual.share) == ("feedback", 0.97)
    assert (usual.timeout_relief, usual.timeout_share, usual.smoothing) == (0.25, 0.1, 0.7)
    assert (usual.gain, usual.episodes, usual.half_signal) == (0.1, 1000, 0.0)


@pytest.mark.parametrize("edge", [{"share": 1.0}, {"smoothing": 0.0}, {"timeout_relief": 0.0}, {"timeout_share": 1e-3}])
def test_values_at_the_edge_of_their_range_are_accepted(edge):
    check(TargetSettings(**edge))


@pytest.mark.parametrize("wrong", [{"smoothing": -0.1}, {"timeout_relief": -0.1}, {"share": 1.001}])
def test_values_outside_their_range_are_refused(wrong):
    with pytest.raises(BadSetting, match=next(iter(wrong))):
        check(TargetSettings(**wrong))


def test_feedback_holds_time_outs_at_their_own_limit_whatever_the_violations():
    """2 %, where 1 % is allowed, are as many again; of the violations a quarter too many."""
    settings = TargetSettings(gain=0.0, episodes=0, share=0.9, timeout_relief=0.0, timeout_limit=0.01)
    asked = demand(settings, measured([0.025], 0.02, excess=[jnp.inf, 1.0]), offset=jnp.zeros(2))
    assert_allclose(asked.fraction, [0.225, 0.9], rtol=1e-4)
    assert_allclose(asked.cap, 0.9)


def test_two_limits_share_the_allowed_violations_and_time_outs_do_not_count():
    settings = TargetSettings(gain=0.0, episodes=0, share=1.0, timeout_limit=0.01)
    asked = demand(settings, measured([0.015, 0.01], excess=[jnp.inf, jnp.inf, -1.0]), offset=jnp.zeros(3))
    assert_allclose(asked.fraction, [0.5, 0.0, 0.0], atol=1e-5)


def test_time_outs_are_only_held_while_the_relief_is_complete():
    """The gradient of a constraint that most episodes break is noise, and the reward must teach the task."""
    settings = TargetSettings(gain=0.0, episodes=0, share=0.8, timeout_relief=0.25, timeout_limit=0.01)
    lost, learned, met = (
        demand(settings, measured([0.04], rate, excess=[jnp.inf, 99.0]), offset=jnp.zeros(2))
        for rate in (0.101, 0.1, 0.01)
    )
    assert_allclose(lost.fraction, [0.6, 0.0], rtol=1e-5)
    assert_allclose(learned.fraction, [0.6, 0.6], rtol=1e-5)
    assert_allclose(met.fraction, [0.8, 0.8], rtol=1e-5)
    assert_allclose([lost.cap, learned.cap, met.cap], [0.6, 0.6, 0.8], rtol=1e-5)


def test_relief_grows_linearly_above_the_limit_of_time_outs():
    settings = TargetSettings(share=0.8, timeout_relief=0.5, timeout_share=0.11, timeout_limit=0.01)
    asked = demand(settings, measured([0.04], 0.06, excess=[jnp.inf, 5.0]), offset=jnp.zeros(2))
    assert_allclose(asked.cap, 0.6, rtol=1e-5)


def test_a_capped_bound_counts_time_outs_as_met_while_they_are_no_constraint():
    settings = TargetSettings("capped", share=0.8, timeout_limit=0.01)
    lost, learned = (
        demand(settings, measured([0.04], rate, excess=[jnp.inf, 99.0]), offset=jnp.array([0.3, 0.5]))
        for rate in (0.101, 0.1)
    )
    assert_allclose(lost.offset, [0.3, -1.0], rtol=1e-5)
    assert_allclose(learned.offset, [0.3, 0.5], rtol=1e-5)


@pytest.mark.parametrize("limit", [0.1, 0.3])
def test_a_limit_on_time_outs_that_could_never_be_a_constraint_is_refused(limit):
    with pytest.raises(BadSetting, match="Raise timeout_share"):
        TargetSettings(timeout_limit=limit)
