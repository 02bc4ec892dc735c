"""The loop: collect, judge, improve, teach, write down."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax
import numpy as np

from ascpo.algorithms import Algorithm
from ascpo.engines.rollout import Engine
from ascpo.training.journal import Row, row_of
from ascpo.training.learner import Learner, Sizes, State
from ascpo.training.settings import Settings


@dataclass(frozen=True)
class Epoch:
    """After an epoch: where the training stands, and what happened."""

    state: State
    row: Row


def make_learner(engine: Engine, algorithm: Algorithm, settings: Settings) -> Learner:
    names = engine.cost_names
    sizes = Sizes(engine.num_envs, engine.observation_size, engine.action_size, len(names))
    return Learner(algorithm, settings, sizes, settings.limits_for(names))


def train(engine: Engine, learner: Learner, seed: int, epochs: int) -> Iterator[Epoch]:
    """Train for so many epochs; each is yielded when it is over."""
    state = learner.start(seed)
    engine.begin(learner.actor(), seed)
    steps, cost = 0, 0.0
    for epoch in range(epochs):
        watch = _Watch()
        state, noise = learner.noise(state)
        rollout = engine.collect(state.theta, noise)
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
        new_cost = float(rollout.cost.sum())
        new_steps = rollout.reward.size
        steps, cost = steps + new_steps, cost + new_cost
        log_std = learner.policy(state.theta).log_std
        row: Row = {"Epoch": epoch, "TotalEnvInteracts": steps}
        row |= row_of(judgement, report, share, log_std, losses, engine.cost_names)
        row |= {"CostRate": cost / steps, "EpochCostRate": new_cost / new_steps}
        watch.lap("TimeOther")
        row |= watch.laps | {"StepsPerSecond": new_steps / sum(watch.laps.values())}
        _check(row, state)
        yield Epoch(state, row)


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
