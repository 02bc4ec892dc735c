"""The trainer: trains runs together to their ends. Each run writes the same files as if it were trained alone.

When a training stops for any reason, its finished epochs are saved: those whose rows are on the disk. Runs that were
stopped at different epochs continue too: those behind train first, until all are at the same epoch.
"""

import contextlib
from collections.abc import Callable, Sequence

from ascpo.engines.contract import Engine
from ascpo.runs.active_run import ActiveRun, Run
from ascpo.runs.callbacks.callback import Callback, TrainingPlan
from ascpo.runs.config import Config
from ascpo.runs.description import describe
from ascpo.runs.files import CannotWrite
from ascpo.runs.selection import Selection
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopping
from ascpo.runs.trust import note_for
from ascpo.training.loop import continue_training, start
from ascpo.training.state import TrainingState

OpenEngine = Callable[[int], contextlib.AbstractContextManager[Engine]]
"""Opens an engine for a number of runs."""


def train_runs(
    runs: Sequence[Run],
    engine: Engine,
    smaller: OpenEngine,
    selection: Selection,
    checkpoint_every: float,
    callbacks: Sequence[Callback],
) -> bool:
    """Train all runs to their ends, with `checkpoint_every` seconds between checkpoints, in an engine for all of them.

    Returns False if a callback has stopped them earlier.
    """
    try:
        with contextlib.ExitStack() as stack:
            for run in runs:
                stack.enter_context(run.directory.locked())
            stopping = stack.enter_context(Stopping())
            active = [ActiveRun(run, engine, checkpoint_every) for run in runs]
            for run in active:
                stack.callback(run.close)
            finished = _train_to_end(active, engine, smaller, stopping, callbacks)
            selection.select(active, stopping)
            return finished
    except CannotWrite as error:
        command = " ".join(["ascpo train --resume", *(str(run.directory.path) for run in runs)])
        raise CannotWrite(
            f"{error} The training has stopped. Free disk space or repair the problem, and continue with: {command}"
        ) from error


def _train_to_end(
    active: Sequence[ActiveRun],
    engine: Engine,
    smaller: OpenEngine,
    stopping: Stopping,
    callbacks: Sequence[Callback],
) -> bool:
    started, end = active, active[0].config.epochs
    with stopping.work():
        for run, state in zip(active, _start(engine, active), strict=True):
            run.load(state)
    plan = _plan(active, engine)
    with contextlib.ExitStack() as stack:
        for callback in reversed(callbacks):
            stack.callback(callback.on_training_end)
        goes_on = _go_on([callback.on_training_start(plan) for callback in callbacks])
        while goes_on and len(levels := sorted({run.epochs for run in active} | {end})) > 1:
            # A process that was killed may have saved only some runs. Those behind come first.
            behind = [run for run in active if run.epochs == levels[0]]
            some = len(behind) < len(active)
            with smaller(len(behind)) if some else contextlib.nullcontext(engine) as their_engine:
                if behind != started:
                    with stopping.work():
                        _start(their_engine, behind)
                started = behind
                goes_on = _train_until(levels[1], their_engine, behind, stopping, callbacks)
    return goes_on


def _train_until(
    end: int, engine: Engine, runs: Sequence[ActiveRun], stopping: Stopping, callbacks: Sequence[Callback]
) -> bool:
    """Train until `end` epochs are done. Returns False if a callback stops the training earlier."""
    goes_on = True
    try:
        with stopping.work():
            states = [run.state() for run in runs]
            if states[0].epochs > 0:
                engine.restore([state.engine for state in states])
            epochs = continue_training(engine, [run.training for run in runs], states, end)
        while goes_on and runs[0].epochs < end:
            with stopping.work():
                now = next(epochs)
            records = [run.record(epoch) for run, epoch in zip(runs, now, strict=True)]
            goes_on = _go_on([callback.on_epoch_end(records) for callback in callbacks])
            for run in runs:
                run.save_if_due()
    except CannotWrite:
        # Other runs may still be saved. Further errors add no information.
        with contextlib.suppress(CannotWrite):
            _save(runs)
        raise
    except BaseException:
        _save(runs)
        raise
    _save(runs)
    return goes_on


def _go_on(answers: Sequence[bool | None]) -> bool:
    """Whether the training continues. Most callbacks return None."""
    return all(answer is None or answer for answer in answers)


def _save(runs: Sequence[ActiveRun]) -> None:
    """Save every run that can be saved."""
    failures: list[CannotWrite] = []
    for run in runs:
        try:
            run.save()
        except CannotWrite as failure:
            failures.append(failure)
    if failures:
        raise failures[0]


def _plan(runs: Sequence[ActiveRun], engine: Engine) -> TrainingPlan:
    first, *others = runs
    described = describe(first.config)
    return TrainingPlan(
        config=first.config,
        directory=first.directory.path,
        epochs_done=min(run.epochs for run in runs),
        description=described.description,
        limits=dict(zip(engine.cost_names, first.training.agent.limits, strict=True)),
        target=described.target,
        notes=(*engine.notes, *filter(None, [note_for(first.config.env)])),
        other_runs=tuple(run.directory.path for run in others),
    )


def check_can_share(configs: Sequence[Config]) -> None:
    """Refuse runs that cannot share an engine."""
    first, *others = configs
    for config in others:
        for name, theirs in first.of_engine.items():
            if (mine := config.of_engine.get(name)) != theirs:
                raise BadSetting(
                    f"Runs that train at the same time need the same {name}: {config.name()} has {mine}, "
                    f"{first.name()} has {theirs}. Train them in two commands."
                )


def _start(engine: Engine, runs: Sequence[ActiveRun]) -> list[TrainingState]:
    """The training states before the first epoch."""
    return start(engine, [run.training for run in runs], runs[0].config.epochs)
