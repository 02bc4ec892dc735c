"""Groups of runs that differ only in their seed."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascpo.choices import LimitKind
from ascpo.report import seeds
from ascpo.report.data import RunData


@dataclass(frozen=True, eq=False)
class Group:
    """Runs with the same settings, in the order of their seeds."""

    label: str
    """The settings in which it differs from the other groups."""
    slug: str
    """A unique name for files: letters, digits and dashes. It is empty for a single group."""
    runs: tuple[RunData, ...]
    index: int
    """Its index among the groups, which gives it the same colour everywhere."""

    @property
    def first(self) -> RunData:
        return self.runs[0]

    @property
    def distinction(self) -> str:
        """The label, if there are several groups."""
        return self.label if self.slug else ""

    def columns(self, name: str, constraint: str | None = None) -> np.ndarray | None:
        """A column as [seed, epoch], with nan after the end of a run; None unless every run has it."""
        found = [run.column(name, constraint) for run in self.runs]
        known = [column for column in found if column is not None]
        return seeds.stacked(known) if len(known) == len(found) else None

    @property
    def constraints(self) -> tuple[str, ...]:
        """Their names. Only an evaluated run knows the name of a single constraint."""
        return next((run.constraints for run in self.runs if run.evaluation), self.first.constraints)

    def limit(self, constraint: str) -> float:
        """The limit of a constraint. A single constraint may have any name."""
        known = dict(zip(self.constraints, self.first.limits, strict=False))
        return known.get(constraint, self.first.limits[0])

    def limit_on(self, kind: LimitKind, constraint: str) -> float | None:
        """The limit on the cost of every state, or on the sum of an episode's costs, whichever the runs have."""
        return self.limit(constraint) if self.first.limits_on == kind else None

    @property
    def steps(self) -> np.ndarray:
        """The environment steps after each epoch of the longest run."""
        return max((run.metrics["TotalEnvInteracts"] for run in self.runs), key=len)


def groups_of(runs: Sequence[RunData]) -> list[Group]:
    """The groups, in the order of their first runs."""
    together: dict[str, list[RunData]] = {}
    for run in runs:
        together.setdefault(repr(sorted({**run.settings, "seed": None, "seeding": None}.items())), []).append(run)
    members = [sorted(found, key=lambda run: (run.seed, run.name)) for found in together.values()]
    labels = _labels([found[0] for found in members])
    slugs = _slugs(labels) if len(labels) > 1 else [""]
    return [Group(*named, index) for index, named in enumerate(zip(labels, slugs, map(tuple, members), strict=True))]


def environments(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(group.first.env for group in groups))


def by_constraint(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Constraint → the groups that have it. If every group has a single constraint, the name is empty."""
    if all(len(group.constraints) == 1 for group in groups):
        return {"": list(groups)}
    names = dict.fromkeys(name for group in groups for name in group.constraints)
    return {name: [group for group in groups if name in group.constraints] for name in names}


def differing(runs: Sequence[RunData]) -> list[str]:
    """The settings in which the runs differ, including the seed and settings that only some runs have."""
    every = [run.settings for run in runs]
    names = dict.fromkeys(name for settings in every for name in settings)
    return [name for name in names if len({repr(settings.get(name, _ABSENT)) for settings in every}) > 1]


_ABSENT = object()
_LABELLED = ("env", "algo", "seed", "seeding")
"""Settings that a label names separately, or never."""


def _labels(firsts: Sequence[RunData]) -> list[str]:
    """The algorithm, the environment if there are several, the preset, and the settings that differ beyond these."""
    envs = {run.env for run in firsts}
    out = []
    for run in firsts:
        alike = [other for other in firsts if (other.env, other.algo, other.preset) == (run.env, run.algo, run.preset)]
        parts = [run.env, run.algo] if len(envs) > 1 else [run.algo]
        parts += [f"preset {run.preset}"] if run.preset else []
        for name in [name for name in differing(alike) if name not in _LABELLED]:
            value = shown(run.settings.get(name, "–"))
            parts.append(value if name.rsplit(".", 1)[-1] in ("mode", "preset") else f"{name} {value}")
        out.append(", ".join(parts))
    return out


def shown(value: object) -> str:
    """The value of a setting, for people."""
    if isinstance(value, list):
        return " ".join(map(shown, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}".replace(",", " ")
    return f"{value:g}" if isinstance(value, float) else str(value)


def file_name(text: str) -> str:
    """The text in letters, digits and dashes."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:60]


def _slugs(labels: Sequence[str]) -> list[str]:
    out: list[str] = []
    for label in labels:
        base = file_name(label) or "runs"
        numbered = (f"{base}-{count}" for count in itertools.count(2))
        out.append(next(name for name in itertools.chain([base], numbered) if name not in out))
    return out
