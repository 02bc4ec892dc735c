"""`ascpo paper list`, `run`, `show`, `pack`, `unpack`: the tables and figures of the paper, from your own runs."""

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table as RichTable

from ascpo.cli.parsing import parsed
from ascpo.cli.usage import no_verb, verbs_help
from ascpo.paper.experiments import EXPERIMENTS, Experiment, experiments
from ascpo.paper.export import export
from ascpo.paper.forecast import Forecast
from ascpo.paper.pages import page_of
from ascpo.paper.plan import Request, Work, joined, plans, run_work
from ascpo.paper.results import PaperStore, Place
from ascpo.paper.tables import Table, page_to_markdown, print_page, write_csv
from ascpo.ranges import Range, Threads
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopped, Stopping
from ascpo.sweep.estimate import RULE, Estimate, duration
from ascpo.sweep.executors import Executor, Resources
from ascpo.sweep.executors.choose import Placement, open_executor
from ascpo.sweep.executors.gpu_sharing import count_gpus, leave_gpu_to_workers
from ascpo.sweep.transfer import pack_runs, unpack_runs

_VERBS = {
    "list": "list the experiments, the runs that they need, and how long these take",
    "run": "train the runs of an experiment that are missing",
    "show": "show a table or figure from your runs, beside the figures that the paper prints",
    "pack": "pack all runs into a few files, to continue them on another machine",
    "unpack": "unpack such files. A run is never replaced by one with fewer epochs",
}


_Store = Annotated[PaperStore, tyro.conf.arg(name="")]


@dataclass(frozen=True)
class List:
    """List the paper's tables and figures, the runs that they need, and the runs that are finished.

    Next: `ascpo paper run NAME` trains what is missing of one.
    """

    store: _Store = field(default_factory=PaperStore)
    gpus: Annotated[tuple[int, ...], Range(at_least=1, at_most=4096)] = ()
    """Also estimate the time left with --engine mjx on this many GPUs. `--gpus 1 8 64` adds three columns."""


@dataclass(frozen=True)
class Run:
    """Train the runs of a table or figure. Finished runs are kept, stopped runs resume.

    The runs are directories in --out. Next: `ascpo paper show NAME`.
    """

    request: Annotated[Request, tyro.conf.arg(name="")]
    jobs: Annotated[int, Range(at_least=1, at_most=1024)] = 1
    """Number of trainings that run at the same time, each in its own process. 1 trains in this process."""
    threads: Threads = 0
    """Threads of each training. 0 gives each an equal share of the cores."""
    together: bool = False
    """Train all runs of a suite as one batch in this process. On the host the numbers stay the same."""
    gpus: Annotated[float, Range(at_least=0.0, at_most=1.0)] = 0.0
    """With --engine mjx on a machine with a GPU: the part of the GPU for each batch of runs, in its own process. 0.25
    trains four batches on a GPU at the same time. Suites that MJX cannot simulate train on the cores beside them. 0
    chooses the number of batches from the GPU's memory and the cores."""
    on: str = "local"
    """The machines: `local` is this one, ray or ray://host:port a Ray cluster, slurm a SLURM cluster. On a cluster,
    --threads is the number of cores of each training."""

    def __post_init__(self) -> None:
        if self.on != "local" and (self.together or self.jobs > 1):
            name = "together" if self.together else "jobs"
            raise BadSetting(f"--{name} is for this machine. {self.on} decides what it trains at the same time.")
        if self.together and self.jobs > 1:
            raise BadSetting("--together trains in one process, --jobs in several. Use one of them.")
        if self.together and self.gpus:
            raise BadSetting("--together trains in one process, --gpus in several. Use one of them.")


@dataclass(frozen=True)
class Show:
    """Show a table or figure from the finished runs, and which of the paper's claims they reproduce.

    Runs with the published, the released and our settings stand side by side, with the figures that the paper prints.
    Next: --csv writes the tables into a file, and --export a small copy of the runs for others to read.
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """A name from `ascpo paper list`, one table (q1-Point-8-Hazard), or all."""
    store: _Store = field(default_factory=PaperStore)
    last: Annotated[int, Range(at_least=1, at_most=10**6)] = 1
    """J_r and M_c are means over this many last epochs: 1 as in the paper, 10 for steadier values."""
    markdown: bool = False
    """Print Markdown."""
    csv: Path | None = None
    """Also write the tables into this file."""
    export: Path | None = None
    """Also write the runs into this directory: final values, learning curves of at most 40 points, and a summary over
    the seeds. Runs that it has from an earlier call stay. `--results` reads it again."""


_Place = Annotated[Place, tyro.conf.arg(name="")]


@dataclass(frozen=True)
class Pack:
    """Pack all runs into few files, to go on with them on another machine.

    Unfinished runs keep their last checkpoint, finished ones none. Next: `ascpo paper unpack FILE-1.tar FILE-2.tar`
    there.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The prefix of the files' names: FILE-1.tar, FILE-2.tar and so on."""
    place: _Place = field(default_factory=Place)
    megabytes: Annotated[int, Range(at_least=1, at_most=10**6)] = 60
    """The largest size of a file in MiB, unless a single run is larger."""


@dataclass(frozen=True)
class Unpack:
    """Unpack runs. A run that is there already is replaced only by one that has come further.

    Next: `ascpo paper run NAME` continues them.
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE [FILE ...]")]
    """Files that `ascpo paper pack` wrote."""
    place: _Place = field(default_factory=Place)


def main(typed: list[str]) -> None:
    verb, *rest = typed or ["--help"]
    if verb in ("-h", "--help"):
        below = "ascpo paper VERB --help explains the options."
        print(verbs_help("paper", "The tables and figures of the paper.", _VERBS, below))
        return
    match verb:
        case "list":
            _list(parsed(List, rest, "ascpo paper list"))
        case "run":
            _run(parsed(Run, rest, "ascpo paper run"))
        case "show":
            _show(parsed(Show, rest, "ascpo paper show"))
        case "pack":
            _pack(parsed(Pack, rest, "ascpo paper pack"))
        case "unpack":
            _unpack(parsed(Unpack, rest, "ascpo paper unpack"))
        case _:
            raise no_verb("paper", verb, _VERBS)


def _list(wanted: List) -> None:
    store, console = wanted.store, _console()
    estimate = Estimate(store.path)
    table = RichTable(box=None, header_style="bold", padding=(0, 2, 0, 0))
    on_gpus = [f"on {gpus} GPU{'s' if gpus > 1 else ''}" for gpus in wanted.gpus]
    for title in ("name", "description", "runs", "finished", "time left", *on_gpus):
        table.add_column(title, justify="left" if title in ("name", "description") else "right", overflow="fold")
    for experiment in EXPERIMENTS.values():
        found = Forecast(experiment, store, estimate)
        counts = str(len(found.trainings)), str(found.finished)
        times = [found.seconds(), *map(found.seconds_on_gpus, wanted.gpus)]
        table.add_row(experiment.name, f"{experiment.description}; {_size(experiment)}", *counts, *map(duration, times))
    console.print(table)
    console.print("q1-SUITE names one table of q1: q1-Point-8-Hazard. scores uses the runs of q1.")
    console.print(f"Time left: one run after another with {store.scale:g} of the paper's steps; {RULE}.")
    if wanted.gpus:
        console.print("On GPUs: batches of twelve runs, six at the same time on each GPU, as measured on an H200.")


def _console() -> Console:
    """A console that is wide enough for the tables if the output has no width."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def _size(experiment: Experiment) -> str:
    parts = {"suite": experiment.suites, "algorithm": experiment.variants, "seed": experiment.seeds}
    if len(experiment.columns) > 1:
        parts["column"] = experiment.columns
    return " × ".join(f"{len(part)} {name}{'s' if len(part) > 1 else ''}" for name, part in parts.items())


def _run(wanted: Run) -> None:
    console = Console(highlight=False, soft_wrap=True)
    if _uses_workers(wanted):
        leave_gpu_to_workers()
    todo, outcomes = plans(wanted.request), []
    works = joined(todo)
    executor = _executor(wanted, works)
    how = {"jobs": wanted.jobs, "threads": wanted.threads, "together": wanted.together, "executor": executor}
    run = partial(run_work, **how, console=console)
    try:
        with Stopping() as stopping, stopping.work(), closing(executor) if executor else nullcontext():
            for work in works:
                outcomes += run(work)
    except Stopped as stopped:
        command = shlex.join(["ascpo", *sys.argv[1:]])
        console.print(f"Stopped by {stopped}. Finished epochs are saved. To continue: {command}", markup=False)
        sys.exit(128 + stopped.number)
    errors = [error for plan in todo for error in plan.errors]
    errors += [f"{one.job.name}: {one.error}" for one in outcomes if one.status == "failed"]
    trained, present = (sum(one.status == status for one in outcomes) for status in ("trained", "present"))
    present += sum(plan.exported for plan in todo)
    console.print(f"{trained} trained, {present} finished before, {len(errors)} failed.")
    for error in errors:
        console.print(f"  {error}", markup=False)
    first, *others = wanted.request.names
    shown = "all" if others else first
    console.print(f"To see the results: {_command('show', shown, wanted.request.store)}", markup=False)
    if errors:
        sys.exit(1)


def _executor(wanted: Run, works: Sequence[Work]) -> Executor | None:
    """The executor for --on or for the GPUs of this machine. None trains in this process, or in --jobs others."""
    if not _uses_workers(wanted):
        return None
    measured = [work.name for work in works if work.isolated]
    if measured and wanted.on != "local":
        raise BadSetting(f"{measured[0]} measures time and memory on one machine. Leave out --on.")
    resources = Resources(cores=wanted.threads, gpus=wanted.gpus)
    placement = Placement(wanted.on, jobs=wanted.jobs if wanted.jobs > 1 else 0, resources=resources)
    jobs = [job for work in works for job in work.jobs]
    return open_executor(placement, jobs, wanted.request.store.path / ".sweep")


def _uses_workers(wanted: Run) -> bool:
    """Whether an executor starts processes that train: on other machines, or on the GPUs of this one."""
    if wanted.on != "local" or wanted.gpus:
        return True
    by_hand = wanted.together or wanted.jobs > 1 or wanted.request.engine == "native"
    return not by_hand and count_gpus() > 0


def _show(wanted: Show) -> None:
    store, console = wanted.store, _console()
    tables: list[Table] = []
    for experiment in experiments(wanted.name):
        command = _command("run", experiment.name, store)
        page = page_of(experiment, store, last=wanted.last, command=command)
        if wanted.markdown:
            print(page_to_markdown(page))
        else:
            print_page(page, console)
        tables += page.tables
    if wanted.csv is not None:
        write_csv(wanted.csv, tables)
        print(f"Tables: {wanted.csv}", file=sys.stderr)
    if wanted.export is not None:
        for file in export(wanted.export, store, experiments(wanted.name), wanted.last):
            print(f"Runs: {file}", file=sys.stderr)


def _pack(wanted: Pack) -> None:
    for file, runs in pack_runs(wanted.place.path, wanted.file, wanted.megabytes * 2**20):
        print(f"{file}: {runs} run{'s' if runs > 1 else ''}, {file.stat().st_size / 1e6:.1f} MB")


def _unpack(wanted: Unpack) -> None:
    if not wanted.files:
        raise BadSetting("Name the files that `ascpo paper pack` wrote.")
    happened = Counter(unpack_runs(wanted.files, wanted.place.path).values())
    print(
        f"{happened['new']} new runs, {happened['further']} with more epochs than before, {happened['kept']} "
        f"unchanged, in {wanted.place.path}"
    )


def _command(verb: str, name: str, store: PaperStore) -> str:
    results = [] if store.results is None else ["--results", str(store.results)]
    return shlex.join(["ascpo", "paper", verb, name, "--scale", f"{store.scale:g}", "--out", str(store.out), *results])
