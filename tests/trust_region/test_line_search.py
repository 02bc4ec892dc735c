"""Backtracking on a line: which steps are tried and which one is taken."""

import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.trust_region.line_search import Evaluation, LineSearchResult, backtrack


def evaluation(loss) -> Evaluation:
    return Evaluation(loss, jnp.zeros(1), jnp.zeros(()))


def search(loss, accept, theta, x, *, factor=0.5, trials=10) -> LineSearchResult:
    """Along a line, with a loss that is looked at and a divergence that is not."""
    theta, x = jnp.array([theta], jnp.float32), jnp.array([x], jnp.float32)

    def evaluate(point):
        return evaluation(loss(point[0]))

    return backtrack(evaluate, accept, theta, x, evaluate(theta), factor=factor, trials=trials)


def place(theta):
    return theta


def anything(at):
    return jnp.array(True)


def nothing(at):
    return jnp.array(False)


def test_an_acceptable_step_is_taken_in_full():
    found = search(place, anything, 3.0, -2.0)
    assert found.accepted
    assert (float(found.theta[0]), float(found.at.loss), int(found.exponent)) == (1.0, 1.0, 0)


@pytest.mark.parametrize(("factor", "reach", "exponent"), [(0.5, 0.3, 2), (0.5, 0.5, 1), (0.8, 0.5, 4), (0.1, 0.09, 2)])
def test_the_first_acceptable_power_of_the_factor_is_taken(factor, reach, exponent):
    found = search(place, lambda at: at.loss <= reach, 0.0, 1.0, factor=factor)
    assert found.accepted
    assert int(found.exponent) == exponent
    assert float(found.theta[0]) == pytest.approx(factor**exponent)
    assert float(found.at.loss) == pytest.approx(factor**exponent)


def test_without_an_acceptable_step_nothing_changes():
    found = search(place, nothing, 3.0, -2.0)
    assert not found.accepted
    assert (float(found.theta[0]), float(found.at.loss)) == (3.0, 3.0)


@pytest.mark.parametrize(("trials", "accepted"), [(0, False), (3, False), (4, True)])
def test_no_more_steps_are_tried_than_allowed(trials, accepted):
    """1/8 is the first good step, and the fourth one."""
    found = search(place, lambda at: at.loss <= 0.2, 0.0, 1.0, trials=trials)
    assert bool(found.accepted) is accepted
    assert float(found.theta[0]) == (0.125 if accepted else 0.0)


def test_a_step_to_a_loss_of_nan_is_never_taken():
    """log at 1 − 4, 1 − 2 and 1 − 1 is NaN, NaN and −∞; at 1 − ½ it is a number."""
    found = search(jnp.log, anything, 1.0, -4.0)
    assert found.accepted
    assert (float(found.theta[0]), int(found.exponent)) == (0.5, 3)


@pytest.mark.parametrize("broken", ["loss", "constraints", "divergence"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_every_function_must_be_finite(broken, value):
    good = {"loss": jnp.zeros(()), "constraints": jnp.zeros(2), "divergence": jnp.zeros(())}
    bad = good | {broken: good[broken].at[...].set(value)}
    found = backtrack(
        lambda point: Evaluation(**bad),
        anything,
        jnp.ones(1),
        jnp.ones(1),
        Evaluation(**good),
        factor=0.5,
        trials=5,
    )
    assert not found.accepted
    assert float(found.theta[0]) == 1.0
    assert float(found.at.loss) == 0.0


@pytest.mark.parametrize("x", [np.nan, np.inf])
def test_a_step_that_is_not_finite_is_never_taken(x):
    found = search(lambda theta: jnp.zeros(()), anything, 1.0, x)
    assert not found.accepted
    assert float(found.theta[0]) == 1.0
