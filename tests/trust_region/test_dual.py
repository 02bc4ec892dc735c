"""The dual against a numerical solver in every case, against the closed form of one constraint, and at its edges."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from ascpo.trust_region import dual
from ascpo.trust_region.dual import MOST_CONSTRAINTS, Case
from tests.slow import always

from .helpers import Problems, needs, optimum, random_problems, solutions, steady

# Lengths are in radii and objectives in radii times ‖g‖. The dual is given numbers that are rounded to 2⁻²⁴ = 6e-8 of
# themselves, and among thousands of random problems are some whose directions enclose angles so small that this is
# multiplied by up to 50 or so.
TOLERANCE = 1e-5

every_m = pytest.mark.parametrize("m", always([1, 2, 3], 1, 3))
solvable = pytest.mark.parametrize("case", [Case.RECOVERING, Case.BOUNDED, Case.FREE])


compiled = jax.jit(dual.solve, static_argnums=4)


def solve(q, r, S, c, *, cap=None) -> dual.Dual:
    """A problem by its inner products, with δ = ½, so that the radius is 1."""
    q, r, S, c = (jnp.asarray(v, jnp.float32) for v in (q, r, S, c))
    return compiled(q, r, S, c, 0.5, None if cap is None else jnp.float32(cap))


def step(found: dual.Dual, g, b) -> np.ndarray:
    """x for F = I."""
    return -(float(found.along) * np.asarray(g) + np.asarray(found.against, np.float64) @ np.asarray(b))


def of_vectors(g, b, c, *, cap=None) -> tuple[dual.Dual, np.ndarray]:
    """The solution and x for F = I and δ = ½."""
    g, b = np.asarray(g, float), np.asarray(b, float)
    found = solve(g @ g, b @ g, b @ b.T, c, cap=cap)
    return found, step(found, g, b)


def closed_form(r, c):
    """λ and ν for one constraint, both vectors of length one and 2δ = 1: the better of two candidates."""
    A, B = 1 - r**2, 1 - c**2
    low, high = np.where(c < 0, 0.0, r / c), np.where(c < 0, r / c, np.inf)
    lam_a = np.clip(np.sqrt(A / np.maximum(B, 1e-12)), low, np.maximum(high, low))
    low, high = np.where(c < 0, r / c, 0.0), np.where(c < 0, np.inf, r / c)
    lam_b = np.clip(1.0, low, np.maximum(high, low))
    with np.errstate(divide="ignore"):
        f_a = np.where(lam_a > 0, -(A / lam_a + B * lam_a) / 2 - r * c, -np.inf)
        f_b = np.where(lam_b > 0, -(1 / lam_b + lam_b) / 2, -np.inf)
    lam = np.where(f_a >= f_b, lam_a, lam_b)
    return lam, np.maximum(0.0, lam * c - r)


def slsqp(g, b, c) -> float:
    """The smallest objective, by sequential quadratic programming."""
    constraints = [
        {"type": "ineq", "fun": lambda y: -(c + b @ y), "jac": lambda y: -b},
        {"type": "ineq", "fun": lambda y: 1 - y @ y, "jac": lambda y: -2 * y},
    ]
    found = minimize(
        lambda y: g @ y, np.zeros(len(g)), jac=lambda y: g, constraints=constraints, options={"ftol": 1e-12}
    )
    return found.fun


# --- hundreds of problems of every case ------------------------------------------------------------


@every_m
@solvable
def test_the_reference_solver_agrees_with_sequential_quadratic_programming(case, m):
    for problem in list(random_problems(case, m))[:30]:
        assert problem[0] @ optimum(*problem) == pytest.approx(slsqp(*problem), abs=1e-6)


@every_m
@solvable
def test_the_step_is_the_best_point_of_the_region_that_satisfies_the_constraints(case, m):
    problems = random_problems(case, m)
    found = solutions(problems)
    best = np.array([optimum(*problem) for problem in problems])
    assert_array_equal(found.case, case)
    assert np.max(problems.left(found.y)) <= TOLERANCE
    assert np.max(np.linalg.norm(found.y, axis=1)) <= 1 + TOLERANCE
    assert_allclose(np.sum(problems.g * found.y, axis=1), np.sum(problems.g * best, axis=1), atol=TOLERANCE)
    # A ball is strictly convex, so there is one best point.
    assert_allclose(found.y, best, atol=TOLERANCE)
    assert_allclose(found.asked, problems.c, rtol=1e-6)


@every_m
def test_a_violation_out_of_reach_shrinks_as_far_as_the_region_allows(m):
    """The nearest feasible point is at `distance` > 1; the step is 1/distance of the way there."""
    problems = random_problems(Case.INFEASIBLE, m)
    found, distance = solutions(problems), needs(problems)
    assert np.min(distance) > 1
    assert_array_equal(found.case, Case.INFEASIBLE)
    assert_allclose(np.linalg.norm(found.y, axis=1), 1.0, atol=TOLERANCE)
    assert_array_equal(found.along, 0.0)
    before, after = np.maximum(problems.c, 0.0), np.maximum(problems.left(found.y), 0.0)
    assert np.max(after - before * (1 - 1 / distance)[:, None]) <= TOLERANCE


@every_m
def test_without_a_cost_gradient_the_step_is_the_natural_one(m):
    drawn = random_problems(Case.RECOVERING, m)
    problems = Problems(drawn.g, np.zeros_like(drawn.b), drawn.c)
    found = solutions(problems)
    assert_array_equal(found.case, Case.NO_GRADIENT)
    assert_allclose(found.y, -problems.g, atol=TOLERANCE)
    assert_array_equal(found.asked, 0.0)


@solvable
def test_with_one_constraint_it_is_the_closed_form(case):
    problems = random_problems(case, 1)
    found = solutions(problems)
    r, c = np.sum(problems.b[:, 0] * problems.g, axis=1), problems.c[:, 0]
    lam, nu = closed_form(r, c) if case != Case.FREE else (np.ones(len(c)), np.zeros(len(c)))
    assert_allclose(found.along, 1 / lam, rtol=TOLERANCE)
    assert_allclose(found.against[:, 0], nu / lam, rtol=TOLERANCE, atol=TOLERANCE)


# --- the bounded ask ------------------------------------------------------------------------------


@every_m
@pytest.mark.parametrize("case", [Case.RECOVERING, Case.INFEASIBLE])
@pytest.mark.parametrize("cap", [0.3, 0.8])
def test_a_capped_demand_is_scaled_by_one_factor_and_can_then_be_met(case, m, cap):
    problems = random_problems(case, m)
    found, distance = solutions(problems, cap), needs(problems)
    factor = np.minimum(1.0, cap / distance)[:, None]
    asked = np.where(problems.c > 0, factor * problems.c, problems.c)
    assert_array_equal(found.case, Case.RECOVERING)
    # Constraints of which a step needs n radii are asked for with weights up to n times as large.
    assert_allclose(found.asked, asked, rtol=10 * TOLERANCE)
    assert np.all(found.asked <= problems.c + 1e-6 * np.abs(problems.c))
    assert np.max(Problems(problems.g, problems.b, asked).left(found.y)) <= TOLERANCE
    assert np.max(np.linalg.norm(found.y, axis=1)) <= 1 + TOLERANCE


@every_m
@pytest.mark.parametrize("cap", [0.3, 0.8])
def test_a_capped_demand_takes_no_more_than_its_share_of_the_radius(m, cap):
    """‖y‖² = need² + (what the objective moves)², so 1 − share² is left to the objective."""
    problems = random_problems(Case.INFEASIBLE, m)
    asked = Problems(problems.g, problems.b, solutions(problems, cap).asked)
    taken = needs(asked)
    assert np.max(taken) <= cap + TOLERANCE
    all_violated = np.all(problems.c > 0, axis=1)
    assert_allclose(taken[all_violated], cap, atol=TOLERANCE)
    some = slice(0, 100)
    best = np.array([optimum(*problem) for problem in list(asked)[some]])
    assert_allclose(solutions(problems, cap).y[some], best, atol=10 * TOLERANCE)


@every_m
@pytest.mark.parametrize("case", [Case.BOUNDED, Case.FREE])
def test_a_cap_changes_nothing_if_nothing_is_violated(case, m):
    problems = random_problems(case, m)
    assert_array_equal(solutions(problems, 0.3).y, solutions(problems).y)
    assert_array_equal(solutions(problems, 0.3).case, case)


def test_half_of_the_radius_for_the_constraint_leaves_root_three_quarters_to_the_objective():
    found, x = of_vectors([1, 0], [[0, 1]], [4.0], cap=0.5)
    assert found.case == Case.RECOVERING
    assert_allclose(found.asked, [0.5], rtol=1e-6)
    assert_allclose(x, [-np.sqrt(0.75), -0.5], rtol=1e-6)


def test_contradictory_constraints_stay_infeasible_whatever_the_cap():
    found, _ = of_vectors([1, 0], [[0, 1], [0, -1]], [0.5, 0.3], cap=0.1)
    assert found.case == Case.INFEASIBLE
    assert_allclose(found.asked, [0.5, 0.3], rtol=1e-6)


# --- edges ----------------------------------------------------------------------------------------


def test_on_the_border_a_step_that_leads_inwards_is_the_natural_one():
    found = solve(1.0, [0.6], [[1.0]], [0.0])
    assert found.case == Case.BOUNDED
    assert (float(found.lam), float(found.nu[0])) == pytest.approx((1.0, 0.0))


def test_on_the_border_a_step_that_leads_outwards_slides_along_it():
    """A = 1 − 0.36 and B = 1: λ = 0.8, ν = −r/s = 0.6."""
    found = solve(1.0, [-0.6], [[1.0]], [0.0])
    assert found.case == Case.BOUNDED
    assert (float(found.lam), float(found.nu[0])) == pytest.approx((0.8, 0.6))


@pytest.mark.parametrize("c", [1.0, 0.0, -1.0])
def test_a_constraint_that_no_step_changes_has_no_demand(c):
    found = solve(4.0, [0.0], [[0.0]], [c])
    assert found.case == Case.NO_GRADIENT
    assert (float(found.along), float(found.against[0]), float(found.asked[0])) == (0.5, 0.0, 0.0)


def test_a_constraint_that_no_step_changes_leaves_the_others_alone():
    found = solve(1.0, [0.0, -0.6], [[0.0, 0.0], [0.0, 1.0]], [5.0, 0.0])
    alone = solve(1.0, [-0.6], [[1.0]], [0.0])
    assert found.case == alone.case
    assert_allclose(found.against, [0.0, alone.against[0]], rtol=1e-6)
    assert_allclose(found.along, alone.along, rtol=1e-6)


@pytest.mark.parametrize("stretch", [1.0, 1 + 1e-7, 1 + 1e-3], ids=["A = 0", "A rounds to 0", "A < 0"])
@pytest.mark.parametrize(
    ("r", "c", "case", "x"),
    [
        (1.0, -0.25, Case.BOUNDED, -1.0),  # the natural step leads away from the border
        (1.0, 0.25, Case.RECOVERING, -1.0),
        (-1.0, -0.25, Case.BOUNDED, 0.25),  # it leads to the border, and ends there
        (-1.0, 0.0, Case.BOUNDED, 0.0),
        (-1.0, 0.25, Case.RECOVERING, -0.25),
        (-1.0, -3.0, Case.FREE, 1.0),
    ],
)
def test_an_objective_parallel_to_the_constraint_leads_to_the_border(stretch, r, c, case, x):
    found = solve(1.0, [r * stretch], [[1.0]], [c])
    assert found.case == case
    assert step(found, [r], [[1.0]])[0] == pytest.approx(x, abs=1e-6)


def test_an_objective_in_the_span_of_two_constraints_ends_in_their_corner():
    """In the plane, g = (−0.6, −0.8) leads to the corner (0.5, 0.5) of x ≤ 0.5, y ≤ 0.5 and leaves room beyond it."""
    found, x = of_vectors([-0.6, -0.8], [[1, 0], [0, 1]], [-0.5, -0.5])
    assert found.case == Case.BOUNDED
    assert_allclose(x, [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize(
    ("c", "case", "x"),
    [(-0.5, Case.BOUNDED, 0.0), (0.5, Case.RECOVERING, -0.5), (5.0, Case.INFEASIBLE, -1.0), (-5.0, Case.FREE, 0.0)],
)
def test_without_an_objective_the_step_only_meets_the_constraint(c, case, x):
    found = solve(0.0, [0.0], [[1.0]], [c])
    assert found.case == case
    assert step(found, [0.0], [[1.0]])[0] == pytest.approx(x, abs=1e-6)


@pytest.mark.parametrize("c", [-5.0, -0.2, 0.0, 0.2, 5.0])
@pytest.mark.parametrize("cap", [None, 0.5])
def test_a_duplicated_constraint_changes_nothing(c, cap):
    g, b = [-0.6, 0.8], [1.0, 0.0]
    once, x = of_vectors(g, [b], [c], cap=cap)
    twice, x_twice = of_vectors(g, [b, b], [c, c], cap=cap)
    assert twice.case == once.case
    assert_allclose(x_twice, x, atol=1e-6)


def test_of_two_parallel_constraints_the_tighter_one_counts():
    found, x = of_vectors([-1, 0], [[1, 0], [2, 0]], [-0.5, -0.5])  # x ≤ 0.5 and 2x ≤ 0.5
    assert found.case == Case.BOUNDED
    assert_allclose(x, [0.25, 0.0], atol=1e-6)


@pytest.mark.parametrize("third", [[], [-1e6]], ids=["alone", "with a third that is far away"])
def test_contradictory_constraints_are_weighed_by_their_violation(third):
    """y ≤ −0.5 and y ≥ 0.3: Σ cᵢbᵢ = 0.5 − 0.3 points upwards, so the step goes down, to the rim."""
    b = [[0, 1, 0], [0, -1, 0], [0, 0, 1]][: 2 + len(third)]
    found, x = of_vectors([1, 0, 0], b, [0.5, 0.3, *third])
    assert found.case == Case.INFEASIBLE
    assert_allclose(x, [0.0, -1.0, 0.0], atol=1e-5)


@pytest.mark.parametrize("tilt", [0.0, 1e-8, 1e-4])
def test_constraints_that_cancel_each_other_give_no_step_of_rounding_errors(tilt):
    found, x = of_vectors([1, 0], [[tilt, 1], [tilt, -1]], [0.5, 0.5])
    assert found.case == Case.INFEASIBLE
    assert np.max(found.against) <= 1e3 * (1 + 1e-6)
    assert np.linalg.norm(x) <= 1 + 1e-3


def test_a_violation_whose_square_overflows_float32_still_leads_to_the_boundary():
    found, x = of_vectors([1, 0], [[0, 1e-15]], [1e6])
    assert found.case == Case.INFEASIBLE
    assert_allclose(x, [0.0, -1.0], atol=1e-6)
    found, x = of_vectors([1, 0], [[0, 1e-15]], [1e6], cap=0.6)
    assert found.case == Case.RECOVERING
    assert_allclose(x, [-0.8, -0.6], atol=1e-6)


def test_without_constraints_the_step_is_the_natural_one():
    found = solve(4.0, np.zeros(0), np.zeros((0, 0)), np.zeros(0))
    assert found.case == Case.NO_GRADIENT
    assert (float(found.along), float(found.lam), found.nu.shape) == (0.5, 2.0, (0,))


def test_as_many_constraints_as_are_possible_are_solved():
    """xᵢ ≤ −0.2 in six directions, where the objective would rather stay: all are active."""
    m = MOST_CONSTRAINTS
    found, x = of_vectors([-1.0] + [0.0] * m, np.eye(m + 1)[1:], [0.2] * m)
    assert found.case == Case.RECOVERING
    assert_allclose(x, [np.sqrt(1 - m * 0.04), *[-0.2] * m], atol=1e-6)


def test_too_many_constraints_are_refused_with_advice():
    m = MOST_CONSTRAINTS + 1
    with pytest.raises(ValueError, match=r"7 constraints.*at most 6.*Add some of the costs up"):
        solve(1.0, np.zeros(m), np.eye(m), np.zeros(m))


def test_multipliers_of_a_steep_objective_are_those_of_the_weights():
    """q = 16: λ = 4·√(1 − 0.36) and ν = 4·0.6, both above 1, so that their weights are below it."""
    found = solve(16.0, [-2.4], [[1.0]], [0.0])
    assert (float(found.lam), float(found.nu[0])) == pytest.approx((3.2, 2.4), rel=1e-5)


def test_multipliers_are_those_of_the_weights():
    found = solve(1.0, [-0.6], [[1.0]], [0.3])
    assert float(found.lam) == pytest.approx(1 / float(found.along))
    assert float(found.nu[0]) == pytest.approx(float(found.lam * found.against[0]))
    lost = solve(1.0, [-0.6], [[1.0]], [3.0])
    assert (float(lost.lam), float(lost.nu[0])) == pytest.approx((0.0, 1.0))


# --- any numbers at all ---------------------------------------------------------------------------

powers = st.floats(-12, 6).map(lambda e: 10**e)
signed = st.tuples(powers, st.sampled_from([-1.0, 0.0, 1.0])).map(np.prod)


def finite(found: dual.Dual) -> bool:
    return all(np.all(np.isfinite(v)) for v in (*jax.tree.leaves(found), found.lam, found.nu))


@steady
@given(st.data(), st.integers(1, 3), st.sampled_from([None, 0.5]))
def test_at_any_scale_the_step_is_finite_and_within_the_region(data, m, cap):
    """Entries are small integers, so that parallel, opposite and vanishing vectors are common."""
    vectors = data.draw(st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1 + m, max_size=1 + m))
    sizes = np.array(data.draw(st.lists(powers, min_size=1 + m, max_size=1 + m)))
    c = data.draw(st.lists(signed, min_size=m, max_size=m))
    rows = np.array(vectors, float) * sizes[:, None]
    products = rows @ rows.T
    found = solve(products[0, 0], products[1:, 0], products[1:, 1:], c, cap=cap)
    assert finite(found)
    assert found.along >= 0
    assert np.all(found.against >= 0)
    assert np.all(found.asked <= np.maximum(c, 0.0) * (1 + 1e-6))
    # Weights on vectors that nearly cancel are at most 1000, and each is rounded to 6e-8 of itself.
    assert np.linalg.norm(step(found, rows[0], rows[1:])) <= 1 + 1e-3


@steady
@given(st.data(), st.integers(1, 3), st.sampled_from([None, 0.5]))
def test_impossible_inner_products_give_no_nan(data, m, cap):
    q, r, c = data.draw(signed), *(data.draw(st.lists(signed, min_size=m, max_size=m)) for _ in range(2))
    S = np.array(data.draw(st.lists(signed, min_size=m * m, max_size=m * m))).reshape(m, m)
    assert finite(solve(q, r, S + S.T, c, cap=cap))
