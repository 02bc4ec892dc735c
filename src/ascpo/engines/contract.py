"""The contract of engines: what the learner gives to an engine, and what it gets back.

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
    """The environment's part of a step, in one environment or in many."""

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

    Terminal states and time limits are distinct. The distribution of the policy is not stored, because it is a function
    of its parameters and of `observation`.
    """

    observation: Float[AnyArray, "*axes obs"]
    """The augmented observation: the raw one, then the augmentation, such as running maxima."""
    next_observation: Float[AnyArray, "*axes obs"]
    """The observation after the step, before any reset."""
    action: Float[AnyArray, "*axes act"]
    """The action that the policy drew. A shield may change it, and the environment clips it."""
    reward: Float[AnyArray, "*axes"]
    cost: Float[AnyArray, "*axes m"]
    terminated: Bool[AnyArray, "*axes"]
    truncated: Bool[AnyArray, "*axes"]
    taken: Float[AnyArray, "*axes act"] | None = None
    """The action after the shield. None without a shield."""
    signed_cost: Float[AnyArray, "*axes m"] | None = None
    """The cost where it is positive, and otherwise the margin, a negative number that says how near a cost is. None if
    the environment gives no margins."""
    scene: Scene | None = None
    """The scene of every step's episode. None if no scene is replayed."""

    @property
    def done(self) -> Bool[AnyArray, "*axes"]:
        return operator.or_(self.terminated, self.truncated)

    @property
    def fresh(self) -> Bool[AnyArray, "*axes"] | None:
        """Whether a step is in a fresh scene. None if no scene is replayed."""
        return None if self.scene is None else self.scene.fresh

    @staticmethod
    def of(acted: Acted, result: StepResult, next_observation: Float[AnyArray, "*axes obs"]) -> "Rollout":
        """Join the policy's and the environment's part of a step. A terminal state does not count as a time-out."""
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
    """Which scenes are replayed."""

    def __len__(self) -> int:
        return len(self.seeds)

    def env_seeds(self, num_envs: int) -> list[EnvSeeds]:
        """The seeds of the environments of each run."""
        return [SCHEMES[self.seeding].training(seed, num_envs) for seed in self.seeds]


Bound: TypeAlias = Float[np.ndarray, " act"]
Bounds: TypeAlias = tuple[Bound, Bound]
"""The lowest and the highest action."""

Thetas: TypeAlias = Sequence[Float[AnyArray, "_run _p"]]
"""Parameters of the policies, for each batch."""
Noises: TypeAlias = Sequence[Float[AnyArray, "_run _time _env _act"]]

Snapshot = dict[str, AnyArray]
"""The complete state of the environments of a run, as named arrays."""


@runtime_checkable
class HasSizes(Protocol):
    """The sizes of an environment, from which a learner builds its networks. Observations are raw."""

    @property
    def observation_size(self) -> int: ...
    @property
    def action_size(self) -> int: ...
    @property
    def cost_names(self) -> tuple[str, ...]: ...


@runtime_checkable
class Engine(HasSizes, Protocol):
    """Environments that run in parallel. Episodes continue from one `collect` to the next.

    Runs are numbered through all batches. An engine has
        max_runs         the largest number of runs; None for any number
        notes            warnings about the environment, a sentence each
        action_bounds    the environment's bounds, to which the policy's actions are scaled
        has_margins      whether every step has margins, which say how near its costs are
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
        """Start the first episode of every environment. More runs than `max_runs` raise a ValueError."""

    def collect(self, thetas: Thetas, noises: Noises) -> list[Rollout]:
        """Let the policies act for as many steps as the noise has. Finished episodes are followed by new ones.

        There is an element of parameters, noise and rollouts for each batch, and its first axis is the run.
        """
        ...

    def cut(self) -> None:
        """Cut off all episodes and start new ones."""

    def snapshots(self) -> Callable[[int], Snapshot]:
        """A function from the number of a run to its present snapshot. It does not depend on the other runs."""
        ...

    def restore(self, snapshots: Sequence[Snapshot]) -> None:
        """Continue bit for bit from one snapshot for each run, after `start` with the same runs."""

    def close(self) -> None:
        """Release what the environments hold: windows, files, processes."""


@runtime_checkable
class EpisodePlayer(Engine, Protocol):
    """An engine that plays given episodes. Each is the same alone and together with any others."""

    def start_at(self, actor: Actor, episodes: Sequence[EpisodeId]) -> None:
        """Start one run that plays these episodes in the order of a `Playlist`.

        An environment for which none is left plays anything, or rests. Its steps mean nothing.
        """


@runtime_checkable
class SceneReplayer(Engine, Protocol):
    """An engine that replays scenes, for batches with replay. It starts with empty pools."""

    def offer(self, pools: Sequence[ScenePool | None]) -> None:
        """The scenes that may be replayed from now on, for each batch. None for a batch without replay."""


def check_replay(engine: Engine, batches: Sequence[RunBatch]) -> None:
    """Raise an error if a batch has replay and the engine cannot replay scenes."""
    if any(batch.replay.share for batch in batches) and not isinstance(engine, SceneReplayer):
        raise ValueError(f"{type(engine).__name__} cannot replay scenes. Leave replay.share at 0.")


def only_run(batches: Sequence[RunBatch]) -> RunBatch:
    """The batch of the only run, for an engine that takes one run."""
    if (runs := sum(map(len, batches))) != 1:
        raise ValueError(f"This engine takes one run at a time, not {runs}. Start one run, then the next.")
    return next(batch for batch in batches if len(batch))


def check_snapshots(snapshots: Sequence[Snapshot], runs: int, envs: int) -> None:
    """Raise an error unless there is one snapshot for each run, with the right number of environments."""
    if (count := len(snapshots)) != runs:
        raise ValueError(f"There are {count} snapshots for {runs} runs. Start as many runs as there are snapshots.")
    for found in {len(snapshot["episodes"]) for snapshot in snapshots if "episodes" in snapshot} - {envs}:
        raise ValueError(f"The snapshot has {found} environments, but a run has {envs} here. Use {found}.")


def over_every_limit(limits: Float[AnyArray, " m"], sums: Float[AnyArray, " m"]) -> Float[AnyArray, " m"]:
    """The costs of a step whose episode was lost. They exceed every limit, of a state and of the episode's sum.

    `sums` are the episode's costs before the step. Costs may be negative. So each cost is one more than both the limit
    and the difference between limit and sum, and more than a rounding error beyond them if they are large.
    """
    array = limits.__array_namespace__()
    reach = array.maximum(limits, 0.0) - array.minimum(sums, 0.0)
    return reach + array.maximum(1.0, 1e-5 * reach)


def scaled(action: Float[AnyArray, "*axes act"], low: Bound, high: Bound) -> Float[AnyArray, "*axes act"]:
    """The policy's action in the environment's units: it is clipped to [-1, 1] and scaled to [low, high].

    Without finite bounds, the action stays as it was drawn.
    """
    array = action.__array_namespace__()
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    inside = 0.5 * (low + high) + 0.5 * (high - low) * array.clip(action, -1.0, 1.0)
    return array.where(bounded, inside, action).astype(np.float32)
