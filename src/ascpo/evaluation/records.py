"""Records of episodes: the seed and the actions. From them, the same kind of machine repeats an episode bit for bit.

A file holds arrays and plain data, a checksum of both, and the digest of the policy that acted. Loading it executes
nothing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from jaxtyping import Float

from ascpo.choices import LimitKind
from ascpo.runs.files import BadFile, NoRun, reading
from ascpo.runs.sealed import read_arrays, sealed_arrays
from ascpo.runs.serialization import Plain
from ascpo.seeding import EpisodeId

_FORMAT = "ascpo episodes 1"


@dataclass(frozen=True)
class Record:
    """One episode."""

    env: str
    cost_names: tuple[str, ...]
    limits: tuple[float, ...]
    seed: int
    episode: int
    """The number of the episode among those of the seed."""
    actions: Float[np.ndarray, "time act"]
    """The actions that the environment took, in the policy's units."""
    reward: float
    maximum: tuple[float, ...]
    """The largest cost of each constraint."""
    first_violation: tuple[int, ...]
    """For each constraint, the first step over its limit, counted from 0; -1 if there is none."""
    mean_action: bool = False
    limits_on: LimitKind = "state"
    machine: str = ""
    """The kind of machine that played the episode. Earlier versions did not record it."""

    @property
    def origin(self) -> EpisodeId:
        return self.seed, self.episode

    @property
    def violated(self) -> tuple[str, ...]:
        """The violated constraints, the first violation first."""
        steps = {name: step for name, step in zip(self.cost_names, self.first_violation, strict=True) if step >= 0}
        return tuple(sorted(steps, key=steps.__getitem__))

    def __len__(self) -> int:
        return len(self.actions)


def records_content(records: list[Record], policy: str = "") -> bytes:
    """The content of a file with these records, a few kilobytes. `policy` is the digest of the policy that acted."""
    plain = [{name: value for name, value in vars(record).items() if name != "actions"} for record in records]
    about = {"format": _FORMAT, "policy": policy, "episodes": plain}
    return sealed_arrays(about, {f"actions{i}": np.asarray(one.actions, np.float32) for i, one in enumerate(records)})


def read_records(path: Path) -> list[Record]:
    """Read the records in the order in which they were written: the worst first."""
    if not path.exists():
        raise NoRun(f"{path} does not exist. `ascpo evaluate {path.parent}` keeps the worst episodes.")
    found = read_arrays(path)
    with reading(path):
        if found.about.get("format") != _FORMAT:
            raise BadFile(f"{path} holds no episodes of this program: its format is {found.about.get('format')!r}.")
        return [_record(data, found.arrays[f"actions{i}"]) for i, data in enumerate(found.about["episodes"])]


def _record(data: Plain, actions: np.ndarray) -> Record:
    lists: Plain = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
    record = Record(**(data | lists | {"actions": actions}))
    _check(record)
    return record


def _check(record: Record) -> None:
    """Refuse invalid records. Files of earlier versions have no checksum that would find them."""
    numbers = {"limits": float, "maximum": float, "first_violation": int}
    for name, kind in numbers.items():
        values = getattr(record, name)
        if len(values) != len(record.cost_names) or not all(isinstance(one, (int, kind)) for one in values):
            raise ValueError(f"{name}={values!r} does not fit the costs {record.cost_names}")
    whole = isinstance(record.seed, int) and isinstance(record.episode, int) and isinstance(record.reward, (int, float))
    if record.actions.ndim != 2 or not isinstance(record.env, str) or not whole:
        raise ValueError("a record has values of the wrong type")
    if record.limits_on not in get_args(LimitKind):
        raise ValueError(f"limits_on={record.limits_on!r} is not known")
