"""Training one run to its end, or several that share an engine: each has its own files, as if it had run alone.

Whatever ends it early, the epochs that were finished are saved. Runs that were stopped at different epochs go on
together: those behind first, until they are level.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ascpo.engines.rollout import Engine, Shared
from ascpo.runs.callbacks.callback import News, Plan, Watcher
from ascpo.runs.checkpoints import BadCheckpoint
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.run_files import Files
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopping
from ascpo.training.learner import Learner
from ascpo.training.train import (
    Cohort,
    Epoch,
    Standing,
    begin,
    begin_together,
    go_on,
    go_on_together,
    make_learner,
)

Opener = Callable[[int], contextlib.AbstractContextManager[Engine]]
"""Gives an engine for so many runs."""


@dataclass(frozen=True)
class Seat:
    """A run to be trained, and where it is kept."""

    config: Config
    directory: RunDirectory


def check_company(configs: Sequence[Config]) -> None:
    """Runs can share an engine if they take the same steps at the same time."""
    first = configs[0]
    for config in configs[1:]:
        for what, mine, theirs in (
            ("env", config.env, first.env),
            ("engine", config.engine, first.engine),
            ("total_steps", config.total_steps, first.total_steps),
            *((name, getattr(config.settings, name), getattr(first.settings, name)) for name in _COMMON),
        ):
            if mine != theirs:
                raise BadSetting(
                    f"Runs that train together need the same {what}: {config.name()} has {mine}, {first.name()} has "
                    f"{theirs}. Train them in two commands."
                )


_COMMON = ("num_envs", "horizon", "carry")


def check_engine(engine: Engine, runs: int) -> None:
    """Not every engine can be shared."""
    if runs > 1:
        _shared(engine)


def _shared(engine: Engine) -> Shared:
    if not isinstance(engine, Shared):
        raise BadSetting("Environments of one's own are trained one seed at a time. Use --seed.")
    return engine


class _Run:
    """A run on its way."""

    def __init__(self, seat: Seat, engine: Engine, learner: Learner, every: float) -> None:
        self.seat, self.learner = seat, learner
        self.files = Files(seat.directory, seat.config, engine, learner, every)
        self.epochs = 0
        """Done so far."""
        self.stand: Callable[[], Standing]
        """Gives where it stands after them."""

    def find(self, start: Standing) -> None:
        """Where it stands: at its last checkpoint, or at the start."""
        found = self.files.standing(start)
        self.epochs, self.stand = found.epochs, lambda: found

    def save(self) -> None:
        self.files.save(self.epochs, self.stand)


def conduct(seats: Sequence[Seat], opened: Opener, every: float, watchers: Sequence[Watcher]) -> None:
    """Train all of them to the end; `every` are the seconds between checkpoints."""
    end = seats[0].config.epochs
    with contextlib.ExitStack() as stack:
        for seat in seats:
            stack.enter_context(seat.directory.locked())
        stopping = stack.enter_context(Stopping())
        with opened(len(seats)) as engine:
            learners = [learner_of(seat.config, engine) for seat in seats]
            runs = [_Run(seat, engine, learner, every) for seat, learner in zip(seats, learners, strict=True)]
            for run in runs:
                stack.callback(run.files.close)
            with stopping.work():
                for run, start in zip(runs, _begun(engine, seats, learners), strict=True):
                    run.find(start)
            stack.enter_context(_watched(watchers, _plan(runs, engine)))
            if len({run.epochs for run in runs}) == 1:
                _go_on(engine, runs, end, stopping, watchers)
        while len(levels := sorted({run.epochs for run in runs} | {end})) > 1:
            # A process that was killed may have saved some runs and not yet the others: those behind come first.
            behind = [run for run in runs if run.epochs == levels[0]]
            with opened(len(behind)) as engine:
                with stopping.work():
                    _begun(engine, [run.seat for run in behind], [run.learner for run in behind])
                _go_on(engine, behind, levels[1], stopping, watchers)


def learner_of(config: Config, engine: Engine) -> Learner:
    return make_learner(engine, config.algorithm(), config.settings, config.settings.num_envs)


def _go_on(engine: Engine, runs: Sequence[_Run], until: int, stopping: Stopping, watchers: Sequence[Watcher]) -> None:
    """Until so many epochs are done, from where the runs stand."""
    with stopping.work():
        epochs = _epochs(engine, runs, until)
    try:
        while runs[0].epochs < until:
            with stopping.work():
                now = next(epochs)
            news = []
            for run, epoch in zip(runs, now, strict=True):
                run.epochs, run.stand = epoch.epochs, epoch.stand
                timing = run.files.write(epoch.row, epoch.timing)
                news.append(News(run.seat.directory.path, epoch.row, timing))
            for watcher in watchers:
                watcher.epoch(news)
            for run in runs:
                run.files.save_if_due(run.epochs, run.stand)
    except BadCheckpoint:
        raise
    except BaseException:
        for run in runs:
            run.save()
        raise
    for run in runs:
        run.save()


def _epochs(engine: Engine, runs: Sequence[_Run], until: int) -> Iterator[Sequence[Epoch]]:
    standings = [run.stand() for run in runs]
    restore = standings[0].epochs > 0
    if len(runs) == 1:
        if restore:
            engine.restore(standings[0].engine)
        return ([epoch] for epoch in go_on(engine, runs[0].learner, standings[0], until))
    shared = _shared(engine)
    if restore:
        shared.restore_together([standing.engine for standing in standings])
    return go_on_together(shared, _cohorts([run.seat for run in runs], [run.learner for run in runs]), standings, until)


def _begun(engine: Engine, seats: Sequence[Seat], learners: Sequence[Learner]) -> list[Standing]:
    epochs = seats[0].config.epochs
    if len(seats) == 1:
        return [begin(engine, learners[0], seats[0].config.seed, epochs)]
    return begin_together(_shared(engine), _cohorts(seats, learners), epochs)


def _cohorts(seats: Sequence[Seat], learners: Sequence[Learner]) -> list[Cohort]:
    """Neighbours with the same learner."""
    pairs = groupby(zip(learners, seats, strict=True), key=lambda pair: pair[0])
    return [Cohort(learner, tuple(seat.config.seed for _, seat in group)) for learner, group in pairs]


def _plan(runs: Sequence[_Run], engine: Engine) -> Plan:
    first = runs[0]
    limits = dict(zip(engine.cost_names, first.learner.limits, strict=True))
    beside = tuple(run.seat.directory.path for run in runs[1:])
    done = min(run.epochs for run in runs)
    return Plan(
        first.seat.config,
        first.seat.directory.path,
        done,
        first.learner.algorithm.words,
        limits,
        engine.remarks,
        beside,
    )


@contextlib.contextmanager
def _watched(watchers: Sequence[Watcher], plan: Plan) -> Iterator[None]:
    try:
        for watcher in watchers:
            watcher.begin(plan)
        yield
    finally:
        for watcher in watchers:
            watcher.end()
