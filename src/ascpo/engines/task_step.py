"""A policy in one environment of a task, as pure functions, which the native and the mjx engine batch.

The task's memory is passed as one row of numbers.
"""

import functools
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ascpo.engines.actor import Acted, Actor, Noise, Remembered, Theta, act, augment, remember
from ascpo.engines.packed import Packed
from ascpo.guard.layout import AnyArray, Layout
from ascpo.guard.task import Memory, Outcome, Task

Row: TypeAlias = Float[Array, " packed"]
"""A task's memory."""


@functools.cache
def packed_memory(task: Task) -> Packed[Memory]:
    """The layout of a task's memory in a row of numbers."""
    zeros = functools.partial(np.zeros, dtype=np.float32)
    layout = Layout(zeros(2), zeros(()), zeros(3), zeros((task.suite.count, 3)))
    return Packed.like(Memory(layout, zeros(()), np.zeros((), np.int32), zeros(task.observer.size)))


class Beginnings(NamedTuple):
    """Episodes before their first step."""

    rows: Float[AnyArray, "*axes packed"]
    pillars: Float[AnyArray, "*axes pillars 3"]
    """The positions of the pillars in the simulator."""


def begin_episodes(task: Task, layouts: Layout) -> Beginnings:
    """The episodes that start in many layouts."""
    pack = packed_memory(task).pack
    return jax.vmap(lambda layout: Beginnings(pack(task.begin(layout)), task.pillars_from_start(layout)))(layouts)


class Settled(NamedTuple):
    """The result of a step."""

    row: Float[Array, "*axes packed"]
    """The task's memory. After the end of an episode it is that of the next one."""
    augmentation: Float[Array, "*axes augmentation"]
    """The policy's augmentation, reset if the episode has ended."""
    outcome: Outcome
    """The outcome, with an augmented observation."""


@dataclass(frozen=True)
class TaskStep:
    """The two halves of a step: the policy acts before the physics, and the task computes the outcome after it."""

    task: Task
    actor: Actor

    def act(self, theta: Theta, row: Row, augmentation: Remembered, noise: Noise) -> Acted:
        return act(self.actor, theta, packed_memory(self.task).unpack(row).observation, augmentation, noise)

    def settle(
        self, row: Row, augmentation: Remembered, sensors: Float[Array, " sensors"], next_episode: Row
    ) -> Settled:
        """The half after the physics. `next_episode` is the row of the next episode, in case this one has ended."""
        row, outcome = settle_task(self.task, row, sensors, next_episode)
        return Settled(row, *settle_policy(self.actor, augmentation, outcome))


def settle_task(task: Task, row: Row, sensors: Float[Array, " sensors"], next_episode: Row) -> tuple[Row, Outcome]:
    """The task's memory after a step, and the outcome with the raw observation. It does not depend on the policy."""
    packed = packed_memory(task)
    memory, outcome = task.advance(packed.unpack(row), sensors)
    return jnp.where(outcome.done, next_episode, packed.pack(memory)), outcome


def settle_policy(actor: Actor, augmentation: Remembered, outcome: Outcome) -> tuple[Remembered, Outcome]:
    """The policy's augmentation after a step, and the outcome with the augmented observation."""
    after, augmentation = remember(actor, augmentation, outcome.costs, outcome.margins, outcome.done)
    return augmentation, replace(outcome, observation=augment(outcome.observation, after))
