"""What has to be done for a table or a figure, and doing it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from rich.console import Console

from ascpo.paper.engines import choose_engine
from ascpo.paper.experiments import Experiment, Training, experiments
from ascpo.runs.config import EngineName
from ascpo.runs.plain import BadSetting
from ascpo.sweep.batches import in_companies
from ascpo.sweep.estimate import Pace
from ascpo.sweep.executors import Starter, one_by_one, side_by_side
from ascpo.sweep.jobs import Here, Order
from ascpo.sweep.overrides import Changes
from ascpo.sweep.progress import Board
from ascpo.sweep.scheduler import Done
from ascpo.sweep.store import Shelf


@dataclass(frozen=True)
class Wish:
    """What a person wants to be run."""

    name: str
    shelf: Shelf = field(default_factory=lambda: Shelf(Path("runs/paper")))
    suites: Sequence[str] = ()
    algos: Sequence[str] = ()
    seeds: Sequence[int] = ()
    changes: Changes = field(default_factory=dict)
    episodes: int = 0
    checkpoint_every: float = 60.0
    engine: str = "native"
    """`mjx` takes what suits each suite."""


@dataclass(frozen=True)
class Plan:
    """The trainings of one experiment, and those that cannot be."""

    experiment: Experiment
    orders: tuple[Order, ...]
    troubles: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def plans(wish: Wish) -> list[Plan]:
    """All that can be wrong with what was typed is found here."""
    found = [_plan(experiment, wish) for experiment in experiments(wish.name) if _concerns(experiment, wish)]
    troubles = [trouble for plan in found for trouble in plan.troubles]
    if not any(plan.orders for plan in found):
        raise BadSetting(troubles[0] if troubles else "Nothing has such suites and algorithms. See `ascpo paper list`.")
    return found


def carry_out_plan(
    plan: Plan, *, jobs: int = 1, threads: int = 0, together: bool = False, console: Console
) -> list[Done]:
    """One training after another or in companies in this process, or some at once, each in its own."""
    experiment = plan.experiment
    todo = [order for order in plan.orders if not order.is_done()]
    at_once = 1 if experiment.alone else max(1, min(jobs, len(todo)))
    folder = plan.orders[0].directory.parent if plan.orders else Path()
    board = Board(todo, Pace(folder), at_once, console)
    for sentence in (*plan.remarks, f"{experiment.name}: {len(todo)} of {len(plan.orders)} runs to do"):
        console.print(sentence, markup=False)
    if experiment.alone or at_once > 1:
        return side_by_side(plan.orders, Starter(at_once, threads, experiment.alone), board, at_once)
    here = Here(threads, progress=console.is_terminal)
    return in_companies(plan.orders, here, board) if together else one_by_one(plan.orders, here, board)


def _concerns(experiment: Experiment, wish: Wish) -> bool:
    """Of `all`, those that have what was asked for."""
    if wish.name != "all":
        return True
    try:
        return bool(experiment.trainings(wish.suites, wish.algos, wish.seeds))
    except BadSetting:
        return False


def _plan(experiment: Experiment, wish: Wish) -> Plan:
    orders, troubles, remarks = [], [], {}
    choose = cache(partial(choose_engine, wish.engine))
    for training in experiment.trainings(wish.suites, wish.algos, wish.seeds):
        try:
            choice = choose(training.suite)
            orders.append(_order(experiment, training, wish, choice.engine))
        except ValueError as error:
            troubles.append(f"{training.name}: {error}")
            continue
        if choice.why:
            remarks[training.suite] = f"{training.suite} has the native engine. {choice.why}"
    return Plan(experiment, tuple(orders), tuple(troubles), tuple(remarks.values()))


def _order(experiment: Experiment, training: Training, wish: Wish, engine: EngineName) -> Order:
    return Order(
        training.config(wish.shelf.scale, wish.changes, engine),
        wish.shelf.run(experiment, training).path,
        wish.shelf.trouble(experiment, training),
        experiment.play,
        wish.episodes,
        wish.checkpoint_every,
    )
