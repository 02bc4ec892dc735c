"""Where runs are, as people type it. Nothing heavy is imported here: a mistyped path is answered at once."""

from pathlib import Path

from ascpo.errors import nearest
from ascpo.runs.files import NoRun
from ascpo.runs.zoo import PLACE, PREFIX, zoo_policy

_OFFERED = 20
"""Runs that a message about a missing one names at most."""
FOREIGN = ("sb3", "onnx", "python")
"""Kinds of policies that no run of this package has trained."""


def is_foreign(name: str) -> bool:
    """Whether it is the name of a policy from elsewhere, such as sb3:ppo.zip."""
    return name.partition(":")[0] in FOREIGN and ":" in name


def run_place(path: Path) -> Path:
    """The directory of an existing run. One of the zoo is unpacked."""
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
