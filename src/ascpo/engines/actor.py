"""The actor: how a policy acts in an environment.

An `Actor` is a few pure functions for one environment, which engines batch and compile into their own step. Its memory
of an episode is the *augmentation*, such as the running maxima of the costs. The policy observes it together with the
raw observation, which is the environment's own.
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
"""The augmented observation."""
Remembered: TypeAlias = Float[Array, " augmentation"]
Noise: TypeAlias = Float[Array, " act"]
Costs: TypeAlias = Float[Array, " m"]
"""Costs. Signed costs are the same, but may be negative where there is no cost, and then say how near one is."""
Done: TypeAlias = Bool[Array, ""]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Decision:
    """The action of a policy in one state."""

    action: Float[Array, "*axes act"]
    """The action that the policy drew."""
    taken: Float[Array, "*axes act"]
    """The action after the shield. Without a shield, the same."""


@runtime_checkable
class Actor(Protocol):
    """A policy's behaviour, without its parameters. Actors that behave alike are equal and have the same hash.

    Engines cache the programs that they compile for an actor by its value. An actor has
        shielded    whether a shield may change the action
        initial     the augmentation at the start of an episode
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
    """Uses its noise as actions. So recorded actions can be played again."""

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
    """The observations and the actions of a policy in a step."""

    observation: Float[AnyArray, "*axes obs"]
    """The augmented observation."""
    action: Float[AnyArray, "*axes act"]
    taken: Float[AnyArray, "*axes act"] | None
    """The action after the shield. None without a shield."""

    @property
    def executed(self) -> Float[AnyArray, "*axes act"]:
        """The action that the environment gets."""
        return self.action if self.taken is None else self.taken


def augment(
    raw_observation: Float[AnyArray, "*axes raw"], augmentation: Float[AnyArray, "*axes augmentation"]
) -> Float[AnyArray, "*axes obs"]:
    """The policy's input: the raw observation, then the augmentation."""
    return raw_observation.__array_namespace__().concat([raw_observation, augmentation], axis=-1)


def act(
    actor: Actor, theta: Theta, raw_observation: Float[Array, " raw"], augmentation: Remembered, noise: Noise
) -> Acted:
    """Let the policy observe and act in one environment."""
    observation = augment(raw_observation, augmentation)
    decision = actor.decide(theta, observation, noise)
    return Acted(observation, decision.action, decision.taken if actor.shielded else None)


def signed_cost(
    cost: Float[AnyArray, "*axes m"], margins: Float[AnyArray, "*axes m"] | None
) -> Float[AnyArray, "*axes m"]:
    """The cost where it is positive, and otherwise min(margin, 0). Without margins, the cost."""
    if margins is None:
        return cost
    array = cost.__array_namespace__()
    return array.where(cost > 0.0, cost, array.minimum(margins, array.zeros_like(margins)))


def remember(
    actor: Actor, augmentation: Remembered, costs: Costs, margins: Costs | None, done: Done
) -> tuple[Remembered, Remembered]:
    """The augmentation after a step, and the one for the next step, which is reset if the episode is done."""
    after = actor.remember(augmentation, costs, signed_cost(costs, margins))
    return after, jnp.where(done, actor.initial(), after)
