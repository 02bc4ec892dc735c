import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.experience.window import Window, empty_window


def chunk(signal, done, next_value):
    T = len(signal)
    return Window(
        observation=jnp.zeros((T, 1, 1)),
        signal=jnp.asarray(signal, jnp.float32)[:, None, None],
        next_value=jnp.asarray(next_value, jnp.float32)[:, None, None],
        done=jnp.asarray(done)[:, None],
        known=jnp.ones((T, 1), bool),
    )


def test_the_returns_of_a_cut_episode_become_known_once_it_has_finished():
    window = empty_window(4, 1, 1, 1).push(chunk([0.1, 0.0], [False, False], [9.0, 9.0]))
    assert_allclose(window.targets([1.0])[2:, 0, 0], [9.1, 9.0])
    window = window.push(chunk([0.2, 0.0], [True, False], [0.0, 5.0]))
    assert_allclose(window.targets([1.0])[:, 0, 0], [0.3, 0.2, 0.2, 5.0], rtol=1e-6)


def test_predictions_never_decide_whether_a_state_counts_as_costly():
    window = empty_window(2, 1, 1, 1).push(chunk([0.0, 0.0], [False, False], [9.0, 9.0]))
    assert_array_equal(window.happened()[:, 0], [False, False])
    window = window.push(chunk([0.0, 0.2], [False, False], [9.0, 9.0]))
    assert_array_equal(window.happened()[:, 0], [True, True])


def test_rows_that_were_never_filled_are_unknown():
    window = empty_window(3, 1, 1, 1).push(chunk([0.5], [True], [0.0]))
    assert_array_equal(window.known[:, 0], [False, False, True])
    assert_allclose(window.targets([1.0])[:, 0, 0], [0.0, 0.0, 0.5])


def test_a_cut_episode_does_not_continue_in_the_next_rollout():
    window = empty_window(4, 1, 1, 1).push(chunk([0.1, 0.0], [False, False], [9.0, 9.0])).cut()
    window = window.push(chunk([0.2, 0.0], [True, False], [0.0, 5.0]))
    assert_allclose(window.targets([1.0])[:, 0, 0], [9.1, 9.0, 0.2, 5.0], rtol=1e-6)
    assert_array_equal(window.happened()[:, 0], [True, False, True, False])


def test_every_signal_of_every_environment_has_its_own_targets():
    """Two steps of two environments with two signals, discounted by γ: x₀ + γ(x₁ + γ·next)."""
    signal = jnp.arange(8.0).reshape(2, 2, 2)
    following = 10.0 * (1 + jnp.arange(8.0).reshape(2, 2, 2))
    never = jnp.zeros((2, 2), bool)
    window = Window(jnp.zeros((2, 2, 1)), signal, following, never, ~never)
    discounts = np.array([0.5, 1.0])
    targets = window.targets(discounts.tolist())
    assert_allclose(targets[1], signal[1] + discounts * following[1])
    assert_allclose(targets[0], signal[0] + discounts * targets[1])
