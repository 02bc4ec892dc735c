"""A task as compiled programs of many environments: without a policy, and with one that acts."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.actor import Acted, Actor
from ascpo.engines.contract import Rollout
from ascpo.engines.packed import Packed
from ascpo.engines.task_step import TaskStep, packed_memory
from ascpo.guard.layout import AnyArray, Layout
from ascpo.guard.task import Memory, Outcome, Task

_zeros = functools.partial(np.zeros, dtype=np.float32)
_false = np.zeros((), bool)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Stepped:
    """What a step did, for a caller who chooses the actions."""

    observation: Float[AnyArray, "*axes obs"]
    """To act on next: of the new episode where one has just ended."""
    outcome: Outcome
    """Its observation is of the episode that was stepped."""


@dataclass(frozen=True)
class TaskPrograms:
    """The compiled programs of a task, on packed memories. All engines of the task share them."""

    memory: Packed[Memory]
    stepped: Packed[Stepped]
    begin: Callable[[Layout], tuple[Float[Array, "env packed"], Float[Array, "env pillars 3"]]]
    """The memories of episodes that begin in these layouts, and where the simulator puts the pillars."""
    begin_next: Callable[..., Float[Array, "env packed"]]
    """(rows, which, upcoming, position) → rows: the next episodes have begun in the environments named."""
    advance: Callable[..., tuple[Float[Array, "env packed"], Float[Array, "env results"]]]
    """(rows, sensors, upcoming, position) → (rows, results), which `stepped` unpacks."""
    unpack: Callable[[Float[Array, "env packed"]], Memory]


@functools.cache
def task_programs(task: Task) -> TaskPrograms:
    obs, m, memory = task.observer.size, len(task.suite.obstacles), packed_memory(task)
    outcome = Outcome(_zeros(obs), _zeros(()), _zeros(m), _false, _false, _false, _false)
    stepped = Packed.like(Stepped(_zeros(obs), outcome))

    def begin(layout: Layout) -> tuple[Float[Array, " packed"], Float[Array, "pillars 3"]]:
        return memory.pack(task.begin(layout)), task.pillars_from_start(layout)

    def begin_next(
        row: Float[Array, " packed"],
        which: Bool[Array, ""],
        upcoming: Float[Array, "block packed"],
        position: Int[Array, ""],
    ) -> Float[Array, " packed"]:
        return jnp.where(which, upcoming[position], row)

    def advance(
        row: Float[Array, " packed"],
        sensors: Float[Array, " sensors"],
        upcoming: Float[Array, "block packed"],
        position: Int[Array, ""],
    ) -> tuple[Float[Array, " packed"], Float[Array, " results"]]:
        after, outcome = task.advance(memory.unpack(row), sensors)
        row = begin_next(memory.pack(after), outcome.done, upcoming, position)
        return row, stepped.pack(Stepped(memory.unpack(row).observation, outcome))

    def batched(program: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        return jax.jit(jax.vmap(program), **options)

    return TaskPrograms(
        memory=memory,
        stepped=stepped,
        begin=batched(begin),
        begin_next=batched(begin_next),
        advance=batched(advance, donate_argnums=0),
        unpack=batched(memory.unpack),
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PolicyStep:
    """What a step did, and what the policy observes and does next."""

    ahead: Acted
    """Before the next step: in the new episode where one has just ended."""
    observation: Float[AnyArray, "*axes obs"]
    """The augmented observation after the step, before any reset."""
    reward: Float[AnyArray, "*axes"]
    costs: Float[AnyArray, "*axes m"]
    terminated: Bool[AnyArray, "*axes"]
    truncated: Bool[AnyArray, "*axes"]
    diverged: Bool[AnyArray, "*axes"]


@dataclass(frozen=True)
class PolicyPrograms:
    """The compiled programs of a task in which a policy acts. Their results are packed `PolicyStep`s."""

    record: Packed[PolicyStep]
    first: Callable[..., Float[Array, "env results"]]
    """(parameters, rows, augmentations, noise) → results, of which only `ahead` has a meaning."""
    advance: Callable[..., tuple[Float[Array, "env packed"], Float[Array, "env _"], Float[Array, "env results"]]]
    """(parameters, rows, augmentations, sensors, upcoming, position, noise) → (rows, augmentations, results)."""

    @functools.cached_property
    def executed(self) -> int | slice:
        """Where the results hold the action that is to be taken next."""
        return self.record.at.get("ahead.taken", self.record.at["ahead.action"])

    def rollout(self, results: Float[np.ndarray, "run moment env results"]) -> Rollout:
        """From the results of `first` and of every `advance` after it: views of them, except for the truth values."""
        before, after = self.record.unpack(results[:, :-1]).ahead, self.record.unpack(results[:, 1:])
        return Rollout(
            observation=before.observation,
            next_observation=after.observation,
            action=before.action,
            reward=after.reward,
            cost=after.costs,
            terminated=after.terminated,
            truncated=after.truncated & ~after.terminated,
            taken=before.taken,
        )


@functools.lru_cache(maxsize=8)
def policy_programs(task: Task, actor: Actor) -> PolicyPrograms:
    obs = task.observer.size + len(actor.initial())
    act, m, step = task.suite.robot.actions, len(task.suite.obstacles), TaskStep(task, actor)
    ahead = Acted(_zeros(obs), _zeros(act), _zeros(act) if actor.shielded else None)
    blank = PolicyStep(ahead, _zeros(obs), _zeros(()), _zeros(m), _false, _false, _false)
    record = Packed.like(blank)

    def first(
        theta: Float[Array, " p"],
        row: Float[Array, " packed"],
        augmentation: Float[Array, " augmentation"],
        noise: Float[Array, " act"],
    ) -> Float[Array, " results"]:
        return record.pack(replace(blank, ahead=step.act(theta, row, augmentation, noise)))

    def advance(
        theta: Float[Array, " p"],
        row: Float[Array, " packed"],
        augmentation: Float[Array, " augmentation"],
        sensors: Float[Array, " sensors"],
        upcoming: Float[Array, "block packed"],
        position: Int[Array, ""],
        noise: Float[Array, " act"],
    ) -> tuple[Float[Array, " packed"], Float[Array, " augmentation"], Float[Array, " results"]]:
        now = step.settle(row, augmentation, sensors, upcoming[position])
        ahead, did = step.act(theta, now.row, now.augmentation, noise), now.outcome
        results = PolicyStep(
            ahead, now.next_observation, did.reward, did.costs, did.terminated, did.truncated, did.diverged
        )
        return now.row, now.augmentation, record.pack(results)

    return PolicyPrograms(
        record=record,
        first=jax.jit(jax.vmap(first, in_axes=(None, 0, 0, 0))),
        advance=jax.jit(jax.vmap(advance, in_axes=(None, 0, 0, 0, 0, 0, 0)), donate_argnums=(1, 2)),
    )
