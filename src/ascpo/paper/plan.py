"""Turn a request into the jobs of experiments, and run them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from ascpo.paper.columns import Column
from ascpo.paper.experiments import Experiment, Training, experiments
from ascpo.paper.exported import RunKey
from ascpo.paper.results import PaperStore, typed_overrides
from ascpo.ranges import Range
from ascpo.runs.config import Config, EngineName
from ascpo.runs.serialization import BadSetting
from ascpo.sweep.estimate import Estimate, longest_first
from ascpo.sweep.evaluation import Evaluation
from ascpo.sweep.executors import Executor, InProcess, Processes
from ascpo.sweep.executors.contract import UNLIMITED, side_by_side
from ascpo.sweep.jobs import Job, run_batch
from ascpo.sweep.overrides import read_overrides
from ascpo.sweep.progress import ConsoleProgress
from ascpo.sweep.scheduler import ALONE, TOGETHER, BatchSizes, Outcome, run_sweep


@dataclass(frozen=True)
class Request:
    """The options that say what to run."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="NAME [NAME ...]")]
    """Experiments: names from `ascpo paper list`, single tables (q1-Point-8-Hazard), or all. They train as one sweep,
    and a run that several of them need is trained once."""
    store: Annotated[PaperStore, tyro.conf.arg(name="")] = field(default_factory=PaperStore)
    suites: tuple[str, ...] = ()
    """Train only on these suites."""
    algos: tuple[str, ...] = ()
    """Train only these algorithms."""
    seeds: Annotated[tuple[int, ...], Range(at_least=0, at_most=2**32 - 1, items=1000)] = ()
    """Train these seeds instead of the paper's."""
    set: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Override a setting, for quick trials: --set horizon=50 --set ascpo.mode=paper."""
    episodes: Annotated[int, Range(at_least=0, at_most=10**5)] = 0
    """Episodes to play with each trained policy, for figures that need them. 0 plays as many as the paper."""
    checkpoint_every: Annotated[float, Range(at_least=0.0, at_most=1e12)] = 60.0
    """Seconds between checkpoints. 0 saves one after every epoch."""
    engine: Literal["native", "mjx", "mjx-jax", "mjx-warp"] = "native"
    """The simulator: native on the host, or mjx on an accelerator. Suites that MJX cannot simulate use native."""
    columns: Annotated[tyro.conf.UseAppendAction[tuple[tuple[Column, ...], ...]], tyro.conf.arg(name="as")] = ()
    """The settings of the runs: ours, published (the paper's), released (those of its code), or several of them. The
    default is ours; for the experiment `columns` it is all three."""

    def trainings(self, experiment: Experiment) -> list[Training]:
        """The requested trainings of an experiment."""
        columns: list[Column] = [column for group in self.columns for column in group]
        return experiment.trainings(self.suites, self.algos, self.seeds, columns)


@dataclass(frozen=True)
class Plan:
    """The jobs of one experiment."""

    experiment: Experiment
    jobs: tuple[Job, ...]
    errors: tuple[str, ...] = ()
    """Why some trainings cannot become jobs."""
    notes: tuple[str, ...] = ()
    exported: int = 0
    """Trainings that need no job, because the store's `results` have their runs."""


def plans(request: Request) -> list[Plan]:
    """The plans of a request. All errors of the request are found here, before any training starts."""
    wanted = {experiment.name: experiment for name in request.names for experiment in experiments(name)}
    if not wanted:
        raise BadSetting("Name an experiment. `ascpo paper list` lists them.")
    choose = cache(partial(choose_engine, request.engine))
    concerned = [experiment for experiment in wanted.values() if _concerns(experiment, request)]
    # If no experiment has the suites and algorithms, the first one explains what it lacks.
    found = [_plan(experiment, request, choose) for experiment in concerned or list(wanted.values())[:1]]
    errors = [error for plan in found for error in plan.errors]
    if not any(plan.jobs or plan.exported for plan in found):
        no_match = "No experiment has these suites and algorithms with these settings. See `ascpo paper list`."
        raise BadSetting(errors[0] if errors else no_match)
    return found


@dataclass(frozen=True)
class Work:
    """Jobs that are run as one sweep."""

    name: str
    jobs: tuple[Job, ...]
    notes: tuple[str, ...] = ()
    isolated: bool = False


def joined(found: Sequence[Plan]) -> list[Work]:
    """Join plans into one sweep, so that a GPU that one experiment does not fill trains runs of the next one.

    Each run occurs once, with the episodes that any of the experiments needs. An experiment that measures time and
    memory is a separate sweep.
    """
    together = [plan for plan in found if not plan.experiment.isolated]
    jobs: dict[tuple[Path, Evaluation | None], Job] = {}
    for job in (job for plan in together for job in plan.jobs):
        if job.evaluation is None and any(directory == job.directory for directory, _ in jobs):
            continue
        jobs.pop((job.directory, None), None)
        jobs[job.directory, job.evaluation] = job
    names = ", ".join(plan.experiment.name for plan in together)
    notes = dict.fromkeys(note for plan in together for note in plan.notes)
    works = [Work(names, tuple(jobs.values()), tuple(notes))] if together else []
    alone = [plan for plan in found if plan.experiment.isolated]
    return works + [Work(plan.experiment.name, plan.jobs, plan.notes, isolated=True) for plan in alone]


def run_work(
    work: Work,
    *,
    jobs: int = 1,
    threads: int = 0,
    together: bool = False,
    executor: Executor | None = None,
    console: Console,
) -> list[Outcome]:
    """Run jobs in this process, singly or in batches, in several processes, or where the executor says.

    An experiment that measures time and memory has the machine to itself.
    """
    unfinished = [job for job in work.jobs if not job.is_done()]
    beside = jobs if executor is None else side_by_side(executor)
    slots = 1 if work.isolated else max(1, min(beside, len(unfinished)))
    estimate = Estimate(work.jobs[0].directory.parent if work.jobs else Path())
    progress = ConsoleProgress(unfinished, estimate, slots, console)
    for sentence in (*work.notes, f"{work.name}: {len(unfinished)} of {len(work.jobs)} runs to do"):
        console.print(sentence, markup=False)
    if executor is not None and not work.isolated:
        batches = BatchSizes(1, UNLIMITED)
    elif work.isolated or slots > 1:
        executor, batches = Processes(slots, threads, compile_afresh=work.isolated), ALONE
    else:
        # On a terminal each training has a live display of its own.
        live = console.is_terminal
        on_epoch = None if live else progress.update
        executor = InProcess(partial(run_batch, threads=threads, display=live, on_epoch=on_epoch))
        batches = TOGETHER if together else ALONE
    return run_sweep(longest_first(work.jobs, estimate), executor, progress, batches=batches)


def choose_engine(wanted: str, suite: str) -> tuple[EngineName, str]:
    """The engine of all runs of a suite, and the reason if it is not the requested one. No comparison mixes engines.

    `mjx` means the implementation of MJX that suits the suite and the machine, or the native engine if MJX cannot
    simulate the suite. `mjx-jax` and `mjx-warp` are used as they are, or refused.
    """
    if wanted == "native":
        return "native", ""
    from ascpo.engines.mjx.physics import Unserved
    from ascpo.runs.environment import engine_name, open_mjx

    engine = engine_name(wanted, suite)
    try:
        open_mjx(suite, 1, engine).close()
    except Unserved as error:
        if wanted != "mjx":
            raise
        return "native", str(error)
    return engine, ""


def _concerns(experiment: Experiment, request: Request) -> bool:
    """Whether an experiment has the requested suites and algorithms."""
    try:
        return bool(request.trainings(experiment))
    except BadSetting:
        return False


def _plan(experiment: Experiment, request: Request, choose: Callable[[str], tuple[EngineName, str]]) -> Plan:
    jobs, errors, notes, exported = [], [], {}, 0
    evaluation = experiment.evaluation
    if evaluation is not None and request.episodes:
        evaluation = replace(evaluation, episodes=request.episodes)
    store, overrides = request.store, read_overrides(request.set)
    for training in {training.name: training for training in request.trainings(experiment)}.values():
        try:
            engine, why = choose(training.suite)
            config = training.config(store.scale, overrides, engine)
            directory = store.run(experiment, training).path
            notes |= {training.suite: f"{training.suite} uses the native engine. {why}"} if why else {}
            if not directory.exists() and store.is_exported(experiment, training):
                _check_exported(store, training, config)
                exported += 1
                continue
            jobs.append(Job(config, directory, evaluation, request.checkpoint_every))
        except ValueError as error:
            errors.append(f"{training.name}: {error}")
    if exported:
        notes[""] = f"{exported} runs are finished in {store.results}."
    return Plan(experiment, tuple(jobs), tuple(errors), tuple(notes.values()), exported)


def _check_exported(store: PaperStore, training: Training, config: Config) -> None:
    """Refuse an exported run that was trained with other settings."""
    row = store.exported.runs[RunKey.of(training)]
    wanted = config.engine, typed_overrides(training, config, store.scale)
    found = row.get("engine") or config.engine, row.get("overridden") or ""
    if wanted != found:
        raise BadSetting(
            f"{store.results} has this run with {_setup(*found)}, but this sweep needs {_setup(*wanted)}. Use the same "
            f"settings, or leave out --results."
        )


def _setup(engine: str, overrides: str) -> str:
    return f"the engine {engine} and {overrides or 'no overridden settings'}"
