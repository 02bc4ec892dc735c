import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from ascpo.surrogates.evidence import Evidence
from ascpo.surrogates.maximum import MomentBound, ViolationProbability
from ascpo.surrogates.timeouts import WithTimeouts, charged_share
from ascpo.surrogates.weights import Weights
from tests.surrogates.helpers import statistics

LIMITS = jnp.zeros(1)


def evidence(A, **episodes):
    A = jnp.asarray(A, jnp.float32)[:, None]
    return Evidence(jnp.zeros(A.shape[:2]), A, A, statistics(1, **episodes))


def test_time_outs_are_a_constraint_after_the_algorithms_own():
    both = WithTimeouts(ViolationProbability(0.98), allowed=0.01)
    some = evidence([[0.5, 0.1], [-0.3, 0.2]], count=2.0, timeout_rate=0.04, violation_rates=[0.05])
    weights = Weights(jnp.array([[2.0], [1.0]]))
    assert_allclose(both.surrogate(some, weights), [(2 * 0.5 - 0.3) / 2, (2 * 0.1 + 0.2) / 2], rtol=1e-5)
    assert_allclose(both.offset(some, LIMITS), [0.05 - 0.02, 0.04 - 0.01], rtol=1e-4)
    assert_allclose(both.relative_excess(some, LIMITS), [jnp.inf, 3.0], rtol=1e-4)


def test_with_time_outs_a_bound_of_two_signals_gets_its_own_two():
    some = evidence([[0.5, 0.1, 7.0]], count=1.0)
    found = WithTimeouts(MomentBound(2.0), allowed=0.01).surrogate(some, Weights(jnp.ones((1, 1))))
    assert_allclose(found, [0.5 + 2 * 0.1, 7.0], rtol=1e-5)


@pytest.mark.parametrize(
    ("timeout_rate", "waiver", "charged"),
    [(0.0, 1.0, 1.0), (0.01, 1.0, 1.0), (0.055, 1.0, 0.5), (0.1, 1.0, 0.0), (0.9, 0.6, 0.4), (0.9, 0.0, 1.0)],
)
def test_the_waiver_grows_with_the_share_of_time_outs(timeout_rate, waiver, charged):
    assert_allclose(charged_share(jnp.array(timeout_rate), waiver), charged, atol=1e-6)
