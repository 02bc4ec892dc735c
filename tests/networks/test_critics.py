import jax
import jax.numpy as jnp
import pytest

from ascpo.networks.critics import Critic

VIEWS = jax.random.normal(jax.random.key(1), (5, 4, 3))


@pytest.mark.parametrize(("head", "low", "high"), [("softplus", 0.0, jnp.inf), ("sigmoid", 0.0, 1.0)])
def test_the_output_function_keeps_predictions_in_their_range(head, low, high):
    out = Critic(3, 2, head=head, key=jax.random.key(0))(VIEWS * 100)
    assert out.shape == (5, 4, 2)
    assert bool(jnp.all((out >= low) & (out <= high)))


def test_an_output_bias_starts_predictions_near_zero():
    far = Critic(3, 1, head="softplus", key=jax.random.key(0))(VIEWS)
    near = Critic(3, 1, head="softplus", output_bias=-4.0, key=jax.random.key(0))(VIEWS)
    assert float(far.mean()) > 0.4
    assert float(near.mean()) < 0.05
