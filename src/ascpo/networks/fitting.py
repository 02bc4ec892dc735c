"""Fitting critics: Adam on the squared error, with what sparse costs need.

Balance. Most states have nothing more to come. `subsample` draws states without future cost as rarely as those with
(the papers' way; it makes the critic expect too much); `weighted` draws them in the same way and weights the errors
back, so that nothing is biased. Which class a state is in depends on what did happen, never on a critic's guess. If no
cost happened at all, every state counts the same.

Monotone descent. What is still to come of a maximum can only shrink along a trajectory: a rise between neighbours
costs its square.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

Judging = TypeVar("Judging", bound=eqx.Module)
"""A network that predicts k numbers from each view."""
Balance = Literal["none", "subsample", "weighted"]


@dataclass(frozen=True)
class Fit:
    """How a critic is fitted."""

    iterations: int = 80
    """Steps of Adam an epoch."""
    batch_size: int = 4096
    """States in each of them; 0 for all."""
    learning_rate: float = 1e-3
    balance: Balance = "none"
    """How states with future cost and without are balanced: none, subsample or weighted."""
    monotone_weight: float = 0.0
    """What a rise of the prediction between neighbours costs."""
    window: int = 1
    """Fit to the steps of so many epochs."""
    forget: float = 0.9
    """How often an epoch's steps are drawn, relative to those of the next one."""


RARE = Fit(balance="weighted", window=10)
"""For what happens seldom: more epochs, and balanced without bias."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Lesson:
    """States, time-major, with what came after each."""

    view: Float[Array, "time env view"]
    target: Float[Array, "time env k"]
    positive: Bool[Array, "time env"]
    """Whether some cost did come."""
    last: Bool[Array, "time env"]
    """Whether the state is its episode's last, so that the next row is no neighbour."""
    known: Bool[Array, "time env"]
    """Whether there is such a state at all: a window is not full from the start."""


def optimiser(fit: Fit) -> optax.GradientTransformation:
    return optax.adam(fit.learning_rate)


def teach(
    critic: Judging, state: PyTree, lesson: Lesson, key: Key[Array, ""], fit: Fit
) -> tuple[Judging, PyTree, Float[Array, ""]]:
    """All steps of an epoch: the critic, the optimiser's state and the last loss."""
    adam = optimiser(fit)
    arrays, rest = eqx.partition(critic, eqx.is_inexact_array)
    chance = chances(lesson, fit.balance) * _recency(len(lesson.view), fit)[:, None]
    every_row = _rows(lesson)
    keys = jax.random.split(key, fit.iterations)
    turns = drawn(chance, keys, fit.batch_size // _length(fit)) if fit.batch_size else keys

    def loss(arrays: PyTree, rows: "_Rows", weight: Float[Array, "length n"]) -> Float[Array, ""]:
        network: Any = eqx.combine(arrays, rest)
        return error(network(rows.view), rows, weight, fit.monotone_weight)

    def step(
        carry: tuple[PyTree, PyTree], turn: Int[Array, " n"] | Key[Array, ""]
    ) -> tuple[tuple[PyTree, PyTree], Float[Array, ""]]:
        arrays, state = carry
        if fit.batch_size:
            rows, weight = _batch(lesson, chance, turn, fit)
        elif fit.balance == "subsample":
            rows, weight = every_row, (jax.random.uniform(turn, chance.shape) < chance).astype(jnp.float32)
        else:
            rows, weight = every_row, lesson.known * _recency(len(lesson.view), fit)[:, None]
        value, slope = jax.value_and_grad(loss)(arrays, rows, weight)
        change, state = adam.update(slope, state, arrays)
        return (optax.apply_updates(arrays, change), state), value

    (arrays, state), losses = jax.lax.scan(step, (arrays, state), turns)
    return eqx.combine(arrays, rest), state, losses[-1]


def chances(lesson: Lesson, balance: Balance) -> Float[Array, "time env"]:
    """With what chance a state is kept: all with future cost, and as many without."""
    known = lesson.known.astype(jnp.float32)
    if balance == "none":
        return known
    positives = jnp.sum(known * lesson.positive)
    zeros = jnp.sum(known) - positives
    rare = (positives > 0) & (positives < zeros)
    return known * jnp.where(lesson.positive | ~rare, 1.0, positives / jnp.maximum(zeros, 1.0))


def _recency(steps: int, fit: Fit) -> Float[Array, " time"]:
    """1 for the steps of the last epoch, and less for each one before."""
    age = (fit.window - 1) - jnp.arange(steps) * fit.window // steps
    return fit.forget**age


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Rows:
    """Stretches of neighbouring states, side by side."""

    view: Float[Array, "length n view"]
    target: Float[Array, "length n k"]
    neighbours: Bool[Array, "length-1 n"]
    """Whether a row and the next belong to one episode."""


def _rows(lesson: Lesson) -> _Rows:
    both = lesson.known[:-1] & lesson.known[1:]
    return _Rows(lesson.view, lesson.target, both & ~lesson.last[:-1])


def drawn(chance: Float[Array, "time env"], keys: Key[Array, " iterations"], n: int) -> Int[Array, "iterations n"]:
    """Which states, by their place in time·env, the minibatches are made of. One search finds those of all."""
    cumulative = jnp.cumsum(chance.ravel())
    # One draw from each of n equal slices: as random, with less noise than n draws from the whole.
    points = (jnp.arange(n) + jax.vmap(lambda key: jax.random.uniform(key, (n,)))(keys)) / n * cumulative[-1]
    return jnp.clip(jnp.searchsorted(cumulative, points, side="right"), 0, chance.size - 1)


def _length(fit: Fit) -> int:
    """Of the stretches in a minibatch: single states, or pairs of neighbours if rises are to be seen."""
    return 2 if fit.monotone_weight else 1


def _batch(
    lesson: Lesson, chance: Float[Array, "time env"], first: Int[Array, " n"], fit: Fit
) -> tuple[_Rows, Float[Array, "length n"]]:
    """The stretches that begin with these states."""
    time, env, _ = lesson.view.shape
    length, n = _length(fit), len(first)
    weight = jnp.ones(n)
    if fit.balance == "weighted":
        weight = jnp.repeat(_recency(time, fit), env)[first] / jnp.maximum(chance.ravel()[first], 1e-9)
        weight = weight / jnp.mean(weight)

    def take(x: Shaped[Array, "time env *rest"], at: Int[Array, " n"]) -> Shaped[Array, "n *rest"]:
        return x.reshape(time * env, *x.shape[2:])[at]

    at = [first + env * i for i in range(length)]
    inside = [i < time * env for i in at]
    at = [jnp.minimum(i, time * env - 1) for i in at]
    rows = _Rows(
        view=jnp.stack([take(lesson.view, i) for i in at]),
        target=jnp.stack([take(lesson.target, i) for i in at]),
        neighbours=jnp.stack([inside[i + 1] & ~take(lesson.last, at[i]) for i in range(length - 1)])
        if length > 1
        else jnp.zeros((0, n), bool),
    )
    follows = [jnp.ones(n, bool), *rows.neighbours]
    return rows, jnp.stack([weight * ok for ok in follows])


def error(
    prediction: Float[Array, "length n k"], rows: _Rows, weight: Float[Array, "length n"], monotone_weight: float
) -> Float[Array, ""]:
    """Mean squared error, and the mean square of rises between neighbours."""
    squared = jnp.sum((prediction - rows.target) ** 2, axis=-1)
    total = jnp.sum(weight * squared) / jnp.maximum(jnp.sum(weight), 1e-6)
    if monotone_weight and len(prediction) > 1:
        kept = rows.neighbours * (weight[:-1] > 0) * (weight[1:] > 0)
        rise = jnp.sum(jnp.maximum(prediction[1:] - prediction[:-1], 0.0) ** 2, axis=-1)
        total = total + monotone_weight * jnp.sum(kept * rise) / jnp.maximum(jnp.sum(kept), 1.0)
    return total
