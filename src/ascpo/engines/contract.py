"""What every engine gives to the learner, and what the learner gives to an engine.

An engine steps many environments for a number of steps while policies act, and returns a `Rollout`. It serves several
training runs at once: each has a policy and environments of its own, and its numbers do not depend on the other runs.
Runs that share an `Actor` form a `RunBatch`.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import jax
import numpy as np
from jaxtyping import Bool, Float

from ascpo.engines.actor import Acted, Actor, signed_cost
from ascpo.engines.replay import Scene, ScenePool
from ascpo.engines.settings import NO_REPLAY, ReplaySettings
from ascpo.guard.layout import AnyArray
from ascpo.seeding import LATEST, SCHEMES, EnvSeeds, EpisodeId, Version


@runtime_checkable
class StepResult(Protocol):
    """What an engine knows of a step after it, in one environment or in many."""

    @property
    def reward(self) -> Float[AnyArray, "*axes"]: ...
    @property
    def costs(self) -> Float[AnyArray, "*axes m"]: ...
    @property
    def margins(self) -> Float[AnyArray, "*axes m"] | None: ...
    @property
    def terminated(self) -> Bool[AnyArray, "*axes"]: ...
    @property
    def truncated(self) -> Bool[AnyArray, "*axes"]: ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rollout:
    """Steps of environments. The axes are time and environment, or run, time and environment.

    A terminal state and a time limit are kept apart. The acting policy's distribution is not stored: it is a function
    of its parameters and of `observation`.
    """

    observation: Float[AnyArray, "*axes obs"]
    """What the policy observed: the raw observation, then its augmentation (the running maxima, say)."""
    next_observation: Float[AnyArray, "*axes obs"]
    """After the step, and before any reset."""
    action: Float[AnyArray, "*axes act"]
    """As the policy drew it. A shield may change it, and the environment clips it."""
    reward: Float[AnyArray, "*axes"]
    cost: Float[AnyArray, "*axes m"]
    terminated: Bool[AnyArray, "*axes"]
    truncated: Bool[AnyArray, "*axes"]
    taken: Float[AnyArray, "*axes act"] | None = None
    """The action that was taken. None without a shield."""
    signed_cost: Float[AnyArray, "*axes m"] | None = None
    """The cost where there is one, and otherwise the margin: how near a cost is, as a number below zero. None where the
    environment gives no margins."""
    scene: Scene | None = None
    """Of every step's episode. None where all scenes are fresh."""

    @property
    def done(self) -> Bool[AnyArray, "*axes"]:
        return operator.or_(self.terminated, self.truncated)

    @property
    def fresh(self) -> Bool[AnyArray, "*axes"] | None:
        """Whether a step's scene is fresh. None where all are."""
        return None if self.scene is None else self.scene.fresh

    @staticmethod
    def of(acted: Acted, result: StepResult, next_observation: Float[AnyArray, "*axes obs"]) -> "Rollout":
        """From the policy's part of a step, or of many, and the environment's. A terminal state is no time limit."""
        return Rollout(
            observation=acted.observation,
            next_observation=next_observation,
            action=acted.action,
            reward=result.reward,
            cost=result.costs,
            terminated=result.terminated,
            truncated=result.truncated & ~result.terminated,
            taken=acted.taken,
            signed_cost=None if result.margins is None else signed_cost(result.costs, result.margins),
        )


@dataclass(frozen=True)
class RunBatch:
    """Training runs that share an actor. Each has a seed, parameters and environments of its own."""

    actor: Actor
    seeds: tuple[int, ...]
    seeding: Version = LATEST
    """The version of the rules by which scenes are drawn."""
    replay: ReplaySettings = NO_REPLAY
    """Which scenes are played again."""

    def __len__(self) -> int:
        return len(self.seeds)

    def env_seeds(self, num_envs: int) -> list[EnvSeeds]:
        """By run, the seeds of its environments."""
        return [SCHEMES[self.seeding].training(seed, num_envs) for seed in self.seeds]


Bound: TypeAlias = Float[np.ndarray, " act"]
Bounds: TypeAlias = tuple[Bound, Bound]
"""The lowest and the highest action."""

Thetas: TypeAlias = Sequence[Float[AnyArray, "_run _p"]]
"""Parameters of policies, by batch."""
Noises: TypeAlias = Sequence[Float[AnyArray, "_run _time _env _act"]]

Snapshot = dict[str, AnyArray]
"""All that decides how the environments of a run go on, as named arrays."""


@runtime_checkable
class HasSizes(Protocol):
    """What a learner has to know of an environment before it can build its networks. Observations are raw."""

    @property
    def observation_size(self) -> int: ...
    @property
    def action_size(self) -> int: ...
    @property
    def cost_names(self) -> tuple[str, ...]: ...


@runtime_checkable
class Engine(HasSizes, Protocol):
    """Environments that run side by side, with episodes that go on from one `collect` to the next.

    Runs are counted through all batches. An engine has
        max_runs         how many runs it takes; None: any number
        notes            what a person should know about the environment before training on it, a sentence each
        action_bounds    the environment's own; what the policy draws is scaled to them
        has_margins      whether every step says how near its costs are
    """

    @property
    def envs_per_run(self) -> int: ...
    @property
    def max_runs(self) -> int | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def action_bounds(self) -> Bounds: ...
    @property
    def has_margins(self) -> bool: ...

    def start(self, batches: Sequence[RunBatch]) -> None:
        """Begin the first episode everywhere. A ValueError says what to do about more runs than `max_runs`."""

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        """Let the policies act for as many steps as there is noise for. Episodes that end begin anew.

        Parameters, noise and rollouts are by batch, and have its runs as their first axis.
        """
        ...

    def cut(self) -> None:
        """Break all episodes off and begin new ones."""

    def snapshots(self) -> Callable[[int], Snapshot]:
        """Where each run stands now, to be asked for later by its number. In company and alone it is the same."""
        ...

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        """Go on, bit for bit, as the runs that were copied: one snapshot for each run, after `start` with the same."""

    def close(self) -> None:
        """Let go of what the environments hold: windows, files, processes."""


@runtime_checkable
class EpisodePlayer(Engine, Protocol):
    """An engine whose episodes can be played one by one, alone or side by side with any others."""

    def start_at(self, actor: Actor, episodes: Sequence[EpisodeId]) -> None:
        """Start one run that plays these episodes, as a `Playlist` deals them out. After the last, some play again."""


@runtime_checkable
class SceneReplayer(Engine, Protocol):
    """An engine that plays scenes again, for runs whose batch asks for it. It begins with vacant pools."""

    def offer(self, pools: Sequence[ScenePool | None]) -> None:
        """The scenes that may be played again from now on, by batch; None for a batch that plays fresh ones alone."""


def check_replay(engine: Engine, batches: Sequence[RunBatch]) -> None:
    """Refuse to play scenes again with an engine that cannot do it."""
    if any(batch.replay.share for batch in batches) and not isinstance(engine, SceneReplayer):
        raise ValueError(f"{type(engine).__name__} cannot play a scene again. Leave replay.share at 0.")


def only_run(batches: Sequence[RunBatch]) -> RunBatch:
    """The batch of the only run, for an engine that takes one."""
    if (runs := sum(map(len, batches))) != 1:
        raise ValueError(f"This engine takes one run at a time, not {runs}. Start one run, then the next.")
    return next(batch for batch in batches if len(batch))


def check_snapshots(snapshots: Sequence[Snapshot], runs: int, envs: int) -> None:
    """There must be one for each run, of as many environments as each run has."""
    if (count := len(snapshots)) != runs:
        raise ValueError(f"{count} snapshots are not one for each of {runs} runs. Start the runs that were copied.")
    for found in {len(snapshot["episodes"]) for snapshot in snapshots if "episodes" in snapshot} - {envs}:
        raise ValueError(f"The snapshot is of {found} environments, and a run has {envs} here. Ask for {found}.")


def scaled(action: Float[AnyArray, "*axes act"], low: Bound, high: Bound) -> Float[AnyArray, "*axes act"]:
    """The policy's action in the environment's units: [-1, 1] becomes [low, high], and what is beyond is clipped.

    Where there are no bounds, the action stays as it was drawn.
    """
    array = action.__array_namespace__()
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    inside = 0.5 * (low + high) + 0.5 * (high - low) * array.clip(action, -1.0, 1.0)
    return array.where(bounded, inside, action).astype(np.float32)
