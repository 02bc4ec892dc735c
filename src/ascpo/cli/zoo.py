"""`ascpo zoo list`, `ascpo zoo show NAME`: the trained policies that come with the package."""

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from ascpo.cli.parsing import parsed
from ascpo.cli.usage import no_verb, verbs_help
from ascpo.runs.zoo import PREFIX, ZooPolicy, zoo_policies, zoo_policy

_VERBS = {"list": "list all policies", "show": "describe one of them"}
FIGURES = {
    "J_r": ("EpRet", ".2f"),
    "M_c": ("EpCost", ".4f"),
    "safe": ("SafeRate", ".1%"),
    "time-outs": ("TimeoutRate", ".1%"),
}
"""Title → column of an evaluation, and its format."""


@dataclass(frozen=True)
class List:
    """List the trained policies that come with the package, with figures over fresh episodes.

    Next: `ascpo zoo show NAME` describes one, and `ascpo replay zoo:NAME` shows its worst episodes.
    """


@dataclass(frozen=True)
class Show:
    """Describe a policy: what it was trained for, how it does, and what its certificate says.

    The last lines are commands to go on with: every command that takes a run takes zoo:NAME too.
    """

    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")]
    """A suite, for the policy of ASCPO, or a suite and an algorithm: Point-1-Hazard, Point-1-Hazard/ascpo."""


def main(words: list[str]) -> None:
    verb, *rest = words or ["--help"]
    match verb:
        case "-h" | "--help":
            below = f"Commands that take a run's directory take {PREFIX}NAME too: ascpo replay {PREFIX}Point-1-Hazard"
            print(verbs_help("zoo", "Trained policies that come with the package.", _VERBS, below))
        case "list":
            parsed(List, rest, "ascpo zoo list")
            _list()
        case "show":
            _show(zoo_policy(parsed(Show, rest, "ascpo zoo show").name))
        case _:
            raise no_verb("zoo", verb, _VERBS)


def _list() -> None:
    from ascpo.evaluation.bound import rounded_down

    console = Console(highlight=False, markup=False)
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0))
    for title in ("name", *FIGURES, "target", "certified", "steps"):
        table.add_column(title, justify="left" if title == "name" else "right", no_wrap=True)
    for policy in zoo_policies():
        certified = rounded_down(policy.certificate["bound"])
        table.add_row(policy.name, *figures_of(policy), target_of(policy), certified, steps_of(policy))
    console.print(table)
    console.print(
        "J_r: mean return. M_c: mean sum of the costs of an episode. safe: share of the episodes that keep every "
        "limit in every state. time-outs: share that the time limit ends. target: the target probability of the "
        "training. certified: an episode is safe with at least this probability, with the confidence of the "
        "certificate."
    )


def _show(policy: ZooPolicy) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    evaluation, config = policy.evaluation, policy.config
    console.print(f"{PREFIX}{policy.name}, trained for {steps_of(policy)} steps with seed {config['seed']}")
    console.print(f"{evaluation['Episodes']} fresh episodes:")
    for (title, (column, _)), figure in zip(FIGURES.items(), figures_of(policy), strict=True):
        console.print(f"  {column:<12} {figure:>8}   ({title})")
    for line in policy.certificate["statement"]:
        console.print(line)
    console.print("To use it:")
    for command in ("replay", "evaluate", "certify --check", "report", "video"):
        console.print(f"  ascpo {command} {PREFIX}{policy.name}")


def figures_of(policy: ZooPolicy) -> list[str]:
    return [format(policy.evaluation[column], form) for column, form in FIGURES.values()]


def target_of(policy: ZooPolicy) -> str:
    """The target probability, if the algorithm has one."""
    goes_by_it = policy.config["method"].get("target", {}).get("kind") == "feedback"
    return f"{policy.config['settings']['probability']:g}" if goes_by_it else "–"


def steps_of(policy: ZooPolicy) -> str:
    return f"{policy.config['total_steps'] / 1e6:g} M"
