"""Generalised advantage estimation: advantages and critic targets from one backward pass over a rollout.

    δₜ = xₜ + γ V(ŝₜ₊₁) − V(ŝₜ)        Aₜ = δₜ + γλ Aₜ₊₁        Rₜ = xₜ + γ Rₜ₊₁

An episode can end in three ways, and each continues in its own way:
goal         nothing follows: V(ŝₜ₊₁) counts as zero.
time limit   the critic says what would have followed, if the signal goes on beyond the limit (reward, expected cost);
             the largest cost of an episode does not.
cut          the episode goes on in the next rollout, and the critic stands in for what it will bring.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.scans import backwards

_LARGEST_BIAS = 1000.0
"""Of a critic, as a multiple of the truth. Beyond that the truth is next to nothing."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Advantages:
    """What a critic makes of a signal's steps."""

    next_value: Float[Array, "time env *k"]
    """What the critic says of the state after each step, and 0 where nothing follows."""
    td_error: Float[Array, "time env *k"]
    """δ."""
    advantage: Float[Array, "time env *k"]
    """A."""
    target: Float[Array, "time env *k"]
    """R: what the critic should have said."""


def gae(
    signal: Float[Array, "time env"],
    value: Float[Array, "time env"],
    next_value: Float[Array, "time env"],
    terminated: Bool[Array, "time env"],
    truncated: Bool[Array, "time env"],
    *,
    discount: float,
    gae_lambda: float,
    bootstrap_on_timeout: bool,
) -> Advantages:
    """δ, A and R of every step."""
    done = terminated | truncated
    next_value = jnp.where(terminated if bootstrap_on_timeout else done, 0.0, next_value)
    td_error = signal + discount * next_value - value
    advantage = backwards(td_error, jnp.zeros_like(td_error), done, discount * gae_lambda)
    return Advantages(next_value, td_error, advantage, returns(signal, next_value, done, discount))


def returns(
    signal: Float[Array, "time env"],
    next_value: Float[Array, "time env"],
    done: Bool[Array, "time env"],
    discount: float,
) -> Float[Array, "time env"]:
    """R: the signal's sum to the end of the episode, and `next_value` from there (or from the last step) on."""
    return backwards(signal, next_value, done, discount)


def ends_within(done: Bool[Array, "time env"]) -> Bool[Array, "time env"]:
    """Whether a step's episode ends within the rollout, so that its returns are known and not guessed."""
    return jnp.flip(jax.lax.cummax(jnp.flip(done.astype(jnp.int8), 0), axis=0), 0) > 0


def explained_variance(
    prediction: Float[Array, "time env"], target: Float[Array, "time env"], where: Bool[Array, "time env"]
) -> Float[Array, ""]:
    """1 − Var[R − V] / Var[R]: 1 is perfect, 0 is a constant; NaN if there is nothing to explain."""
    n = jnp.sum(where)

    def variance(x: Float[Array, "time env"]) -> Float[Array, ""]:
        mean = jnp.sum(jnp.where(where, x, 0.0)) / n
        return jnp.sum(jnp.where(where, (x - mean) ** 2, 0.0)) / n

    spread = variance(target)
    return jnp.where(spread > 0, 1.0 - variance(target - prediction) / jnp.where(spread > 0, spread, 1.0), jnp.nan)


def relative_bias(
    prediction: Float[Array, "time env k"], target: Float[Array, "time env k"], where: Bool[Array, "time env"]
) -> Float[Array, " k"]:
    """By how much predictions are too large in the mean, as a multiple of the truth.

    NaN where the truth is 0, or next to nothing beside the predictions: such a multiple says nothing.
    """

    def total(x: Float[Array, "time env k"]) -> Float[Array, " k"]:
        return jnp.sum(jnp.where(where[..., None], x, 0.0), axis=(0, 1))

    truth = total(target)
    bias = total(prediction) / jnp.where(truth > 0.0, truth, 1.0) - 1.0
    return jnp.where((truth > 0.0) & (jnp.abs(bias) <= _LARGEST_BIAS), bias, jnp.nan)
