"""Fitting critics: Adam on the squared error, with two additions for sparse costs.

Balance. Most states have no future cost. `subsample` draws as many states without future cost as with it, as the papers
do, which makes the critic overestimate. `weighted` draws them in the same way and corrects by importance weights, so
that there is no bias. The class of a state depends on the observed costs, never on a prediction. If there was no cost
at all, all states are drawn alike.

Monotone descent. The future increase of a maximum can only shrink along a trajectory. So a rise of the prediction
between neighbouring states is penalised by its square.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

from ascpo.networks.settings import Balance, CostFitSettings, FitSettings

Network = TypeVar("Network", bound=eqx.Module)
"""A network that predicts k numbers from an observation."""


def as_cost_fit(settings: FitSettings) -> CostFitSettings:
    """The same fit as a `CostFitSettings`: unbalanced, and to one epoch."""
    if isinstance(settings, CostFitSettings):
        return settings
    return CostFitSettings(**vars(settings), balance="none", window=1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FitBatch:
    """The data for a critic: states in the order of time, with their targets."""

    observation: Float[Array, "time env obs"]
    target: Float[Array, "time env k"]
    positive: Bool[Array, "time env"]
    """Whether a cost was observed after the state."""
    last: Bool[Array, "time env"]
    """Whether the state is the last of its episode, so that the next row belongs to another one."""
    known: Bool[Array, "time env"]
    """Whether the row holds a state. At first, a window is not full."""


def optimiser(settings: FitSettings) -> optax.GradientTransformation:
    return optax.adam(settings.learning_rate)


def fit(
    network: Network, opt_state: PyTree, batch: FitBatch, key: Key[Array, ""], settings: FitSettings
) -> tuple[Network, PyTree, Float[Array, ""]]:
    """Fit for one epoch. Returns the network, the state of the optimiser and the last loss."""
    adam, settings = optimiser(settings), as_cost_fit(settings)
    params, static = eqx.partition(network, eqx.is_inexact_array)
    recency = _recency(len(batch.observation), settings)
    keep = keep_probability(batch, settings.balance) * recency[:, None]
    every_row = _rows(batch)
    keys = jax.random.split(key, settings.iterations)
    turns = draw_rows(keep, keys, settings.batch_size // _length(settings)) if settings.batch_size else keys

    def loss(params: PyTree, rows: "_Rows", weight: Float[Array, "length n"]) -> Float[Array, ""]:
        predict: Callable[[Array], Array] = eqx.combine(params, static)
        return error(predict(rows.observation), rows, weight, settings.monotone_weight)

    def step(
        carry: tuple[PyTree, PyTree], turn: Int[Array, " n"] | Key[Array, ""]
    ) -> tuple[tuple[PyTree, PyTree], Float[Array, ""]]:
        params, opt_state = carry
        if settings.batch_size:
            rows, weight = _minibatch(batch, keep, turn, settings)
        elif settings.balance == "subsample":
            rows, weight = every_row, (jax.random.uniform(turn, keep.shape) < keep).astype(jnp.float32)
        else:
            rows, weight = every_row, batch.known * recency[:, None]
        value, gradient = jax.value_and_grad(loss)(params, rows, weight)
        change, opt_state = adam.update(gradient, opt_state, params)
        return (optax.apply_updates(params, change), opt_state), value

    (params, opt_state), losses = jax.lax.scan(step, (params, opt_state), turns)
    return eqx.combine(params, static), opt_state, losses[-1]


def keep_probability(batch: FitBatch, balance: Balance) -> Float[Array, "time env"]:
    """The probability with which a state is drawn: 1 with future cost, and less without it, so that both are equally
    many."""
    known = batch.known.astype(jnp.float32)
    if balance == "none":
        return known
    positives = jnp.sum(known * batch.positive)
    zeros = jnp.sum(known) - positives
    rare = (positives > 0) & (positives < zeros)
    return known * jnp.where(batch.positive | ~rare, 1.0, positives / jnp.maximum(zeros, 1.0))


def _recency(steps: int, settings: CostFitSettings) -> Float[Array, " time"]:
    """The weight of every step: 1 for the last epoch, and less for earlier ones."""
    age = (settings.window - 1) - jnp.arange(steps) * settings.window // steps
    return settings.forget**age


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Rows:
    """Sequences of neighbouring states, side by side."""

    observation: Float[Array, "length n obs"]
    target: Float[Array, "length n k"]
    neighbours: Bool[Array, "length-1 n"]
    """Whether a row and the next belong to one episode."""


def _rows(batch: FitBatch) -> _Rows:
    both = batch.known[:-1] & batch.known[1:]
    return _Rows(batch.observation, batch.target, both & ~batch.last[:-1])


def draw_rows(keep: Float[Array, "time env"], keys: Key[Array, " iterations"], n: int) -> Int[Array, "iterations n"]:
    """The states of all minibatches, as indices into time·env."""
    cumulative = jnp.cumsum(keep.ravel())
    # Stratified sampling: one draw from each of n equal slices has less noise than n draws from the whole.
    points = (jnp.arange(n) + jax.vmap(lambda key: jax.random.uniform(key, (n,)))(keys)) / n * cumulative[-1]
    return jnp.clip(jnp.searchsorted(cumulative, points, side="right"), 0, keep.size - 1)


def _length(settings: CostFitSettings) -> int:
    """The length of the sequences in a minibatch: pairs of neighbours if rises are penalised, else single states."""
    return 2 if settings.monotone_weight else 1


def _minibatch(
    batch: FitBatch, keep: Float[Array, "time env"], first: Int[Array, " n"], settings: CostFitSettings
) -> tuple[_Rows, Float[Array, "length n"]]:
    """The sequences that start with these states, and their weights."""
    time, env, _ = batch.observation.shape
    length, n = _length(settings), len(first)
    weight = jnp.ones(n)
    if settings.balance == "weighted":
        weight = jnp.repeat(_recency(time, settings), env)[first] / jnp.maximum(keep.ravel()[first], 1e-9)
        weight = weight / jnp.mean(weight)

    def take(x: Shaped[Array, "time env *rest"], at: Int[Array, " n"]) -> Shaped[Array, "n *rest"]:
        return x.reshape(time * env, *x.shape[2:])[at]

    at = [first + env * i for i in range(length)]
    inside = [i < time * env for i in at]
    at = [jnp.minimum(i, time * env - 1) for i in at]
    rows = _Rows(
        observation=jnp.stack([take(batch.observation, i) for i in at]),
        target=jnp.stack([take(batch.target, i) for i in at]),
        neighbours=jnp.stack([inside[i + 1] & ~take(batch.last, at[i]) for i in range(length - 1)])
        if length > 1
        else jnp.zeros((0, n), bool),
    )
    follows = [jnp.ones(n, bool), *rows.neighbours]
    return rows, jnp.stack([weight * ok for ok in follows])


def error(
    prediction: Float[Array, "length n k"], rows: _Rows, weight: Float[Array, "length n"], monotone_weight: float
) -> Float[Array, ""]:
    """The mean squared error, plus the penalty of rises between neighbours."""
    squared = jnp.sum((prediction - rows.target) ** 2, axis=-1)
    total = jnp.sum(weight * squared) / jnp.maximum(jnp.sum(weight), 1e-6)
    if monotone_weight and len(prediction) > 1:
        kept = rows.neighbours * (weight[:-1] > 0) * (weight[1:] > 0)
        rise = jnp.sum(jnp.maximum(prediction[1:] - prediction[:-1], 0.0) ** 2, axis=-1)
        total = total + monotone_weight * jnp.sum(kept * rise) / jnp.maximum(jnp.sum(kept), 1.0)
    return total
