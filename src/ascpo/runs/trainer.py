"""The trainer: takes runs along one axis to their ends. Each leaves the files that it would have left alone.

Whatever stops a training, its finished epochs are saved. Runs that were stopped at different epochs continue too:
those behind come first, until all are level.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ascpo.engines.contract import Engine
from ascpo.runs.callbacks.callback import Callback, EpochRecord, TrainingPlan
from ascpo.runs.checkpoints import BadCheckpoint
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.run_files import RunFiles
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopping
from ascpo.training.agent import Agent, agent_for
from ascpo.training.loop import Epoch, TrainingRun, continue_training, start
from ascpo.training.state import TrainingState

OpenEngine = Callable[[int], contextlib.AbstractContextManager[Engine]]
"""Opens an engine for a number of runs."""


@dataclass(frozen=True)
class Run:
    """A run to train, and the directory that keeps it."""

    config: Config
    directory: RunDirectory


class _ActiveRun:
    """A run in training."""

    def __init__(self, run: Run, engine: Engine, agent: Agent, checkpoint_every: float) -> None:
        self.config, self.directory, self.agent = run.config, run.directory.path, agent
        self.files = RunFiles(run.directory, run.config, engine, agent, checkpoint_every)
        self.epochs = 0
        """Done so far."""
        self.state: Callable[[], TrainingState]
        """The training state after these epochs."""

    @property
    def training(self) -> TrainingRun:
        return TrainingRun(self.agent, self.config.seed)

    def load(self, start: TrainingState) -> None:
        """Take the state of the last checkpoint, or of the start."""
        found = self.files.load(start)
        self.epochs, self.state = found.epochs, lambda: found

    def record(self, epoch: Epoch) -> EpochRecord:
        self.epochs, self.state = epoch.epochs, lambda: epoch.state
        return EpochRecord(self.directory, epoch.row, self.files.write(epoch.row, epoch.timing))

    def save(self) -> None:
        self.files.save(self.epochs, self.state)


def train_runs(
    runs: Sequence[Run], open_engine: OpenEngine, checkpoint_every: float, callbacks: Sequence[Callback]
) -> None:
    """Train all runs to their ends, with so many seconds between checkpoints."""
    end = runs[0].config.epochs
    with contextlib.ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.directory.locked())
        stopping = stack.enter_context(Stopping())
        with open_engine(len(runs)) as engine:
            active = [_ActiveRun(run, engine, agent_of(run.config, engine), checkpoint_every) for run in runs]
            for run in active:
                stack.callback(run.files.close)
            with stopping.work():
                for run, start in zip(active, _start(engine, active), strict=True):
                    run.load(start)
            stack.enter_context(_listening(callbacks, _plan(active, engine)))
            if len({run.epochs for run in active}) == 1:
                _train_until(end, engine, active, stopping, callbacks)
        while len(levels := sorted({run.epochs for run in active} | {end})) > 1:
            # A process that was killed may have saved some runs and not yet the others: those behind come first.
            behind = [run for run in active if run.epochs == levels[0]]
            with open_engine(len(behind)) as engine:
                with stopping.work():
                    _start(engine, behind)
                _train_until(levels[1], engine, behind, stopping, callbacks)


def _train_until(
    end: int, engine: Engine, runs: Sequence[_ActiveRun], stopping: Stopping, callbacks: Sequence[Callback]
) -> None:
    """Train until so many epochs are done."""
    try:
        with stopping.work():
            epochs = _continue_training(engine, runs, end)
        while runs[0].epochs < end:
            with stopping.work():
                now = next(epochs)
            records = [run.record(epoch) for run, epoch in zip(runs, now, strict=True)]
            for callback in callbacks:
                callback.on_epoch_end(records)
            for run in runs:
                run.files.save_if_due(run.epochs, run.state)
    except BadCheckpoint:
        raise
    except BaseException:
        for run in runs:
            run.save()
        raise
    for run in runs:
        run.save()


def _plan(runs: Sequence[_ActiveRun], engine: Engine) -> TrainingPlan:
    first, *others = runs
    return TrainingPlan(
        config=first.config,
        directory=first.directory,
        epochs_done=min(run.epochs for run in runs),
        description=first.agent.algorithm.description,
        limits=dict(zip(engine.cost_names, first.agent.limits, strict=True)),
        target=first.agent.algorithm.target.description if first.agent.algorithm.target else "",
        notes=engine.notes,
        other_runs=tuple(run.directory for run in others),
    )


@contextlib.contextmanager
def _listening(callbacks: Sequence[Callback], plan: TrainingPlan) -> Iterator[None]:
    try:
        for callback in callbacks:
            callback.on_training_start(plan)
        yield
    finally:
        for callback in callbacks:
            callback.on_training_end()


_COMMON_SETTINGS = ("num_envs", "horizon", "carry")


def check_can_share(configs: Sequence[Config]) -> None:
    """Runs can share an engine if they take the same steps at the same time."""
    first = configs[0]
    for config in configs[1:]:
        for name, mine, theirs in (
            ("env", config.env, first.env),
            ("engine", config.engine, first.engine),
            ("total_steps", config.total_steps, first.total_steps),
            *((name, getattr(config.settings, name), getattr(first.settings, name)) for name in _COMMON_SETTINGS),
        ):
            if mine != theirs:
                raise BadSetting(
                    f"Runs that train at the same time need the same {name}: {config.name()} has {mine}, "
                    f"{first.name()} has {theirs}. Train them in two commands."
                )


def check_engine(engine: Engine, runs: int) -> None:
    """Refuse more runs than the engine can take."""
    if engine.max_runs is not None and runs > engine.max_runs:
        raise BadSetting("Your own environments train one seed at a time. Use --seed instead of --seeds.")


def agent_of(config: Config, engine: Engine) -> Agent:
    return agent_for(engine, config.algorithm(), config.settings)


def _start(engine: Engine, runs: Sequence[_ActiveRun]) -> list[TrainingState]:
    """The training states before the first epoch."""
    return start(engine, [run.training for run in runs], runs[0].config.epochs)


def _continue_training(engine: Engine, runs: Sequence[_ActiveRun], end: int) -> Iterator[list[Epoch]]:
    """Epochs of all runs, from their states on."""
    states = [run.state() for run in runs]
    if states[0].epochs > 0:
        engine.restore([state.engine for state in states])
    return continue_training(engine, [run.training for run in runs], states, end)
