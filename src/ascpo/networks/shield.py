"""Shields: they change an action before it is taken, if a model of the costs predicts that it breaks a limit.

Safety layer (arXiv:1801.08757). Cₜ ≈ Cₜ₋₁ + g(s)ᵀa, with g a network. The nearest action that the model finds safe is

    a − [(Cₜ₋₁ + gᵀa − w) / gᵀg]₊ · g

With several constraints, only the one with the largest multiplier is active, as its authors assume.

Unrolling safety layer (arXiv:2212.08329). Q(s, a) ≥ 0 predicts the future cost. The action descends its gradient,

    a ← a − η · ∇Q / max|∇Q|

until Q is at most a threshold, or the iterations are used up.

Actions are in the units of the policy, in which the environment's range is [-1, 1]. Changed actions stay within it.
"""

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from ascpo.guard.layout import AnyArray
from ascpo.networks.critics import Critic
from ascpo.networks.fit import FitBatch
from ascpo.networks.policy import mlp, over_axes
from ascpo.networks.settings import CostFitSettings, FitSettings

_SMALL = 1e-8
CHANGED = 1e-6
"""A shield counts as having changed an action that it moved by more than this."""
Action = Float[Array, " act"]
Observation = Float[Array, " obs"]
CostModel: TypeAlias = Any
"""The network that a shield has made itself. Each kind of shield has its own: a `LinearCost`, or a `Critic`."""


@runtime_checkable
class Shield(Protocol):
    """A model of costs, and how it is fitted and corrects actions."""

    @property
    def fit(self) -> FitSettings: ...

    @property
    def warm_up(self) -> float:
        """The part of the training in which the shield learns but does not act."""
        ...

    def network(
        self, observation_size: int, act: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]
    ) -> eqx.Module:
        """A network that predicts costs from observations and actions, concatenated."""
        ...

    def correct(
        self, network: CostModel, observation: Observation, action: Action, limits: Float[Array, " m"]
    ) -> Action: ...

    def target(
        self, network: CostModel, x: Float[Array, "time env x"], cost: Float[Array, "time env m"], done: Array
    ) -> Float[Array, "time env m"]:
        """The targets of the network."""
        ...


class LinearCost(eqx.Module):
    """Cₜ₋₁ + g(s)ᵀa. The last m numbers of an observation are the costs of the last step."""

    slopes: eqx.nn.MLP
    act: int = eqx.field(static=True)
    m: int = eqx.field(static=True)

    def g(self, observation: Float[Array, "*axes obs"]) -> Float[Array, "*axes m act"]:
        flat = over_axes(self.slopes, observation)
        return flat.reshape(*flat.shape[:-1], self.m, self.act)

    def __call__(self, x: Float[Array, "*axes x"]) -> Float[Array, "*axes m"]:
        observation, action = x[..., : -self.act], x[..., -self.act :]
        return observation[..., -self.m :] + jnp.sum(self.g(observation) * action[..., None, :], axis=-1)


def balanced(fit: FitSettings) -> CostFitSettings:
    """The same fit, with minibatches that have as many steps without cost as with it."""
    return CostFitSettings(fit.iterations, fit.batch_size, fit.learning_rate, balance="subsample", window=1)


@dataclass(frozen=True)
class SafetyLayer:
    """Takes the nearest action that a linear model of the next cost finds safe."""

    warm_up: float
    fit: FitSettings

    def network(
        self, observation_size: int, act: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]
    ) -> LinearCost:
        return LinearCost(mlp(observation_size, m * act, hidden, key=key), act, m)

    def correct(
        self, network: LinearCost, observation: Observation, action: Action, limits: Float[Array, " m"]
    ) -> Action:
        g = network.g(observation)
        excess = network(jnp.concatenate([observation, action])) - limits
        multiplier = jnp.maximum(excess / (jnp.sum(g * g, axis=-1) + _SMALL), 0.0)
        worst = jnp.argmax(multiplier)
        changed = jnp.clip(action - multiplier[worst] * g[worst], -1.0, 1.0)
        return jnp.where(multiplier[worst] > 0.0, changed, action)

    def target(
        self, network: LinearCost, x: Float[Array, "time env x"], cost: Float[Array, "time env m"], done: Array
    ) -> Float[Array, "time env m"]:
        return cost


@dataclass(frozen=True)
class UnrollingSafetyLayer:
    """Descends the gradient of the predicted future cost."""

    threshold: float
    iterations: int
    step: float
    warm_up: float
    fit: FitSettings
    discount: float = 0.99

    def network(self, observation_size: int, act: int, m: int, hidden: tuple[int, ...], key: Key[Array, ""]) -> Critic:
        return Critic(observation_size + act, m, hidden, head="softplus", output_bias=-4.0, key=key)

    def correct(self, network: Critic, observation: Observation, action: Action, limits: Float[Array, " m"]) -> Action:
        def cost(action: Action) -> Float[Array, ""]:
            return jnp.max(network(jnp.concatenate([observation, action])) - limits)

        def further(_: Int[Array, ""], action: Action) -> Action:
            Q, slope = jax.value_and_grad(cost)(action)
            down = jnp.clip(action - self.step * slope / (jnp.max(jnp.abs(slope)) + _SMALL), -1.0, 1.0)
            return jnp.where(self.threshold < Q, down, action)

        inside = jnp.clip(action, -1.0, 1.0)
        changed = jax.lax.fori_loop(0, self.iterations, further, inside)
        # Steps of fixed size may jump out of a valley that is narrower than they are.
        return jnp.where(cost(changed) < cost(inside), changed, action)

    def target(
        self, network: Critic, x: Float[Array, "time env x"], cost: Float[Array, "time env m"], done: Array
    ) -> Float[Array, "time env m"]:
        """Cₜ + γ·Q(sₜ₊₁, aₜ₊₁), with the action that was taken there. Q is 0 after the end of an episode."""
        Q = network(x)
        following = jnp.concatenate([Q[1:], Q[-1:]])
        return cost + self.discount * jnp.where(done[..., None], 0.0, following)


def shield_batch(
    shield: Shield,
    network: eqx.Module,
    observation: Float[Array, "time env obs"],
    taken: Float[Array, "time env act"],
    cost: Float[Array, "time env m"],
    done: Bool[Array, "time env"],
) -> FitBatch:
    """The batch for the shield's network. The last step has no target, because the next action is unknown."""
    # The environment clips actions to its range.
    x = jnp.concatenate([observation, jnp.clip(taken, -1.0, 1.0)], axis=-1)
    target = shield.target(network, x, cost, done)
    last = jnp.arange(len(done))[:, None] == len(done) - 1
    return FitBatch(x, target, jnp.any(cost > 0.0, axis=-1), done, ~last | done)


def moved_by(drawn: Float[AnyArray, "*axes act"], taken: Float[AnyArray, "*axes act"]) -> Float[AnyArray, "*axes"]:
    """How far a shield moved each action, within the bounds of actions and in the policy's units."""
    array = drawn.__array_namespace__()
    return array.linalg.norm(array.clip(taken, -1, 1) - array.clip(drawn, -1, 1), axis=-1)


def shielded(
    shield: Shield,
    network: eqx.Module,
    active: Bool[Array, ""],
    observation: Observation,
    action: Action,
    limits: Float[Array, " m"],
) -> Action:
    """The action to take: corrected if the shield is active."""
    return jnp.where(active, shield.correct(network, observation, action, limits), action)
