"""The loop: collect, judge, improve, teach, write down."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import jax
import numpy as np

from ascpo.algorithms import Algorithm
from ascpo.engines.rollout import Engine, Snapshot
from ascpo.training.journal import Row, row_of
from ascpo.training.learner import Learner, Sizes, State
from ascpo.training.settings import Settings


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

    standing: Standing
    row: Row
    """A function of the settings and the seed."""
    timing: Row
    """Seconds, which are never the same twice."""

    @property
    def state(self) -> State:
        return self.standing.state


def make_learner(engine: Engine, algorithm: Algorithm, settings: Settings) -> Learner:
    names = engine.cost_names
    sizes = Sizes(engine.num_envs, engine.observation_size, engine.action_size, len(names))
    return learner_for(algorithm, settings, sizes, settings.limits_for(names))


learner_for = lru_cache(maxsize=16)(Learner)
"""Trainings of the same kind share a learner, and so what was compiled for it."""


def begin(engine: Engine, learner: Learner, seed: int, epochs: int = 1) -> Standing:
    """Before the first of so many epochs."""
    state = learner.start(seed, epochs)
    engine.begin(learner.actor(), seed)
    return Standing(0, 0.0, state, engine.snapshot())


def train(engine: Engine, learner: Learner, seed: int, epochs: int) -> Iterator[Epoch]:
    """Train for so many epochs from the start; each is yielded when it is over."""
    return go_on(engine, learner, begin(engine, learner, seed, epochs), epochs)


def go_on(engine: Engine, learner: Learner, standing: Standing, epochs: int) -> Iterator[Epoch]:
    """Train until so many epochs are done. The engine stands where `standing` says."""
    state, cost = standing.state, standing.cost
    for epoch in range(standing.epochs, epochs):
        watch, before = _Watch(), state
        state, noise = learner.noise(state)
        rollout = engine.collect(learner.acting(state), noise)
        watch.lap("TimeRollout")
        judgement = jax.block_until_ready(learner.judge(state, rollout))
        watch.lap("TimeJudge")
        state, (report, share) = jax.block_until_ready(learner.improve(state, rollout, judgement))
        watch.lap("TimePolicy")
        state, losses = jax.block_until_ready(learner.teach(state, judgement))
        if not learner.settings.carry:
            engine.cut()
            state = learner.cut(state)
        watch.lap("TimeCritics")
        costs, new_steps = np.asarray(rollout.cost), rollout.reward.size
        new_cost = float(costs.sum())
        steps, cost = (epoch + 1) * new_steps, cost + new_cost
        row: Row = {"Epoch": epoch, "TotalEnvInteracts": steps}
        row |= row_of(judgement, report, share, learner.log_std(state.theta), losses, engine.cost_names)
        row |= {
            "WorstCost": float(costs.max()),
            "CostRate": cost / steps,
            "EpochCostRate": new_cost / new_steps,
        }
        row |= learner.extras(before, judgement)
        _check(row, state)
        now = Standing(epoch + 1, cost, state, engine.snapshot())
        watch.lap("TimeOther")
        timing: Row = {"Epoch": epoch, **watch.laps, "StepsPerSecond": new_steps / sum(watch.laps.values())}
        yield Epoch(now, row, timing)


class Broken(RuntimeError):
    """A training that cannot go on."""


def _check(row: Row, state: State) -> None:
    """NaN is caught where it is born."""
    if not np.isfinite(row["EpRet"]) or not np.isfinite(np.asarray(state.theta)).all():
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
        self.laps[name], self._last = now - self._last, now
