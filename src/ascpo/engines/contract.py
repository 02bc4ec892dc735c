"""What every engine hands to the learner, and what the learner hands to an engine.

An engine steps many environments for a number of steps while a policy acts, and returns a `Rollout`. The policy comes
as an `Actor`: pure functions of one environment, which the engine batches and compiles into its own step.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ascpo.guard.layout import AnyArray


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rollout:
    """Steps of all environments, time-major: the axes are time and environment.

    What ended an episode is kept apart: a terminal state or a time limit. The acting policy's distribution is not
    stored: it is a function of its parameters and of `view`.
    """

    view: Float[AnyArray, "*axes view"]
    """What the policy saw: the observation, then its own memory of the episode (the running maxima, say)."""
    next_view: Float[AnyArray, "*axes view"]
    """After the step, and before any reset."""
    action: Float[AnyArray, "*axes act"]
    """As the policy drew it. A shield may change it, and the environment clips it."""
    reward: Float[AnyArray, "*axes"]
    cost: Float[AnyArray, "*axes m"]
    terminated: Bool[AnyArray, "*axes"]
    truncated: Bool[AnyArray, "*axes"]
    taken: Float[AnyArray, "*axes act"] | None = None
    """The action that was taken, where a shield may have changed it."""

    @property
    def done(self) -> Bool[AnyArray, "*axes"]:
        return operator.or_(self.terminated, self.truncated)


@dataclass(frozen=True)
class Actor:
    """How a policy acts. It may remember something of the episode, and see it beside the observation."""

    start: tuple[float, ...]
    """The memory when an episode begins."""
    after: Callable[[Float[Array, " memory"], Float[Array, " m"]], Float[Array, " memory"]]
    """(memory, costs of a step) → memory."""
    act: Callable[[Float[Array, " p"], Float[Array, " view"], Float[Array, " act"]], Float[Array, " act"]]
    """(parameters, view, standard normal noise) → action."""
    shield: Callable[[Float[Array, " p"], Float[Array, " view"], Float[Array, " act"]], Float[Array, " act"]] | None = (
        None
    )
    """(parameters, view, action) → the action that is taken instead. Rollouts keep the one that was drawn."""

    def fresh(self) -> Float[Array, " memory"]:
        return jnp.array(self.start, jnp.float32)

    def both(
        self, theta: Float[Array, " p"], view: Float[Array, " view"], noise: Float[Array, " act"]
    ) -> tuple[Float[Array, " act"], Float[Array, " act"]]:
        """The action that is drawn, and the one that is taken."""
        drawn = self.act(theta, view, noise)
        return drawn, drawn if self.shield is None else self.shield(theta, view, drawn)


@dataclass(frozen=True)
class Cast:
    """An actor, and the seeds that it is trained from: each has a policy and environments of its own."""

    actor: Actor
    seeds: tuple[int, ...]


Bounds = tuple[Float[np.ndarray, " act"], Float[np.ndarray, " act"]]
"""The lowest and the highest action."""


def scaled(
    action: Float[np.ndarray, "*axes act"], low: Float[np.ndarray, " act"], high: Float[np.ndarray, " act"]
) -> Float[np.ndarray, "*axes act"]:
    """What the policy drew, in the environment's units: [-1, 1] becomes [low, high], and what is beyond is clipped.

    Where there are no bounds, the action stays as it was drawn.
    """
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    inside = 0.5 * (low + high) + 0.5 * (high - low) * np.clip(action, -1.0, 1.0)
    return np.where(bounded, inside, action).astype(np.float32)


SCRIPTED = Actor(start=(), after=lambda memory, costs: memory, act=lambda theta, view, noise: noise)
"""Takes its noise for actions, whatever it sees: so episodes are played again from their actions."""

Snapshot = dict[str, AnyArray]
"""Where an engine stands, as named arrays."""

Origin = tuple[int, int]
"""Where to find an episode again: a seed, and the number of the episode among those of the seed."""


class Sized(Protocol):
    """What a learner has to know of an environment before it can build its networks."""

    @property
    def observation_size(self) -> int: ...

    @property
    def action_size(self) -> int: ...

    @property
    def cost_names(self) -> tuple[str, ...]: ...


@runtime_checkable
class Engine(Sized, Protocol):
    """Environments that run side by side, with episodes that go on from one `collect` to the next."""

    @property
    def num_envs(self) -> int: ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person should know about the environment before training on it, a sentence each."""
        ...

    @property
    def action_bounds(self) -> Bounds:
        """The environment's own; what the policy draws is scaled to them."""
        ...

    def begin(self, actor: Actor, seed: int) -> None:
        """Begin a first episode everywhere."""
        ...

    def collect(self, theta: Float[Array, " p"], noise: Float[np.ndarray, "time env act"]) -> Rollout:
        """Go on for as many steps as there is noise for."""
        ...

    def cut(self) -> None:
        """Break all episodes off and begin new ones."""
        ...

    def snapshot(self) -> Snapshot:
        """All that decides how the environments go on, copied."""
        ...

    def restore(self, snapshot: Snapshot) -> None:
        """Go on, bit for bit, as the engine that was copied. After `begin` with the same actor and seed."""
        ...

    def close(self) -> None:
        """Let go of what the environments hold: windows, files, processes."""
        ...


@runtime_checkable
class Shared(Engine, Protocol):
    """An engine in which several policies act at once, each in as many environments of its own, moved together.

    A policy of a cast and one of its seeds are a player; players are counted through all casts. What happens to one
    of them does not depend on the others.
    """

    def begin_together(self, casts: Sequence[Cast]) -> None:
        """Begin a first episode everywhere: a player's environment i has the player's seed + i."""
        ...

    def collect_together(
        self, thetas: Sequence[Float[Array, "seeds p"]], noises: Sequence[Float[AnyArray, "seeds time env act"]]
    ) -> list[Rollout]:
        """Go on for as many steps as there is noise for: for each cast a rollout, with its seeds as the first axis."""
        ...

    def cut_together(self) -> None:
        """Break all episodes off and begin new ones."""
        ...

    def snapshots(self) -> Callable[[int], Snapshot]:
        """Where each player stands now, to be asked for later: as an engine would say it in which it is alone."""
        ...

    def restore_together(self, snapshots: Sequence[Snapshot]) -> None:
        """Go on as the players who were copied."""
        ...


@runtime_checkable
class Repeatable(Engine, Protocol):
    """An engine whose episodes can be played one by one, alone or in any company."""

    def begin_at(self, actor: Actor, origins: Sequence[Origin]) -> None:
        """Play these episodes, as a `Playlist` deals them out. After the last one, some are played again."""
        ...


class Playlist:
    """Which episode of a list each environment plays.

    Environments begin with the first ones. Whichever comes to an end takes the one that is reserved for it, and
    reserves the next, in the order of the environments. So every episode of the list is played to its end, long ones
    and short ones alike, and no environment stands idle before the list is at its end.
    """

    def __init__(self, num_envs: int) -> None:
        self.current: Int[np.ndarray, " env"] = np.arange(num_envs)
        """Places in the list; they go on beyond its end."""
        self.reserved: Int[np.ndarray, " env"] = num_envs + np.arange(num_envs)
        self._next = 2 * num_envs

    def end(self, envs: Int[np.ndarray, " n"]) -> None:
        """These environments, in rising order, have come to the end of their episodes."""
        self.current[envs] = self.reserved[envs]
        self.reserved[envs] = self._next + np.arange(len(envs))
        self._next += len(envs)
