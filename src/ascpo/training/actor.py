"""The acting part of an agent: policy, augmentation and shield. Agents that act alike share compiled programs."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ascpo.engines.actor import Decision
from ascpo.experience.augmentation import Augmentation
from ascpo.networks.normaliser import Units
from ascpo.networks.policy import Policy
from ascpo.networks.shield import CostModel, Shield, shielded
from ascpo.training.structure import Structure, structure_of


class ActingParts(NamedTuple):
    """The numbers that decide how an actor acts, split into their parts."""

    policy: Float[Array, " p"]
    """The policy's parameters."""
    units: Units | None
    """The units of the observations. None if they are not normalised."""
    shield: Float[Array, " s"]
    """The shield's parameters, and then 1 if it is active. Empty without a shield."""


@dataclass(frozen=True)
class AgentActor:
    """An agent's policy and shield, as engines want them."""

    raw_size: int
    """Size of the environment's observation."""
    action_size: int
    costs: int
    hidden: tuple[int, ...]
    augmentation: Augmentation
    normalised: bool
    shield: Shield | None = None
    limits: tuple[float, ...] = ()
    """The shield's limits. Empty without a shield."""
    margin: float = 0.0
    """The shield aims this far below its limits."""

    def __post_init__(self) -> None:
        _ = self.networks  # Built here: they are drawn with NumPy, which is not possible while a program is traced.

    @property
    def observation_size(self) -> int:
        """Size of the policy's input: the environment's observation, then the augmentation."""
        return self.raw_size + len(self.augmentation.initial(self.costs))

    @property
    def shielded(self) -> bool:
        return self.shield is not None

    def initial(self) -> Float[Array, " aug"]:
        return jnp.array(self.augmentation.initial(self.costs), jnp.float32)

    def remember(
        self, augmentation: Float[Array, " aug"], costs: Float[Array, " m"], signed: Float[Array, " m"]
    ) -> Float[Array, " aug"]:
        return self.augmentation.update(augmentation, costs, signed)

    def decide(
        self, theta: Float[Array, " q"], observation: Float[Array, " obs"], noise: Float[Array, " act"]
    ) -> Decision:
        """The action that the policy draws, and the one that the shield lets through. `Agent.acting` makes θ."""
        parts = self.parts(theta)
        inputs = self.network_input(parts.units, observation)
        drawn = self.policy(parts.policy).act(inputs, noise)
        if self.shield is None:
            return Decision(drawn, drawn)
        network, acts = self.shield_network(self.networks.unravel_shield(parts.shield[:-1])), parts.shield[-1] > 0
        return Decision(drawn, shielded(self.shield, network, acts, inputs, drawn, self.learning_limits))

    def parts(self, theta: Float[Array, " q"]) -> ActingParts:
        """The vector of `Agent.acting`, split again."""
        raw = self.raw_size if self.normalised else 0
        policy, mean, std, shield = jnp.split(theta, self.networks.policy_size + np.arange(3) * raw)
        return ActingParts(policy, Units(mean, std) if raw else None, shield)

    def network_input(self, units: Units | None, observation: Float[Array, "*axes obs"]) -> Float[Array, "*axes obs"]:
        """The input of the networks: the normalised observation, then the augmentation, which is not normalised."""
        if units is None:
            return observation
        raw = self.raw_size
        return jnp.concatenate([units(observation[..., :raw]), observation[..., raw:]], axis=-1)

    def policy(self, theta: Float[Array, " p"]) -> Policy:
        return eqx.combine(self.networks.unravel_policy(theta), self.networks.policy)

    def shield_network(self, params: PyTree) -> CostModel:
        return eqx.combine(params, self.networks.shield)

    @property
    def learning_limits(self) -> Float[Array, " m"]:
        return jnp.array(self.limits) - self.margin

    @cached_property
    def networks(self) -> Structure:
        """Policy and shield without their parameters."""
        return _networks(self)


@lru_cache
def _networks(actor: AgentActor) -> Structure:
    """The networks of all actors that are equal."""
    sizes, key = (actor.observation_size, actor.action_size), jax.random.key(0)
    shield = actor.shield.network(*sizes, actor.costs, actor.hidden, key) if actor.shield else None
    return structure_of(Policy(*sizes, actor.hidden, key=key), shield)
