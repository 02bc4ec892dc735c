"""From the path that a user types to the directory of a run. This module imports nothing slow, so that typing errors
are answered at once."""

from pathlib import Path

from ascpo.errors import nearest
from ascpo.runs.files import NoRun
from ascpo.runs.zoo import PLACE, PREFIX, zoo_policy

_OFFERED = 20
"""Largest number of runs that an error message suggests."""
FOREIGN = ("sb3", "onnx", "python")
"""Kinds of policies from other libraries."""


def is_foreign(name: str) -> bool:
    """Whether this names a policy of another library, such as sb3:ppo.zip."""
    return name.partition(":")[0] in FOREIGN and ":" in name


def run_place(path: Path) -> Path:
    """The directory of an existing run. Runs of the zoo are unpacked first."""
    if str(path).startswith(PREFIX):
        return zoo_policy(str(path)).unpack(PLACE)
    path = path.parent if path.is_file() else path
    if (path / "config.json").exists():
        return path
    place = path if path.is_dir() else path.parent
    # Not deeper: a mistyped path may lead to the root of the disk.
    beside = sorted(file.parent for pattern in ("*/config.json", "*/*/config.json") for file in place.glob(pattern))
    if not beside:
        raise NoRun(f"{path} holds no run. `ascpo list runs DIRECTORY` lists the runs in a directory.")
    raise NoRun(f"{path} holds no run. {nearest(path.name, map(str, beside[:_OFFERED]))}")
