"""A policy in one environment of a task, as pure functions. The native and the mjx engine batch them, each in its way.

The task's memory travels as one row of numbers.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ascpo.engines.actor import Acted, Actor, act, augment, remember
from ascpo.engines.packed import Packed
from ascpo.guard.layout import Layout
from ascpo.guard.task import Memory, Outcome, Task


@functools.cache
def packed_memory(task: Task) -> Packed[Memory]:
    """How a task's memory is packed."""
    zeros = functools.partial(np.zeros, dtype=np.float32)
    layout = Layout(zeros(2), zeros(()), zeros(3), zeros((task.suite.count, 3)))
    return Packed.like(Memory(layout, zeros(()), np.zeros((), np.int32), zeros(task.observer.size)))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Settled:
    """What a step did."""

    row: Float[Array, "*axes packed"]
    """The task's memory, with the next episode begun where one has ended."""
    augmentation: Float[Array, "*axes augmentation"]
    """The same of the policy."""
    next_observation: Float[Array, "*axes obs"]
    """The augmented observation after the step, before any reset."""
    outcome: Outcome


@dataclass(frozen=True)
class TaskStep:
    """The two halves of a step: a policy acts before the physics, and the task settles what they did."""

    task: Task
    actor: Actor

    def act(
        self,
        theta: Float[Array, " p"],
        row: Float[Array, " packed"],
        augmentation: Float[Array, " augmentation"],
        noise: Float[Array, " act"],
    ) -> Acted:
        return act(self.actor, theta, packed_memory(self.task).unpack(row).observation, augmentation, noise)

    def settle(
        self,
        row: Float[Array, " packed"],
        augmentation: Float[Array, " augmentation"],
        sensors: Float[Array, " sensors"],
        next_episode: Float[Array, " packed"],
    ) -> Settled:
        """After the physics. `next_episode` is the row of the episode that begins if this one has ended."""
        packed = packed_memory(self.task)
        memory, outcome = self.task.advance(packed.unpack(row), sensors)
        after, augmentation = remember(self.actor, augmentation, outcome.costs, outcome.done)
        return Settled(
            row=jnp.where(outcome.done, next_episode, packed.pack(memory)),
            augmentation=augmentation,
            next_observation=augment(outcome.observation, after),
            outcome=outcome,
        )
