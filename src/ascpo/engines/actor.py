"""How a policy acts in an environment: it observes, decides, remembers, and begins anew with every episode.

An `Actor` is a few pure functions of one environment, which engines batch and compile into their own step. What it
remembers of an episode is its *augmentation*, such as the running maxima of the costs. The policy observes it beside
the raw observation, the environment's own.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.guard.layout import AnyArray

Theta: TypeAlias = Float[Array, " p"]
"""A policy's parameters."""
Observation: TypeAlias = Float[Array, " obs"]
"""Augmented."""
Remembered: TypeAlias = Float[Array, " augmentation"]
Noise: TypeAlias = Float[Array, " act"]
Costs: TypeAlias = Float[Array, " m"]
"""Signed ones are the same, but below zero, where the environment says so, they tell how near a cost is."""
Done: TypeAlias = Bool[Array, ""]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Decision:
    """What a policy does in one state."""

    action: Float[Array, "*axes act"]
    """As the policy drew it."""
    taken: Float[Array, "*axes act"]
    """As the shield leaves it; without a shield, the same."""


@runtime_checkable
class Actor(Protocol):
    """A policy's behaviour, without its parameters. Actors that behave alike are equal and have the same hash.

    Engines keep the programs that they compile for an actor, and find them again by its value. It has
        shielded    whether a shield may change the action
        initial     the augmentation that an episode begins with
        decide      (parameters, augmented observation, standard normal noise) → decision
        remember    (augmentation, costs of a step, the same signed) → augmentation after the step
    """

    @property
    def shielded(self) -> bool: ...
    def initial(self) -> Remembered: ...
    def decide(self, theta: Theta, observation: Observation, noise: Noise) -> Decision: ...
    def remember(self, augmentation: Remembered, costs: Costs, signed: Costs) -> Remembered: ...


@dataclass(frozen=True)
class ScriptedActor:
    """Takes its noise for actions, whatever it observes. So episodes are played again from their actions."""

    shielded = False

    def initial(self) -> Remembered:
        return jnp.zeros(0)

    def decide(self, theta: Theta, observation: Observation, noise: Noise) -> Decision:
        return Decision(noise, noise)

    def remember(self, augmentation: Remembered, costs: Costs, signed: Costs) -> Remembered:
        return augmentation


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Acted:
    """What a policy observed before a step, and did."""

    observation: Float[AnyArray, "*axes obs"]
    """Augmented."""
    action: Float[AnyArray, "*axes act"]
    taken: Float[AnyArray, "*axes act"] | None
    """None without a shield: the action is taken as it was drawn."""

    @property
    def executed(self) -> Float[AnyArray, "*axes act"]:
        """The action that the environment is given."""
        return self.action if self.taken is None else self.taken


def augment(
    raw_observation: Float[AnyArray, "*axes raw"], augmentation: Float[AnyArray, "*axes augmentation"]
) -> Float[AnyArray, "*axes obs"]:
    """What the policy observes: the environment's observation, then the augmentation."""
    return raw_observation.__array_namespace__().concat([raw_observation, augmentation], axis=-1)


def act(
    actor: Actor, theta: Theta, raw_observation: Float[Array, " raw"], augmentation: Remembered, noise: Noise
) -> Acted:
    """What the policy observes and does in one environment."""
    observation = augment(raw_observation, augmentation)
    decision = actor.decide(theta, observation, noise)
    return Acted(observation, decision.action, decision.taken if actor.shielded else None)


def signed_cost(
    cost: Float[AnyArray, "*axes m"], margins: Float[AnyArray, "*axes m"] | None
) -> Float[AnyArray, "*axes m"]:
    """The cost where there is one, and otherwise the margin, as far as it is below zero. Without margins, the cost."""
    if margins is None:
        return cost
    array = cost.__array_namespace__()
    return array.where(cost > 0.0, cost, array.minimum(margins, array.zeros_like(margins)))


def remember(
    actor: Actor, augmentation: Remembered, costs: Costs, margins: Costs | None, done: Done
) -> tuple[Remembered, Remembered]:
    """The augmentation after a step, and the one for the next step: where the episode is done, the initial one."""
    after = actor.remember(augmentation, costs, signed_cost(costs, margins))
    return after, jnp.where(done, actor.initial(), after)
