"""Records of episodes: the seed and the actions. An episode can be repeated from them, bit for bit.

A file holds arrays and plain data; loading it executes nothing.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ascpo.engines.contract import EpisodeId
from ascpo.experience.episodes import LimitKind
from ascpo.runs.directory import NoRun, write_whole

_FORMAT = "ascpo episodes 1"


@dataclass(frozen=True)
class Record:
    """One episode."""

    env: str
    cost_names: tuple[str, ...]
    limits: tuple[float, ...]
    seed: int
    episode: int
    """Its number among those of the seed."""
    actions: Float[np.ndarray, "time act"]
    """As the environment took them, in the policy's units."""
    reward: float
    maximum: tuple[float, ...]
    """The largest cost of each constraint."""
    first_violation: tuple[int, ...]
    """The first step over the limit of each constraint, counted from 0; -1 where there is none."""
    mean_action: bool = False
    limits_on: LimitKind = "state"

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


def write_records(path: Path, records: list[Record]) -> None:
    """Write all records into one file of some kilobytes."""
    from safetensors.numpy import save

    plain = [{name: value for name, value in vars(record).items() if name != "actions"} for record in records]
    about = {"format": _FORMAT, "episodes": plain}
    arrays = {f"actions{i}": np.ascontiguousarray(record.actions, np.float32) for i, record in enumerate(records)}
    write_whole(path, save(arrays, {"ascpo": json.dumps(about)}))


def read_records(path: Path) -> list[Record]:
    """Read the records in the order in which they were written: the worst first."""
    from safetensors import SafetensorError, safe_open

    if not path.exists():
        raise NoRun(f"{path} does not exist. `ascpo evaluate {path.parent}` keeps the worst episodes.")
    try:
        with safe_open(path, framework="numpy") as opened:
            about = json.loads((opened.metadata() or {}).get("ascpo", "{}"))
            if about.get("format") != _FORMAT:
                raise ValueError(f"its format is {about.get('format')!r}")
            return [_record(data, opened.get_tensor(f"actions{i}")) for i, data in enumerate(about["episodes"])]
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise NoRun(f"{path} holds no episodes of this program, or it is damaged: {error}.") from error


def _record(data: dict[str, object], actions: Float[np.ndarray, "time act"]) -> Record:
    lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
    return Record(**{**data, **lists, "actions": actions})  # pyright: ignore[reportArgumentType]
