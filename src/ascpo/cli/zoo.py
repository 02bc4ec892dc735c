"""`ascpo zoo list`, `ascpo zoo show NAME`: the trained policies that come with the package."""

from dataclasses import dataclass
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from ascpo.cli.parsing import parsed
from ascpo.cli.usage import WrongUsage
from ascpo.errors import nearest
from ascpo.evaluation.statement import rounded_down
from ascpo.ranges import shown
from ascpo.runs.zoo import PREFIX, ZooPolicy, zoo_policies, zoo_policy

_VERBS = {"list": "list all policies", "show": "describe one of them"}
_FIGURES = {
    "J_r": ("EpRet", ".2f"),
    "M_c": ("EpMaxCost", ".4f"),
    "safe": ("SafeRate", ".1%"),
    "late": ("TimeoutRate", ".1%"),
}


@dataclass(frozen=True)
class List:
    """List the trained policies that come with the package, with figures over fresh episodes."""


@dataclass(frozen=True)
class Show:
    """Describe a policy: what it was trained for, how it does, and what its certificate says."""

    name: Annotated[str, tyro.conf.Positional]
    """A suite, for the policy of ASCPO, or a suite and an algorithm: Ant-8-Hazard, Ant-8-Hazard/trpo."""


def main(words: list[str]) -> None:
    verb, *rest = words or ["--help"]
    match verb:
        case "-h" | "--help":
            print(_help())
        case "list":
            parsed(List, rest, "ascpo zoo list")
            _list()
        case "show":
            _show(zoo_policy(parsed(Show, rest, "ascpo zoo show").name))
        case _:
            advice = "`ascpo zoo --help` describes all verbs."
            raise WrongUsage(f"There is no {shown(verb)}. {nearest(verb, _VERBS)}\n{advice}")


def _help() -> str:
    verbs = "\n".join(f"  {name:<6} {what}" for name, what in _VERBS.items())
    return (
        f"Trained policies that come with the package.\n\nusage: ascpo zoo VERB ...\n\n{verbs}\n\n"
        f"Commands that take a run's directory take {PREFIX}NAME too: ascpo replay {PREFIX}Point-8-Hazard"
    )


def _list() -> None:
    console = Console(highlight=False, markup=False)
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("name", *_FIGURES, "certified", "steps"):
        table.add_column(title, justify="left" if title == "name" else "right", no_wrap=True)
    for policy in zoo_policies():
        table.add_row(policy.name, *_figures(policy), rounded_down(policy.certificate["bound"]), _steps(policy))
    console.print(table)
    console.print(
        "J_r: mean return. M_c: mean of the largest cost of an episode. safe: share of the episodes that keep every "
        "limit in every state. late: share that the time limit ends. certified: an episode is safe with at least this "
        "probability, with the confidence that the certificate names."
    )


def _show(policy: ZooPolicy) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    evaluation, config = policy.evaluation, policy.config
    console.print(f"{PREFIX}{policy.name}, trained for {_steps(policy)} steps with seed {config['seed']}")
    console.print(f"{evaluation['Episodes']} fresh episodes:")
    for (title, (column, _)), figure in zip(_FIGURES.items(), _figures(policy), strict=True):
        console.print(f"  {column:<12} {figure:>8}   ({title})")
    for line in policy.certificate["statement"]:
        console.print(line)
    console.print("To go on:")
    for command in ("replay", "evaluate", "certify --check", "report", "video"):
        console.print(f"  ascpo {command} {PREFIX}{policy.name}")


def _figures(policy: ZooPolicy) -> list[str]:
    return [format(policy.evaluation[column], form) for column, form in _FIGURES.values()]


def _steps(policy: ZooPolicy) -> str:
    return f"{policy.config['total_steps'] / 1e6:g} M"
