"""A run as Python names it: by its directory, or by what `ascpo.train` returned. This module does not import JAX."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ascpo.runs.result import Result

RunLike: TypeAlias = "str | Path | Result"


def path_of(run: RunLike) -> Path:
    """The run's directory."""
    return Path(run) if isinstance(run, (str, Path)) else run.directory
