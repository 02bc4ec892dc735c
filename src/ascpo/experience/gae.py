"""Generalised advantage estimation: advantages and critic targets from one backward pass over a rollout.

    δₜ = xₜ + γ V(ŝₜ₊₁) − V(ŝₜ)        Aₜ = δₜ + γλ Aₜ₊₁        Rₜ = xₜ + γ Rₜ₊₁

A rollout contains three ends of episodes:
goal         a terminal state, where V(ŝₜ₊₁) = 0.
time limit   V(ŝₜ₊₁) is the critic's prediction if the signal would go on after the limit (reward, expected cost), and
             zero otherwise (the largest cost of an episode).
cut          the end of the rollout: the episode continues in the next one, and the critic predicts the rest.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.scans import backwards

_LARGEST_BIAS = 1000.0
"""A larger bias, as a multiple of the truth, means that the truth is close to zero."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Advantages:
    """Advantages and targets of a signal."""

    next_value: Float[Array, "time env *k"]
    """The critic's value of the state after each step, or 0 where nothing follows."""
    td_error: Float[Array, "time env *k"]
    """δ."""
    advantage: Float[Array, "time env *k"]
    """A."""
    target: Float[Array, "time env *k"]
    """R: the target of the critic."""


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
    """R: the discounted sum of the signal to the end of the episode or rollout, plus `next_value` there."""
    return backwards(signal, next_value, done, discount)


def ends_within(done: Bool[Array, "time env"]) -> Bool[Array, "time env"]:
    """Whether a step's episode ends within the rollout, so that its return needs no critic."""
    return jnp.flip(jax.lax.cummax(jnp.flip(done.astype(jnp.int8), 0), axis=0), 0) > 0


def explained_variance(
    prediction: Float[Array, "time env"], target: Float[Array, "time env"], where: Bool[Array, "time env"]
) -> Float[Array, ""]:
    """1 − Var[R − V] / Var[R]. 1 is perfect, and a constant has 0. NaN if R is constant."""
    n = jnp.sum(where)

    def variance(x: Float[Array, "time env"]) -> Float[Array, ""]:
        mean = jnp.sum(jnp.where(where, x, 0.0)) / n
        return jnp.sum(jnp.where(where, (x - mean) ** 2, 0.0)) / n

    spread = variance(target)
    return jnp.where(spread > 0, 1.0 - variance(target - prediction) / jnp.where(spread > 0, spread, 1.0), jnp.nan)


def relative_bias(
    prediction: Float[Array, "time env k"], target: Float[Array, "time env k"], where: Bool[Array, "time env"]
) -> Float[Array, " k"]:
    """The mean overestimate, as a multiple of the true mean.

    NaN if the truth is 0 or close to 0, where the ratio means nothing.
    """

    def total(x: Float[Array, "time env k"]) -> Float[Array, " k"]:
        return jnp.sum(jnp.where(where[..., None], x, 0.0), axis=(0, 1))

    truth = total(target)
    bias = total(prediction) / jnp.where(truth > 0.0, truth, 1.0) - 1.0
    return jnp.where((truth > 0.0) & (jnp.abs(bias) <= _LARGEST_BIAS), bias, jnp.nan)
