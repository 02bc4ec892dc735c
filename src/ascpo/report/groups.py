"""Runs that differ in nothing but their seed belong together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascpo.report.data import Run
from ascpo.runs.serialization import flat


@dataclass(frozen=True, eq=False)
class Group:
    """Runs of the same settings, by seed."""

    label: str
    """What tells it from the other groups."""
    slug: str
    """The same for names of files: letters, digits and dashes; no other group has it."""
    runs: tuple[Run, ...]

    @property
    def first(self) -> Run:
        return self.runs[0]

    def columns(self, name: str, constraint: str | None = None) -> np.ndarray | None:
        """[seed, epoch], with nan after a run's end; None unless every run has it."""
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
        """Their names; of a run that was judged, if there is one, since it knows the name of a single constraint."""
        return next((run.constraints for run in self.runs if run.evaluation), self.first.constraints)

    def limit(self, constraint: str) -> float:
        """That of the constraint; of a single one, whatever its name."""
        known = dict(zip(self.constraints, self.first.limits, strict=False))
        return known.get(constraint, self.first.limits[0])

    @property
    def steps(self) -> np.ndarray:
        """Steps of all environments after each epoch, of the longest run."""
        return max((run.metrics["TotalEnvInteracts"] for run in self.runs), key=len)


def groups_of(runs: Sequence[Run]) -> list[Group]:
    """In the order in which the first of each was named."""
    together: dict[str, list[Run]] = {}
    for run in runs:
        together.setdefault(repr(sorted(_identity(run).items())), []).append(run)
    members = [sorted(found, key=lambda run: (run.seed, run.name)) for found in together.values()]
    labels = _labels([found[0] for found in members])
    taken: set[str] = set()
    return [Group(label, _slug(label, taken), tuple(found)) for label, found in zip(labels, members, strict=True)]


def slots(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Constraint → the groups that have it. Where each has only one, it needs no name to be compared: the empty one."""
    if all(len(group.constraints) == 1 for group in groups):
        return {"": list(groups)}
    names = dict.fromkeys(name for group in groups for name in group.constraints)
    return {name: [group for group in groups if name in group.constraints] for name in names}


def differing(runs: Sequence[Run]) -> list[str]:
    """The settings in which some of the runs differ, the seed included. One that only some have differs."""
    flat = [flat_settings(run) for run in runs]
    names = dict.fromkeys(name for settings in flat for name in settings)
    return [name for name in names if len({repr(settings.get(name, _ABSENT)) for settings in flat}) > 1]


def flat_settings(run: Run) -> dict[str, Any]:
    """By the names that the command line knows them by."""
    return flat(run.config)


_ABSENT = object()
_SAID = ("env", "algo")
"""Settings that every label begins with, where they differ."""


def _identity(run: Run) -> dict[str, Any]:
    return {name: value for name, value in flat_settings(run).items() if name != "seed"}


def _labels(firsts: Sequence[Run]) -> list[str]:
    """As short as can be: the algorithm, the environment if there are several, and settings only among likes."""
    envs = {run.env for run in firsts}
    out = []
    for run in firsts:
        likes = [other for other in firsts if (other.env, other.algo) == (run.env, run.algo)]
        own = flat_settings(run)
        words = [run.env] if len(envs) > 1 else []
        words += [run.algo, *(_said(name, own) for name in differing(likes) if name not in (*_SAID, "seed"))]
        out.append(", ".join(words))
    return out


def _said(name: str, settings: Mapping[str, Any]) -> str:
    value = settings.get(name, "–")
    return shown(value) if name.rsplit(".", 1)[-1] in ("mode", "preset") else f"{name} {shown(value)}"


def shown(value: Any) -> str:
    """A setting's value as a person would write it."""
    if isinstance(value, list):
        return " ".join(map(shown, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}".replace(",", " ")
    return f"{value:g}" if isinstance(value, float) else str(value)


def file_name(text: str) -> str:
    """Only letters, digits and dashes."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return "-".join(part for part in plain.split("-") if part)[:60]


def _slug(label: str, taken: set[str]) -> str:
    base = file_name(label) or "runs"
    name, count = base, 2
    while name in taken:
        name, count = f"{base}-{count}", count + 1
    taken.add(name)
    return name
