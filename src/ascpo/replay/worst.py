"""The worst episodes that a run's last evaluation kept."""

from pathlib import Path
from typing import Literal

from ascpo.evaluation.records import Record, read_records
from ascpo.runs.directory import NoRun, find

Actions = Literal["sampled", "mean"]


def worst_records(run: Path, actions: Actions) -> list[Record]:
    """The worst first."""
    directory = find(run).path
    records = read_records(directory / f"worst-{actions}.safetensors")
    if not records:
        raise NoRun(f"The last evaluation kept no episodes. `ascpo evaluate {directory}` keeps the worst.")
    return records
