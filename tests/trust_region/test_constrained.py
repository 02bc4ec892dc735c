"""A whole step on problems with known curvature: the proposed step and its length follow from closed forms.

    loss = g·d + ½ Σ loss_bend·d²     constraintᵢ = bᵢ·d + ½ Σ bendᵢ·d²     divergence = ½ reality · Σ F·d²

where d is the way from the centre. The model knows g, b and the diagonal F, and not what bends. A constraint may also
have a √d₂ in it.
"""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.errors import BadSetting
from ascpo.ranges import check
from ascpo.trust_region.constrained import ConstrainedStep
from ascpo.trust_region.dual import Case
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.settings import TrustRegion
from ascpo.trust_region.step import Problem

SETTINGS = TrustRegion(delta=0.5, damping=0.0, backtracking=0.8, backtracks=30)
CRUDE = TrustRegion(delta=0.5, damping=0.0, cg_iterations=1)
CENTRE = np.array([3.0, -2.0])
JUST_WITHIN = 0.9999
"""The full step is on the rim, where rounding decides; this much less divergence and it does not."""


@partial(jax.jit, static_argnames=("root", "settings"))
def _take(g, loss_bend, b, bend, F, reality, c, cap, fraction, root, settings):
    centre = jnp.asarray(CENTRE, jnp.float32)

    def evaluate(theta):
        d = theta - centre
        return Evaluation(
            loss=g @ d + loss_bend @ d**2 / 2,
            constraints=b @ d + bend @ d**2 / 2 + (jnp.sqrt(d[1]) if root else 0.0),
            divergence=reality * F @ d**2 / 2,
        )

    # The divergence is that of the parameters themselves, so that the model's outputs are these.
    problem = Problem(centre, evaluate, lambda theta: theta, lambda _, v: F * v, c, fraction, cap)
    theta, _, report = ConstrainedStep().take(problem, settings, None)
    return theta, report


def take(
    g=(-1, 0),
    loss_bend=(0, 0),
    b=((0, 1),),
    bend=((0, 0),),
    root=False,
    F=(1, 1),
    reality=JUST_WITHIN,
    c=(-5.0,),
    cap=None,
    fraction=None,
    settings=SETTINGS,
):
    """The way taken, and the report."""
    numbers = [jnp.asarray(v, jnp.float32) for v in (g, loss_bend, b, bend, F, reality, c)]
    asks = [None if v is None else jnp.asarray(v, jnp.float32) for v in (cap, fraction)]
    theta, report = _take(*numbers, *asks, root, settings)
    return np.asarray(theta, float) - CENTRE, report


def unconstrained(**problem):
    return take(b=np.zeros((0, 2)), bend=np.zeros((0, 2)), c=np.zeros(0), **problem)


def test_without_constraints_it_is_the_natural_step():
    """F⁻¹g = (1.5, 4) and q = 9 + 16, so with 2δ = 1 the step is −√(1/25)·(1.5, 4)."""
    d, report = unconstrained(g=(6, 4), F=(4, 1))
    assert_allclose(d, [-0.3, -0.8], atol=1e-6)
    assert report.accepted
    assert (int(report.case), int(report.exponent)) == (Case.NO_GRADIENT, 0)
    assert float(report.gain) == pytest.approx(6 * 0.3 + 4 * 0.8, rel=1e-5)
    assert float(report.divergence) == pytest.approx(0.5 * JUST_WITHIN, rel=1e-5)
    assert float(report.lam) == pytest.approx(5.0, rel=1e-5)
    assert float(report.residual) <= 1e-4
    assert report.nu.shape == report.asked.shape == report.predicted.shape == report.actual.shape == (0,)


@pytest.mark.parametrize(
    ("c", "case", "d"),
    [
        (-5.0, Case.FREE, (0.6, 0.8)),
        (-0.5, Case.BOUNDED, (np.sqrt(0.75), 0.5)),
        (0.5, Case.RECOVERING, (np.sqrt(0.75), -0.5)),
        (5.0, Case.INFEASIBLE, (0.0, -1.0)),
    ],
)
def test_in_every_case_the_step_is_the_one_derived_from_geometry(c, case, d):
    """Down the loss is (0.6, 0.8); the constraint is d₂ ≤ −c; the region is the unit circle."""
    taken, report = take(g=(-0.6, -0.8), c=(c,))
    assert int(report.case) == case
    assert_allclose(taken, d, atol=1e-6)
    assert_allclose(report.actual, [d[1]], atol=1e-6)
    assert_allclose(report.predicted, [d[1]], atol=1e-6)
    assert_allclose(report.asked, [c], rtol=1e-6)


def test_a_cap_leaves_room_for_the_objective():
    d, report = take(c=(5.0,), cap=0.6)
    assert int(report.case) == Case.RECOVERING
    assert_allclose(report.asked, [0.6], rtol=1e-6)
    assert_allclose(d, [0.8, -0.6], atol=1e-6)


@pytest.mark.parametrize(("reality", "exponent"), [(JUST_WITHIN, 0), (1.2, 1), (2.0, 2), (4.0, 4)])
def test_a_step_shrinks_until_the_true_divergence_is_within_the_region(reality, exponent):
    """0.8^2i · reality ≤ 1."""
    d, report = unconstrained(reality=reality)
    assert int(report.exponent) == exponent
    assert_allclose(d, [0.8**exponent, 0.0], rtol=1e-5, atol=1e-6)
    assert float(report.divergence) == pytest.approx(reality * 0.8 ** (2 * exponent) / 2, rel=1e-5)


@pytest.mark.parametrize("c", [-5.0, -0.5])
def test_while_constraints_are_satisfied_the_loss_must_not_rise(c):
    """The loss at 0.8^i of the step is −t + 2t²: not above zero once t ≤ ½, first at 0.8⁴ = 0.41."""
    d, report = take(loss_bend=(4, 0), c=(c,))
    assert int(report.case) in (Case.FREE, Case.BOUNDED)
    assert int(report.exponent) == 4
    assert_allclose(d, [0.8**4, 0.0], rtol=1e-5, atol=1e-6)
    assert float(report.gain) == pytest.approx(0.8**4 - 2 * 0.8**8, rel=1e-4)


def test_without_constraints_the_loss_must_not_rise():
    _, report = unconstrained(loss_bend=(4, 0))
    assert int(report.exponent) == 4


@pytest.mark.parametrize(("c", "case"), [(0.5, Case.RECOVERING), (5.0, Case.INFEASIBLE)])
def test_while_constraints_are_violated_the_loss_may_rise(c, case):
    d, report = take(loss_bend=(4, 4), c=(c,))
    assert int(report.case) == case
    assert report.accepted
    assert int(report.exponent) == 0
    assert report.gain < 0
    assert d[1] == pytest.approx(-min(c, 1.0), abs=1e-6)


def test_a_satisfied_constraint_may_rise_up_to_its_limit():
    """It rises by ½t² and may by 0.3: t ≤ 0.77, first at 0.8² = 0.64."""
    d, report = take(bend=((1, 0),), c=(-0.3,))
    assert int(report.case) == Case.BOUNDED
    assert int(report.exponent) == 2
    assert_allclose(d, [0.64, 0.0], rtol=1e-5, atol=1e-6)
    assert_allclose(report.predicted, [0.0], atol=1e-6)
    assert_allclose(report.actual, [0.64**2 / 2], rtol=1e-5)


def test_a_violated_constraint_must_not_rise():
    """At t of the step (√¾, −½) it changes by −½t + ¾t²: t ≤ ⅔, first at 0.8² = 0.64."""
    d, report = take(bend=((2, 0),), c=(0.5,))
    assert int(report.case) == Case.RECOVERING
    assert int(report.exponent) == 2
    assert_allclose(d, [0.64 * np.sqrt(0.75), -0.32], rtol=1e-5)
    assert_allclose(report.predicted, [-0.32], rtol=1e-5)
    assert_allclose(report.actual, [-0.32 + 0.75 * 0.64**2], rtol=1e-4)


def test_the_line_search_tests_every_constraint():
    """As above, with a second constraint that needs t² ≤ 0.1·2 to keep to its 0.1: first at 0.8⁴ = 0.41."""
    _, report = take(b=((0, 1), (0, 1)), bend=((1, 0), (1, 0)), c=(-0.3, -0.1))
    assert int(report.exponent) == 4


def test_a_step_that_is_unacceptable_at_every_length_is_not_taken():
    """A violated constraint that rises at once, whatever its gradient said: √d₂ has none that is finite."""
    d, report = take(g=(0, -1), b=((0, 0),), root=True, c=(0.5,))
    assert not report.accepted
    assert_array_equal(d, 0.0)
    assert (float(report.gain), float(report.divergence)) == (0.0, 0.0)
    assert_array_equal(report.actual, 0.0)
    assert_array_equal(report.predicted, 0.0)


def test_a_constraint_without_a_finite_gradient_does_not_spoil_a_step_that_leaves_it_alone():
    d, report = take(g=(-1, 0), b=((0, 0),), root=True, c=(0.5,))
    assert report.accepted
    assert int(report.case) == Case.NO_GRADIENT
    assert_allclose(d, [1.0, 0.0], atol=1e-6)


def test_a_metric_of_nan_only_prevents_the_step():
    d, report = take(F=(np.nan, 1.0))
    assert not report.accepted
    assert_array_equal(d, 0.0)
    assert_array_equal(report.predicted, 0.0)
    assert_array_equal(report.actual, 0.0)


def test_the_reported_residual_is_the_largest_of_all_solves():
    """One iteration for g = (1, 1) and F = (1, 3): x = ½g, what is left is (½, −½), half of ‖g‖. b has none."""
    _, report = take(g=(1, 1), F=(1, 3), settings=CRUDE)
    assert float(report.residual) == pytest.approx(0.5, rel=1e-5)


# --- steps that lower constraints by a fraction of what the region can ------------------------------


def test_a_fraction_replaces_the_offset_of_the_constraint():
    """δ = ½, so the radius is 1. The constraint gets 0.6 of it and the objective what is left, √(1 − 0.36) = 0.8."""
    d, report = take(g=(-1, 0), b=((0, 7),), c=(1e-4,), fraction=(0.6,))
    assert_allclose(d, [0.8, -0.6], rtol=1e-4)
    assert_allclose(report.asked, [7 * 0.6], rtol=1e-5)


def test_a_constraint_with_a_fraction_of_zero_is_held():
    d, _ = take(g=(-0.6, -0.8), b=((0, 1),), c=(9.0,), fraction=(0.0,))
    assert_allclose(d, [1.0, 0.0], atol=1e-3)


def test_constraints_that_demand_too_much_together_get_the_cap():
    """Each asks for 0.9 of the radius, at right angles; together they get 0.9, so 0.9/√2 each."""
    d, _ = take(g=(0, 0), b=((1, 0), (0, 1)), bend=((0, 0), (0, 0)), c=(1.0, 1.0), fraction=(0.9, 0.9), cap=0.9)
    assert_allclose(d, [-0.9 / 2**0.5] * 2, rtol=1e-4)


# --- the settings of the region ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "edge",
    [
        {"damping": 0.0},
        {"cg_iterations": 1},
        {"fisher_stride": 1},
        {"backtracks": 1},
        {"backtracking": 0.999},
        {"signal_every": 0},
        {"signal_every": 1},
    ],
)
def test_values_at_the_edge_of_their_range_are_accepted(edge):
    check(TrustRegion(**edge))


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta": 0.0},
        {"delta": -1.0},
        {"delta": float("nan")},
        {"damping": -0.001},
        {"cg_iterations": 0},
        {"fisher_stride": 0},
        {"backtracks": 0},
        {"backtracking": 0.0},
        {"backtracking": 1.0},
        {"signal_every": -1},
    ],
)
def test_values_outside_their_range_are_refused_with_their_names(wrong):
    with pytest.raises(BadSetting, match=f"{next(iter(wrong))}="):
        check(TrustRegion(**wrong))


def test_the_cases_have_the_documented_numbers():
    assert [int(case) for case in (Case.INFEASIBLE, Case.RECOVERING, Case.BOUNDED, Case.FREE, Case.NO_GRADIENT)] == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_a_held_constraint_may_rise_by_a_part_of_its_reach():
    """c = 0 and ½·bend·t² of rise: bend 0.0018 rises by 0.0009 and passes, bend 0.0024 by 0.0012 is cut once."""
    for bend, tolerance, exponent in ((0.0018, 0.001, 0), (0.0024, 0.001, 1), (0.0024, 0.0013, 0), (0.0018, 0.0008, 1)):
        _, report = take(bend=((bend, 0),), c=(0.0,), settings=replace(SETTINGS, tolerance=tolerance))
        assert int(report.exponent) == exponent


def test_the_defaults_are_those_of_the_published_measurements():
    usual = TrustRegion()
    assert (usual.delta, usual.damping, usual.backtracking) == (0.02, 0.01, 0.8)
    assert (usual.cg_iterations, usual.fisher_stride, usual.backtracks) == (20, 5, 100)
    assert (usual.tolerance, usual.signal_every) == (0.001, 10)
