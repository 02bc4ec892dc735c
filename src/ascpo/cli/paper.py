"""`ascpo paper list`, `run NAME`, `show NAME`: the paper's tables and figures, from runs of one's own."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table as RichTable

from ascpo.paper.experiments import EXPERIMENTS, Experiment, experiments
from ascpo.paper.export import export
from ascpo.paper.page import Page, claims_table
from ascpo.paper.pages import page_of
from ascpo.paper.plan import Wish, carry_out_plan, plans
from ascpo.paper.tables import Table, print_table, to_markdown, write_csv
from ascpo.runs.plain import BadSetting, nearest
from ascpo.runs.stopping import Stopped, Stopping
from ascpo.sweep.estimate import RULE, Pace, words
from ascpo.sweep.overrides import read_changes
from ascpo.sweep.store import Shelf

_VERBS = {
    "list": "what there is, what it needs, and how long that would take",
    "run": "train what one of them needs and is not there yet",
    "show": "a table or figure from the runs there are, beside the published one",
}


@dataclass(frozen=True)
class List:
    """Show the paper's tables and figures, what they need, and what of it is there."""

    scale: float = 1.0
    """Part of the paper's 6 million steps."""
    out: Path = Path("runs/paper")
    """Where the runs are."""


@dataclass(frozen=True)
class Run:
    """Train what a table or figure needs. What is finished is kept, what was stopped goes on."""

    name: Annotated[str, tyro.conf.Positional]
    """One of those that `ascpo paper list` shows, one table (q1-Point-8-Hazard), or all."""
    scale: float = 1.0
    """Part of the paper's 6 million steps. Runs of different scales are kept apart."""
    suites: tuple[str, ...] = ()
    """Only these."""
    algos: tuple[str, ...] = ()
    """Only these."""
    seeds: tuple[int, ...] = ()
    """These, instead of as many as the paper took."""
    out: Path = Path("runs/paper")
    """Where the runs go."""
    jobs: int = 1
    """Trainings at once, each in a process of its own. One runs in this process."""
    threads: int = 0
    """Of each training; 0 for an equal share of the cores."""
    episodes: int = 0
    """To play after a training where the figure is made of episodes; 0 for as many as in the paper."""
    checkpoint_every: float = 60.0
    """Seconds between checkpoints; 0 for one after every epoch."""
    engine: Literal["native", "mjx", "mjx-jax", "mjx-warp"] = "native"
    """What moves the robots: the host's cores, or MJX on an accelerator. With mjx a suite that it cannot move here has
    the native engine; the other two are taken or refused."""
    together: bool = False
    """Train all runs that can share an engine at once, in this process: the algorithms and seeds of a suite. The
    numbers are the same on the host."""
    set: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """A setting that is not the usual one, for quick trials: --set horizon=50 --set ascpo.mode=paper."""

    def __post_init__(self) -> None:
        if self.jobs < 1 or self.threads < 0 or self.episodes < 0:
            raise BadSetting("--jobs must be at least 1, --threads and --episodes at least 0.")
        if self.together and self.jobs > 1:
            raise BadSetting("--together trains all in one process, --jobs in several. Use one of them.")


@dataclass(frozen=True)
class Show:
    """Show a table or figure from whatever runs there are, and which claims they bear out."""

    name: Annotated[str, tyro.conf.Positional]
    """One of those that `ascpo paper list` shows, one table (q1-Point-8-Hazard), or all."""
    scale: float = 1.0
    """Part of the paper's 6 million steps."""
    out: Path = Path("runs/paper")
    """Where the runs are."""
    last: int = 1
    """Epochs that J_r and M_c are the mean of: 1 as in the paper, 10 for a steadier figure."""
    markdown: bool = False
    """As Markdown."""
    csv: Path | None = None
    """Write the tables into this file, too."""
    export: Path | None = None
    """Write the runs themselves into this directory, too: where each ended, and a curve of 40 points."""

    def __post_init__(self) -> None:
        if self.last < 1:
            raise BadSetting(f"last={self.last}: ask for at least one epoch.")


def main(typed: list[str]) -> None:
    verb, *rest = typed or ["--help"]
    if verb in ("-h", "--help"):
        print(_help())
    elif verb == "list":
        _list(tyro.cli(List, args=rest, prog="ascpo paper list"))
    elif verb == "run":
        _run(tyro.cli(Run, args=rest, prog="ascpo paper run"))
    elif verb == "show":
        _show(tyro.cli(Show, args=rest, prog="ascpo paper show"))
    else:
        raise BadSetting(f"There is no {verb!r}. {nearest(verb, _VERBS)}\n\n{_help()}")


def _help() -> str:
    verbs = "\n".join(f"  {name:<6} {what}" for name, what in _VERBS.items())
    return (
        f"The paper's tables and figures.\n\nusage: ascpo paper VERB ...\n\n{verbs}\n\n"
        "ascpo paper VERB --help tells the rest."
    )


def _list(wanted: List) -> None:
    shelf, console = Shelf(wanted.out, wanted.scale), _console()
    table = RichTable(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("name", "what", "runs", "there", "left"):
        table.add_column(title, justify="left" if title in ("name", "what") else "right", overflow="fold")
    pace = Pace(shelf.path)
    for experiment in EXPERIMENTS.values():
        trainings = experiment.trainings()
        left = [training for training in trainings if not shelf.has(experiment, training)]
        seconds = sum(pace.seconds(training.config(wanted.scale)) for training in left)
        there = len(trainings) - len(left)
        told = f"{experiment.what}; {_needs(experiment)}"
        table.add_row(experiment.name, told, str(len(trainings)), str(there), words(seconds))
    console.print(table)
    console.print("One table of q1 is called q1-SUITE: q1-Point-8-Hazard. Scores are made of the runs of q1.")
    console.print(f"Time left: one run after another, at {wanted.scale:g} of the paper's steps; {RULE}.")


def _console() -> Console:
    """Wide enough for the tables where nobody says how wide it is."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def _needs(experiment: Experiment) -> str:
    sizes = (len(experiment.suites), len(experiment.variants), len(experiment.seeds))
    named = zip(sizes, ("suite", "algorithm", "seed"), strict=True)
    return " × ".join(f"{size} {name}{'s' if size > 1 else ''}" for size, name in named)


def _run(wanted: Run) -> None:
    console = Console(highlight=False, soft_wrap=True)
    shelf = Shelf(wanted.out, wanted.scale)
    wish = Wish(
        wanted.name,
        shelf,
        wanted.suites,
        wanted.algos,
        wanted.seeds,
        read_changes(wanted.set),
        wanted.episodes,
        wanted.checkpoint_every,
        wanted.engine,
    )
    todo, done = plans(wish), []
    try:
        with Stopping() as stopping, stopping.work():
            for plan in todo:
                done += carry_out_plan(
                    plan, jobs=wanted.jobs, threads=wanted.threads, together=wanted.together, console=console
                )
    except Stopped as stopped:
        console.print(f"Stopped by {stopped}. What was trained is saved. The same command goes on:", markup=False)
        console.print(f"  {shlex.join(['ascpo', *sys.argv[1:]])}", markup=False)
        sys.exit(128 + stopped.number)
    troubles = [trouble for plan in todo for trouble in plan.troubles]
    troubles += [f"{one.order.words}: {one.trouble}" for one in done if one.how == "failed"]
    counts = [sum(one.how == how for one in done) for how in ("trained", "there")]
    console.print(f"{counts[0]} trained, {counts[1]} were there already, {len(troubles)} failed.")
    for trouble in troubles:
        console.print(f"  {trouble}", markup=False)
    console.print(f"To look at it: {_command('show', wanted.name, shelf)}", markup=False)
    if troubles:
        sys.exit(1)


def _show(wanted: Show) -> None:
    shelf, console = Shelf(wanted.out, wanted.scale), _console()
    tables: list[Table] = []
    for experiment in experiments(wanted.name):
        command = _command("run", experiment.name, shelf)
        page = page_of(experiment, shelf, last=wanted.last, command=command)
        if wanted.markdown:
            print(_markdown(page))
        else:
            _print(page, console)
        tables += page.tables
    if wanted.csv is not None:
        write_csv(wanted.csv, tables)
        print(f"Tables: {wanted.csv}", file=sys.stderr)
    if wanted.export is not None:
        for file in export(wanted.export, shelf, experiments(wanted.name), wanted.last):
            print(f"Runs: {file}", file=sys.stderr)


def _command(verb: str, name: str, shelf: Shelf) -> str:
    return shlex.join(["ascpo", "paper", verb, name, "--scale", f"{shelf.scale:g}", "--out", str(shelf.out)])


def _print(page: Page, console: Console) -> None:
    console.print(page.title, style="bold", markup=False)
    for note in page.notes:
        console.print(note, markup=False, soft_wrap=True)
    for table in [*page.tables, *([claims_table(page.claims)] if page.claims else [])]:
        console.print()
        print_table(table, console)
    console.print()
    for note in page.footnotes:
        console.print(note, markup=False, soft_wrap=True)
    for picture in page.pictures:
        console.print(f"Figure: {picture}", markup=False, soft_wrap=True)


def _markdown(page: Page) -> str:
    tables = [*page.tables, *([claims_table(page.claims)] if page.claims else [])]
    pictures = [f"![{page.title}]({picture})" for picture in page.pictures if picture.suffix == ".svg"]
    parts = [f"## {page.title}", *page.notes, *map(to_markdown, tables), *page.footnotes, *pictures]
    return "\n\n".join(parts) + "\n"
