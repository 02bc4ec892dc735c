"""A task as compiled programs of many environments: what a step does, and how a policy acts in it.

Everything of an environment lies side by side in one row: a call with few arrays costs less than one with many.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.rollout import Actor, Rollout
from ascpo.guard.layout import Layout
from ascpo.guard.task import Memory, Outcome, Task


@dataclass(frozen=True)
class Reader:
    """Where things are in the results of a step: next observation, last observation, four flags, reward, costs."""

    obs: int
    m: int

    def observation(self, results: Float[np.ndarray, "env results"]) -> Float[np.ndarray, "env obs"]:
        return results[:, : self.obs]

    def any_ended(self, results: Float[np.ndarray, "env results"]) -> bool:
        return bool(self._flags(results).any())

    def outcome(self, results: Float[np.ndarray, "env results"]) -> Outcome:
        terminated, truncated, goal_met, diverged = self._flags(results).T > 0
        last, reward, costs = results[:, self.obs : 2 * self.obs], results[:, -self.m - 1], results[:, -self.m :]
        return Outcome(last, reward, costs, terminated, truncated, goal_met, diverged)

    def _flags(self, results: Float[np.ndarray, "env results"]) -> Float[np.ndarray, "env 4"]:
        return results[:, 2 * self.obs : 2 * self.obs + 4]


@dataclass(frozen=True)
class Programs:
    """The compiled programs of a task, on packed memories. All engines of the task share them."""

    width: int
    begin: Callable[[Layout], tuple[Float[Array, "env packed"], Float[Array, "env pillars 3"]]]
    advance: Callable[..., tuple[Float[Array, "env packed"], Float[Array, "env results"]]]
    renew: Callable[..., Float[Array, "env packed"]]
    unpack: Callable[[Float[Array, "env packed"]], Memory]
    read: Reader


@dataclass(frozen=True)
class Row:
    """A task's memory as one row of numbers."""

    width: int
    unpack: Callable[[Float[Array, " packed"]], Memory]

    def pack(self, memory: Memory) -> Float[Array, " packed"]:
        return ravel_pytree(memory)[0]


@functools.cache
def row_of(task: Task) -> Row:
    """How a task's memory is packed."""
    blank = Layout(jnp.zeros(2), jnp.zeros(()), jnp.zeros(3), jnp.zeros((task.suite.count, 3)))
    observation = jnp.zeros(task.observer.size)
    example, unpack = ravel_pytree(Memory(blank, jnp.zeros(()), jnp.zeros((), jnp.int32), observation))
    return Row(example.size, unpack)


def _side_by_side(
    seen: list[Float[Array, " _"]], last: Float[Array, " last"], outcome: Outcome
) -> Float[Array, " results"]:
    """What follows a step, what it ended with, four flags, reward, costs."""
    flags = jnp.stack([outcome.terminated, outcome.truncated, outcome.goal_met, outcome.diverged])
    results = [*seen, last, flags, outcome.reward[None], outcome.costs]
    return jnp.concatenate([jnp.asarray(result, jnp.float32) for result in results])


@functools.cache
def programs_of(task: Task) -> Programs:
    m, obs, task_row = len(task.suite.obstacles), task.observer.size, row_of(task)
    pack, unpack = task_row.pack, task_row.unpack

    def begin(layout: Layout) -> tuple[Float[Array, " packed"], Float[Array, "pillars 3"]]:
        return pack(task.begin(layout)), task.pillars_from_start(layout)

    def renew(
        row: Float[Array, " packed"], which: Bool[Array, ""], ahead: Float[Array, "block packed"], used: Int[Array, ""]
    ) -> Float[Array, " packed"]:
        return jnp.where(which, ahead[used], row)

    def advance(
        row: Float[Array, " packed"],
        sensors: Float[Array, " sensors"],
        ahead: Float[Array, "block packed"],
        used: Int[Array, ""],
    ) -> tuple[Float[Array, " packed"], Float[Array, " results"]]:
        memory, outcome = task.advance(unpack(row), sensors)
        row = renew(pack(memory), outcome.done, ahead, used)
        return row, _side_by_side([unpack(row).observation], outcome.observation, outcome)

    def batched(program: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        return jax.jit(jax.vmap(program), **options)

    return Programs(
        width=task_row.width,
        begin=batched(begin),
        advance=batched(advance, donate_argnums=0),
        renew=batched(renew),
        unpack=batched(unpack),
        read=Reader(obs, m),
    )


@dataclass(frozen=True)
class Acting:
    """The compiled programs of a task in which a policy acts.

    A step's results lie side by side: the next view, the next action, the same as the shield leaves it if there is one,
    the last view, four flags, reward, costs.
    """

    view: int
    act: int
    m: int
    shielded: bool
    first: Callable[..., Float[Array, "env results"]]
    advance: Callable[..., tuple[Float[Array, "env packed"], Float[Array, "env memory"], Float[Array, "env results"]]]

    @property
    def width(self) -> int:
        return self.seen + self.view + 4 + 1 + self.m

    @property
    def seen(self) -> int:
        """The width of what is seen and done next."""
        return self.view + self.act * (2 if self.shielded else 1)

    @property
    def action(self) -> slice:
        return slice(self.view, self.view + self.act)

    @property
    def taken(self) -> slice:
        return slice(self.seen - self.act, self.seen)

    @property
    def flags(self) -> slice:
        start = self.seen + self.view
        return slice(start, start + 4)

    def rollout(self, first: Float[np.ndarray, "env seen"], steps: Float[np.ndarray, "time env results"]) -> Rollout:
        """Views and actions belong to the step that follows them."""
        seen = np.concatenate([first[None], steps[:-1, :, : self.seen]])
        flags = steps[..., self.flags] > 0
        terminated = flags[..., 0]
        return jax.tree.map(
            jnp.asarray,
            Rollout(
                view=seen[..., : self.view],
                next_view=steps[..., self.seen : self.seen + self.view],
                action=seen[..., self.action],
                reward=steps[..., -self.m - 1],
                cost=steps[..., -self.m :],
                terminated=terminated,
                truncated=flags[..., 1] & ~terminated,
                taken=seen[..., self.taken] if self.shielded else None,
            ),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Seen:
    """What a policy saw before a step, and did."""

    view: Float[Array, "*axes view"]
    action: Float[Array, "*axes act"]
    taken: Float[Array, "*axes act"]
    """The action as the shield left it."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Settled:
    """What a step did."""

    row: Float[Array, "*axes packed"]
    """With the next episode begun where one has ended."""
    memory: Float[Array, "*axes memory"]
    last: Float[Array, "*axes view"]
    """The view after the step, before any reset."""
    outcome: Outcome


@dataclass(frozen=True)
class Scenes:
    """A policy in one environment of a task, as pure functions. Engines batch them, each in its way."""

    task: Task
    actor: Actor

    def see(
        self,
        theta: Float[Array, " p"],
        row: Float[Array, " packed"],
        memory: Float[Array, " memory"],
        noise: Float[Array, " act"],
    ) -> Seen:
        view = jnp.concatenate([row_of(self.task).unpack(row).observation, memory])
        return Seen(view, *self.actor.both(theta, view, noise))

    def settle(
        self,
        row: Float[Array, " packed"],
        memory: Float[Array, " memory"],
        sensors: Float[Array, " sensors"],
        following: Float[Array, " packed"],
    ) -> Settled:
        """After the physics: `following` is the episode that begins if this one has ended."""
        task_row = row_of(self.task)
        after, outcome = self.task.advance(task_row.unpack(row), sensors)
        remembered = self.actor.after(memory, outcome.costs)
        return Settled(
            row=jnp.where(outcome.done, following, task_row.pack(after)),
            memory=jnp.where(outcome.done, self.actor.fresh(), remembered),
            last=jnp.concatenate([outcome.observation, remembered]),
            outcome=outcome,
        )


@functools.lru_cache(maxsize=8)
def acting_of(task: Task, actor: Actor) -> Acting:
    obs, m = task.observer.size, len(task.suite.obstacles)
    memories, act = len(actor.start), task.suite.robot.actions
    scenes = Scenes(task, actor)

    def see(theta: Any, row: Any, memory: Any, noise: Any) -> list[Float[Array, " n"]]:
        seen = scenes.see(theta, row, memory, noise)
        return [seen.view, seen.action] if actor.shield is None else [seen.view, seen.action, seen.taken]

    def first(theta: Any, row: Any, memory: Any, noise: Any) -> Float[Array, " seen"]:
        return jnp.concatenate(see(theta, row, memory, noise))

    def advance(
        theta: Float[Array, " p"],
        row: Float[Array, " packed"],
        memory: Float[Array, " memory"],
        sensors: Float[Array, " sensors"],
        ahead: Float[Array, "block packed"],
        used: Int[Array, ""],
        noise: Float[Array, " act"],
    ) -> tuple[Float[Array, " packed"], Float[Array, " memory"], Float[Array, " results"]]:
        now = scenes.settle(row, memory, sensors, ahead[used])
        seen = see(theta, now.row, now.memory, noise)
        return now.row, now.memory, _side_by_side(seen, now.last, now.outcome)

    return Acting(
        view=obs + memories,
        act=act,
        m=m,
        shielded=actor.shield is not None,
        first=jax.jit(jax.vmap(first, in_axes=(None, 0, 0, 0))),
        advance=jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, 0, 0, 0, 0)), donate_argnums=(1, 2)),
    )
