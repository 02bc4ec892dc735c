"""Files with a checksum inside: JSON, and arrays as safetensors. Loading them executes no code.

The checksum detects accidents, such as a flipped bit or a file of another run. It is not a signature, since anyone who
changes a file can compute it. Files of earlier versions have none. They are read, and marked as unverified.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ascpo.runs.files import BadFile, checksum, read_json, reading, write_whole
from ascpo.runs.serialization import Plain

UNVERIFIED = "unverified (written by an earlier version)"
CHANGEABLE = ("total_steps", "final_policy", "validation_episodes")
"""Settings that may change when a run is resumed: its length, and which of its policies is the final one."""
RENAMED_FIELDS = {"hand_out": "final_policy"}
"""Renamed fields of a config, outside its settings: earlier name → present name. Such a one is changeable, too."""
SEAL = "checksum"
"""The entry of a sealed file that is not part of its content."""
_SUM = "sha256"


@dataclass(frozen=True)
class Sealed:
    """The content of a file."""

    content: Plain
    run: str = ""
    """The fingerprint of the run that the file belongs to, if the file has it."""
    verified: bool = False


@dataclass(frozen=True, eq=False)
class SealedArrays:
    """Arrays by name, and plain data about them."""

    about: Plain
    arrays: Mapping[str, np.ndarray]
    verified: bool


def fingerprint_of(plain: Mapping[str, object]) -> str:
    """A checksum of the settings that decide the numbers of every epoch, without those that a resumed run may
    change."""
    counted = {name: value for name, value in plain.items() if name not in ("preset", *CHANGEABLE, *RENAMED_FIELDS)}
    counted |= {"total_steps": None}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:16]


def sealed_json(kind: str, content: Plain, run: str = "") -> str:
    """The text of a JSON file with a checksum. It depends on `kind`, so that a file of another kind is refused."""
    seal = {"run": run, "sha256": _sum_of(kind, content, run)}
    return json.dumps({**content, SEAL: seal}, indent=2) + "\n"


def write_sealed(path: Path, kind: str, content: Plain, run: str = "") -> None:
    write_whole(path, sealed_json(kind, content, run))


def read_sealed(path: Path, kind: str) -> Sealed:
    """Read a JSON file, and refuse it if its checksum does not fit."""
    content = read_json(path)
    with reading(path):
        seal = content.pop(SEAL, None)
        if seal is None:
            return Sealed(content)
        run = str(seal["run"])
        if seal["sha256"] != _sum_of(kind, content, run):
            raise BadFile(
                f"{path} was changed after it was written: its checksum does not fit. Restore it. If you changed it on "
                f'purpose, remove "{SEAL}" from it.'
            )
        return Sealed(content, run, verified=True)


def _sum_of(kind: str, content: Plain, run: str) -> str:
    return checksum(json.dumps([kind, run, content], sort_keys=True).encode())[:16]


def sealed_arrays(about: Plain, arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of a safetensors file.

    All metadata is in one entry, because the order of several entries varies.
    """
    from safetensors.numpy import save

    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(kept, {"ascpo": json.dumps(about | {_SUM: _sum_of_arrays(about, kept)})})


def read_arrays(path: Path) -> SealedArrays:
    """Read a safetensors file, and refuse it if its checksum does not fit."""
    from safetensors import safe_open

    with reading(path):
        if not path.is_file():
            raise ValueError("it is not a file" if path.exists() else "it does not exist")
        with safe_open(path, framework="numpy") as opened:
            known = opened.metadata() or {}
            arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (it is not a mapping)
        about = json.loads(known.get("ascpo", "{}"))
        if not isinstance(about, dict):
            raise ValueError("it does not hold a dictionary")
        expected = about.pop(_SUM, None)
        if expected is not None and expected != _sum_of_arrays(about, arrays):
            raise BadFile(f"{path} is damaged: its checksum does not fit its content. Restore it, or create it again.")
        return SealedArrays(about, arrays, verified=expected is not None)


def _sum_of_arrays(about: Plain, arrays: Mapping[str, np.ndarray]) -> str:
    hashed = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        hashed.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()[:32]


def policy_digest(about: Plain, arrays: Mapping[str, np.ndarray]) -> str:
    """A checksum of everything that determines a policy's actions.

    It covers the config in the spelling of the file, so that the digest does not change when settings are renamed.
    """
    hashed = hashlib.sha256()
    for name in ("theta", "low", "high"):
        hashed.update(np.ascontiguousarray(arrays[name], np.float32).tobytes())
    config = {name: value for name, value in about["config"].items() if name not in (*CHANGEABLE, *RENAMED_FIELDS)}
    plain = {**config, "total_steps": None, "cost_names": about["cost_names"]}
    hashed.update(json.dumps(plain, sort_keys=True).encode())
    return hashed.hexdigest()
