"""Compiled programs of a policy that acts in many environments of a task."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from ascpo.engines.actor import Acted, Actor, Noise, Remembered, Theta
from ascpo.engines.contract import Rollout
from ascpo.engines.packed import Packed
from ascpo.engines.task_step import Row, TaskStep, begin_episodes
from ascpo.guard.task import Outcome, Task

begin = jax.jit(begin_episodes, static_argnums=0)
"""(task, layouts) → episodes that start in them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PolicyStep:
    """The outcome of a step, and the policy's next observation and action."""

    ahead: Acted
    """Before the next step, which is in a new episode if one has just ended."""
    outcome: Outcome
    """The outcome in the episode of the step, with an augmented observation."""


@dataclass(frozen=True)
class PolicyPrograms:
    """The compiled programs. Their results are packed `PolicyStep`s."""

    record: Packed[PolicyStep]
    first: Callable[..., Float[Array, "env results"]]
    """(parameters, rows, augmentations, noise) → results, of which only `ahead` is valid."""
    advance: Callable[..., tuple[Float[Array, "env packed"], Float[Array, "env _"], Float[Array, "env results"]]]
    """(parameters, rows, augmentations, sensors, upcoming, position, noise) → (rows, augmentations, results)."""

    @functools.cached_property
    def executed(self) -> int | slice:
        """The position of the next action in the results."""
        return self.record.at.get("ahead.taken", self.record.at["ahead.action"])

    def rollout(self, results: Float[np.ndarray, "run moment env results"]) -> Rollout:
        """The rollout from the results of `first` and the following `advance`s. Arrays are views, except booleans."""
        before, outcome = self.record.unpack(results[:, :-1]).ahead, self.record.unpack(results[:, 1:]).outcome
        return Rollout.of(before, outcome, outcome.observation)


@functools.lru_cache(maxsize=32)
def policy_programs(task: Task, actor: Actor) -> PolicyPrograms:
    zeros, false = functools.partial(np.zeros, dtype=np.float32), np.zeros((), bool)
    obs, act, step = task.observer.size + len(actor.initial()), task.suite.robot.actions, TaskStep(task, actor)
    ahead = Acted(zeros(obs), zeros(act), zeros(act) if actor.shielded else None)
    each = zeros(len(task.suite.obstacles))
    outcome = Outcome(zeros(obs), zeros(()), each, each, false, false, false, false)
    blank = PolicyStep(ahead, outcome)
    record = Packed.like(blank)

    def first(theta: Theta, row: Row, augmentation: Remembered, noise: Noise) -> Float[Array, " results"]:
        return record.pack(replace(blank, ahead=step.act(theta, row, augmentation, noise)))

    def advance(
        theta: Theta,
        row: Row,
        augmentation: Remembered,
        sensors: Float[Array, " sensors"],
        upcoming: Float[Array, "block packed"],
        position: Int[Array, ""],
        noise: Noise,
    ) -> tuple[Row, Remembered, Float[Array, " results"]]:
        now = step.settle(row, augmentation, sensors, upcoming[position])
        ahead = step.act(theta, now.row, now.augmentation, noise)
        return now.row, now.augmentation, record.pack(PolicyStep(ahead, now.outcome))

    return PolicyPrograms(
        record=record,
        first=jax.jit(jax.vmap(first, in_axes=(None, 0, 0, 0))),
        advance=jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, 0, 0, 0, 0)), donate_argnums=(1, 2)),
    )
