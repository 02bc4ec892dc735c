"""The loop: collect, judge, improve, teach, write down. For one training, or for several that share an engine."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from ascpo.algorithms import Algorithm
from ascpo.engines.gathering import here
from ascpo.engines.rollout import Cast, Engine, Shared, Snapshot
from ascpo.training.journal import News, Row, row_of
from ascpo.training.learner import Learner
from ascpo.training.pupils import Pupils, compile_ahead, pupils
from ascpo.training.settings import Settings
from ascpo.training.state import Sizes, State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Standing:
    """Where a training stands between two epochs: all that decides how it goes on."""

    epochs: int
    """Done so far."""
    cost: float
    """Paid so far."""
    state: State
    engine: Snapshot


@dataclass(frozen=True)
class Epoch:
    """After an epoch: where the training stands, and what happened."""

    epochs: int
    """Done so far."""
    stand: Callable[[], Standing]
    row: Row
    """A function of the settings and the seed."""
    timing: Row
    """Seconds, which are never the same twice. What several trainings did together is shared equally."""

    @cached_property
    def standing(self) -> Standing:
        return self.stand()

    @property
    def state(self) -> State:
        return self.standing.state


@dataclass(frozen=True)
class Cohort:
    """A learner, and the seeds that it is to learn from."""

    learner: Learner
    seeds: tuple[int, ...]


def make_learner(engine: Engine, algorithm: Algorithm, settings: Settings, num_envs: int | None = None) -> Learner:
    """For all environments of an engine, or for so many of them."""
    names = engine.cost_names
    sizes = Sizes(num_envs or engine.num_envs, engine.observation_size, engine.action_size, len(names))
    return learner_for(algorithm, settings, sizes, settings.limits_for(names))


learner_for = lru_cache(maxsize=16)(Learner)
"""Trainings of the same kind share a learner, and so what was compiled for it."""


def begin(engine: Engine, learner: Learner, seed: int, epochs: int = 1) -> Standing:
    """Before the first of so many epochs."""
    state = learner.start(seed, epochs)
    engine.begin(learner.actor(), seed)
    return Standing(0, 0.0, state, engine.snapshot())


def begin_together(engine: Shared, cohorts: Sequence[Cohort], epochs: int = 1) -> list[Standing]:
    """The same for all seeds of all cohorts, in order."""
    states = [each.learner.start(seed, epochs) for each in cohorts for seed in each.seeds]
    engine.begin_together([Cast(each.learner.actor(), each.seeds) for each in cohorts])
    snapshot = engine.snapshots()
    return [Standing(0, 0.0, state, snapshot(i)) for i, state in enumerate(states)]


def train(engine: Engine, learner: Learner, seed: int, epochs: int) -> Iterator[Epoch]:
    """Train for so many epochs from the start; each is yielded when it is over."""
    return go_on(engine, learner, begin(engine, learner, seed, epochs), epochs)


def go_on(engine: Engine, learner: Learner, standing: Standing, epochs: int) -> Iterator[Epoch]:
    """Train until so many epochs are done. The engine stands where `standing` says."""

    def collect(groups: Sequence[Pupils]) -> list[Any]:
        theta, noise = groups[0].act()
        return [groups[0].one(engine.collect(theta[0], np.asarray(here(noise[0]))))]

    def snapshots() -> Callable[[int], Snapshot]:
        return [engine.snapshot()].__getitem__

    stage = _Stage(collect, engine.cut, snapshots, engine.cost_names)
    for epochs_of_all in _loop(stage, [pupils(learner, [standing.state])], [standing], epochs):
        yield epochs_of_all[0]


def go_on_together(
    engine: Shared, cohorts: Sequence[Cohort], standings: Sequence[Standing], epochs: int
) -> Iterator[list[Epoch]]:
    """The same for all seeds of all cohorts, which have done as many epochs: their epochs are yielded together."""
    ends = np.cumsum([0, *(len(each.seeds) for each in cohorts)])
    states = [standing.state for standing in standings]
    groups = [pupils(each.learner, states[a:b]) for each, (a, b) in zip(cohorts, pairwise(ends), strict=True)]

    def collect(groups: Sequence[Pupils]) -> list[Any]:
        thetas, noises = zip(*(group.act() for group in groups), strict=True)
        rollouts = engine.collect_together(thetas, noises)
        return [group.several(rollout) for group, rollout in zip(groups, rollouts, strict=True)]

    stage = _Stage(collect, engine.cut_together, engine.snapshots, engine.cost_names)
    return _loop(stage, groups, standings, epochs)


@dataclass(frozen=True)
class _Stage:
    """An engine, as the loop sees it."""

    collect: Callable[[Sequence[Pupils]], list[Any]]
    cut: Callable[[], None]
    snapshots: Callable[[], Callable[[int], Snapshot]]
    cost_names: tuple[str, ...]


def _loop(stage: _Stage, groups: Sequence[Pupils], standings: Sequence[Standing], epochs: int) -> Iterator[list[Epoch]]:
    costs = [standing.cost for standing in standings]
    compile_ahead(groups)
    for epoch in range(standings[0].epochs, epochs):
        watch = _Watch()
        rollouts = jax.block_until_ready(stage.collect(groups))
        watch.lap("TimeRollout")
        told: list[News] = []
        for group, rollout in zip(groups, rollouts, strict=True):
            told += group.learn(rollout, watch.lap)
        if not groups[0].learner.settings.carry:
            stage.cut()
            for group in groups:
                group.cut()
        states = [group.state(i) for group in groups for i in range(len(group))]
        rows = []
        for i, each in enumerate(told):
            costs[i] += float(each.total_cost)
            rows.append(_row(epoch, each, costs[i], groups[0].learner, stage.cost_names))
        snapshot = stage.snapshots()
        now = [
            _standing(epoch + 1, cost, state, partial(snapshot, i))
            for i, (cost, state) in enumerate(zip(costs, states, strict=True))
        ]
        watch.lap("TimeOther")
        timing = watch.shared(epoch, len(told), _steps(groups[0].learner))
        yield [Epoch(epoch + 1, stand, row, timing) for stand, row in zip(now, rows, strict=True)]


def _standing(
    epochs: int, cost: float, state: Callable[[], State], engine: Callable[[], Snapshot]
) -> Callable[[], Standing]:
    return lambda: Standing(epochs, cost, state(), engine())


def _steps(learner: Learner) -> int:
    return learner.settings.horizon * learner.sizes.num_envs


def _row(epoch: int, told: News, cost: float, learner: Learner, names: tuple[str, ...]) -> Row:
    steps = _steps(learner)
    row: Row = {"Epoch": epoch, "TotalEnvInteracts": (epoch + 1) * steps}
    row |= row_of(told, names)
    row |= {
        "WorstCost": float(told.worst_cost),
        "CostRate": cost / ((epoch + 1) * steps),
        "EpochCostRate": float(told.total_cost) / steps,
    }
    row |= {name: float(value) for name, value in told.extras.items()}
    _check(row, bool(told.finite))
    return row


class Broken(RuntimeError):
    """A training that cannot go on."""


def _check(row: Row, finite: bool) -> None:
    """NaN is caught where it is born."""
    if not np.isfinite(row["EpRet"]) or not finite:
        raise Broken(
            f"Epoch {row['Epoch']} made numbers that are not finite (EpRet {row['EpRet']}). The environment gave such "
            f"rewards or observations, or the settings are extreme: lower the trust region's delta."
        )


class _Watch:
    """Times the parts of an epoch."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._last = clock()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = self._clock()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now

    def shared(self, epoch: int, parties: int, steps: int) -> Row:
        """Each party's part."""
        parts = {name: seconds / parties for name, seconds in self.laps.items()}
        return {"Epoch": epoch, **parts, "StepsPerSecond": steps / sum(parts.values())}
