"""Groups of runs that differ only in their seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascpo.report.data import RunData
from ascpo.runs.serialization import flat


@dataclass(frozen=True, eq=False)
class Group:
    """Runs with the same settings, in the order of their seeds."""

    label: str
    """The settings in which it differs from the other groups."""
    slug: str
    """A unique name for files: letters, digits and dashes."""
    runs: tuple[RunData, ...]

    @property
    def first(self) -> RunData:
        return self.runs[0]

    def columns(self, name: str, constraint: str | None = None) -> np.ndarray | None:
        """A column as [seed, epoch], with nan after the end of a run; None unless every run has it."""
        found = [run.column(name, constraint) for run in self.runs]
        if any(column is None for column in found):
            return None
        longest = max(run.epochs for run in self.runs)
        out = np.full((len(found), longest), np.nan)
        for row, column in zip(out, found, strict=True):
            row[: len(column)] = column  # pyright: ignore[reportArgumentType]
        return out

    @property
    def constraints(self) -> tuple[str, ...]:
        """Their names. Only an evaluated run knows the name of a single constraint."""
        return next((run.constraints for run in self.runs if run.evaluation), self.first.constraints)

    def limit(self, constraint: str) -> float:
        """The limit of a constraint. The name of a single constraint does not matter."""
        known = dict(zip(self.constraints, self.first.limits, strict=False))
        return known.get(constraint, self.first.limits[0])

    @property
    def steps(self) -> np.ndarray:
        """The environment steps after each epoch of the longest run."""
        return max((run.metrics["TotalEnvInteracts"] for run in self.runs), key=len)


def groups_of(runs: Sequence[RunData]) -> list[Group]:
    """The groups, in the order of their first runs."""
    together: dict[str, list[RunData]] = {}
    for run in runs:
        together.setdefault(repr(sorted(_identity(run).items())), []).append(run)
    members = [sorted(found, key=lambda run: (run.seed, run.name)) for found in together.values()]
    labels = _labels([found[0] for found in members])
    taken: set[str] = set()
    return [Group(label, _slug(label, taken), tuple(found)) for label, found in zip(labels, members, strict=True)]


def by_constraint(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Constraint → the groups that have it. If every group has a single constraint, the name is empty."""
    if all(len(group.constraints) == 1 for group in groups):
        return {"": list(groups)}
    names = dict.fromkeys(name for group in groups for name in group.constraints)
    return {name: [group for group in groups if name in group.constraints] for name in names}


def differing(runs: Sequence[RunData]) -> list[str]:
    """The settings in which the runs differ, including the seed and settings that only some runs have."""
    flat = [flat_settings(run) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    return [name for name in names if len({repr(settings.get(name, _ABSENT)) for settings in flat}) > 1]


def flat_settings(run: RunData) -> dict[str, Any]:
    """The settings by their names on the command line."""
    return flat(run.config)


_ABSENT = object()
_LABELLED = ("env", "algo", "seed")
"""Settings that a label has already, or never has."""


def _identity(run: RunData) -> dict[str, Any]:
    return {name: value for name, value in flat_settings(run).items() if name != "seed"}


def _labels(firsts: Sequence[RunData]) -> list[str]:
    """The algorithm, the environment if there are several, and the settings that differ between runs of the two."""
    envs = {run.env for run in firsts}
    out = []
    for run in firsts:
        alike = [other for other in firsts if (other.env, other.algo) == (run.env, run.algo)]
        own = flat_settings(run)
        parts = [run.env] if len(envs) > 1 else []
        parts += [run.algo, *(_setting_label(name, own) for name in differing(alike) if name not in _LABELLED)]
        out.append(", ".join(parts))
    return out


def _setting_label(name: str, settings: Mapping[str, Any]) -> str:
    value = settings.get(name, "–")
    return shown(value) if name.rsplit(".", 1)[-1] in ("mode", "preset") else f"{name} {shown(value)}"


def shown(value: Any) -> str:
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
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return "-".join(part for part in plain.split("-") if part)[:60]


def _slug(label: str, taken: set[str]) -> str:
    base = file_name(label) or "runs"
    name, count = base, 2
    while name in taken:
        name, count = f"{base}-{count}", count + 1
    taken.add(name)
    return name
