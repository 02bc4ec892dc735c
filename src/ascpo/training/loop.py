"""The training loop: collect a rollout, learn from it, report the epoch. For all runs that share an engine."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby

import jax
import numpy as np

from ascpo.engines.contract import Engine, Rollout, RunBatch, SceneReplayer, Snapshot, check_replay
from ascpo.engines.gathering import gather
from ascpo.seeding import LATEST, Version
from ascpo.training.agent import Agent
from ascpo.training.metrics import Row, row_of
from ascpo.training.runs import RunGroup, compiling
from ascpo.training.state import EpochMetrics, LearnerState, TrainingState


@dataclass(frozen=True)
class TrainingRun:
    """A run: an agent and a seed."""

    agent: Agent
    seed: int
    seeding: Version = LATEST
    """The version of the rules by which scenes are drawn."""


@dataclass(frozen=True)
class Epoch:
    """One epoch of one run: its metrics, and the state after it."""

    epochs: int
    """Epochs done so far."""
    row: Row
    """The row of metrics.csv: a function of the settings and the seed."""
    timing: Row
    """The row of timing.csv: seconds. Runs that train together have equal shares."""
    take_state: Callable[[], TrainingState]

    @cached_property
    def state(self) -> TrainingState:
        """The state after the epoch. It is copied from the device on first access."""
        return self.take_state()


def start(engine: Engine, runs: Sequence[TrainingRun], epochs: int = 1) -> list[TrainingState]:
    """Start the engine, and return the states of the runs before a training of so many epochs."""
    learners = [run.agent.init(run.seed, epochs) for run in runs]
    batches = [_run_batch(batch) for batch in _batches(runs)]
    check_replay(engine, batches)
    engine.start(batches)
    snapshot = engine.snapshots()
    return [TrainingState(0, 0.0, learner, snapshot(i)) for i, learner in enumerate(learners)]


def train(engine: Engine, agent: Agent, seed: int, epochs: int) -> Iterator[Epoch]:
    """Train one run for so many epochs from the start. Yields each epoch when it is done."""
    run = [TrainingRun(agent, seed)]
    for (epoch,) in continue_training(engine, run, start(engine, run, epochs), epochs):
        yield epoch


def continue_training(
    engine: Engine, runs: Sequence[TrainingRun], states: Sequence[TrainingState], epochs: int
) -> Iterator[list[Epoch]]:
    """Train until so many epochs are done. Yields the same epoch of all runs together.

    The runs must have done equally many epochs, and the engine must be in the states of the runs.
    """
    learners = iter(state.learner for state in states)
    groups = [RunGroup(batch[0].agent, [next(learners) for _ in batch]) for batch in _batches(runs)]
    costs = [state.cost for state in states]
    settings, names = runs[0].agent.settings, engine.cost_names
    with compiling(groups) as wait_for_programs:
        for epoch in range(states[0].epochs, epochs):
            watch = _Stopwatch()
            rollouts = _collect(engine, groups)
            wait_for_programs()
            watch.lap("TimeRollout")
            metrics: list[EpochMetrics] = []
            for group, rollout in zip(groups, rollouts, strict=True):
                metrics += group.learn(rollout, watch.lap)
            if not settings.carry:
                engine.cut()
                for group in groups:
                    group.cut()
            costs = [cost + float(each.total_cost) for cost, each in zip(costs, metrics, strict=True)]
            steps = settings.horizon * settings.num_envs
            rows = [_row(epoch, each, cost, steps, names) for each, cost in zip(metrics, costs, strict=True)]
            learners_now, snapshot = [group.state(i) for group in groups for i in range(len(group))], engine.snapshots()
            watch.lap("TimeOther")
            timing = watch.shared(epoch, len(runs), steps)
            yield [
                Epoch(epoch + 1, rows[i], timing, partial(_state, epoch + 1, costs[i], learner, partial(snapshot, i)))
                for i, learner in enumerate(learners_now)
            ]


def _batches(runs: Sequence[TrainingRun]) -> list[list[TrainingRun]]:
    """Groups of consecutive runs with the same agent and the same version of the seeding."""
    return [list(batch) for _, batch in groupby(runs, key=lambda run: (run.agent, run.seeding))]


def _run_batch(runs: Sequence[TrainingRun]) -> RunBatch:
    agent = runs[0].agent
    return RunBatch(agent.actor, tuple(run.seed for run in runs), runs[0].seeding, agent.settings.replay)


def _collect(engine: Engine, groups: Sequence[RunGroup]) -> list[Rollout]:
    scenes = [group.scenes() for group in groups]
    if any(each is not None for each in scenes) and isinstance(engine, SceneReplayer):
        engine.offer(scenes)
    thetas, noises = zip(*(gather(group.act()) for group in groups), strict=True)
    return jax.block_until_ready(engine.collect(thetas, noises))


def _state(
    epochs: int, cost: float, learner: Callable[[], LearnerState], engine: Callable[[], Snapshot]
) -> TrainingState:
    return TrainingState(epochs, cost, learner(), engine())


def _row(epoch: int, metrics: EpochMetrics, cost: float, steps: int, names: tuple[str, ...]) -> Row:
    row: Row = {"Epoch": epoch, "TotalEnvInteracts": (epoch + 1) * steps}
    row |= row_of(metrics, names)
    row |= {
        "WorstCost": float(metrics.worst_cost),
        "CostRate": cost / ((epoch + 1) * steps),
        "EpochCostRate": float(metrics.total_cost) / steps,
    }
    row |= {name: float(value) for name, value in metrics.extras.items()}
    _check(row, bool(metrics.finite) and all(np.isfinite(loss).all() for loss in metrics.losses.values()))
    return row


class TrainingDiverged(RuntimeError):
    """A training whose numbers are no longer finite."""


def _check(row: Row, finite: bool) -> None:
    """Raise an error in the epoch in which NaN first appears. `finite` is about the policy and the losses of critics.

    A reward that is NaN reaches the mean return only if its episode ends in this epoch, but the critic at once.
    """
    if not np.isfinite(row["EpRet"]) or not finite:
        raise TrainingDiverged(
            f"Epoch {row['Epoch']} made numbers that are not finite (EpRet {row['EpRet']}, LossV {row['LossV']}). The "
            f"environment gave such rewards or observations, or the settings are extreme: lower the trust region's "
            f"delta."
        )


class _Stopwatch:
    """Times the parts of an epoch."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._last = clock()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = self._clock()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now

    def shared(self, epoch: int, runs: int, steps: int) -> Row:
        """The row of timing.csv, with an equal share for each run."""
        parts = {name: seconds / runs for name, seconds in self.laps.items()}
        return {"Epoch": epoch, **parts, "StepsPerSecond": steps / sum(parts.values())}
