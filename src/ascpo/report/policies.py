"""The policies of a run: which one is the final one, whether the others fit it, and how it was selected."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ascpo.runs.files import BadFile, reading
from ascpo.runs.sealed import SealedArrays, fingerprint_of, policy_digest, read_arrays
from ascpo.runs.source import Source, source_of
from ascpo.runs.tables import Columns, check_table, columns_of, sums_of

POLICY, SELECTION = "policy.safetensors", "selection.csv"
OTHERS = {"policy-last.safetensors": "last", "policy-average.safetensors": "average"}
"""File of a policy → which of the training's policies it holds."""
_COLUMNS = (
    "FirstEpoch", "LastEpoch", "Episodes", "Violations", "Timeouts", "Failures", "UpperBound", "EpRet", "EpCost",
    "Checksum", "Selected",
)  # fmt: skip
"""Columns of a selection, which all hold numbers."""


@dataclass(frozen=True)
class PolicyData:
    """What a policy's file says."""

    digest: str
    epochs: int
    source: Source
    run: str
    """The fingerprint of its run."""
    checksum: int
    """The checksum of its parameters, as in selection.csv."""
    verified: bool


def read_policy_data(file: Path) -> PolicyData:
    found = read_arrays(file)
    with reading(file):
        return _data(found)


def _data(found: SealedArrays) -> PolicyData:
    about = found.about
    return PolicyData(
        digest=policy_digest(about, found.arrays),
        epochs=int(about["epochs"]),
        source=source_of(about),
        run=fingerprint_of(about["config"]),
        checksum=zlib.crc32(np.ascontiguousarray(found.arrays["theta"]).tobytes()),
        verified=found.verified,
    )


def doubts_about_others(path: Path, run: str, final: PolicyData | None) -> Iterator[tuple[str, str]]:
    """Pairs of a file and what is wrong with it, for the policies other than the final one."""
    for name, kind in OTHERS.items():
        if not (file := path / name).exists():
            continue
        try:
            other = read_policy_data(file)
        except BadFile as error:
            yield name, str(error)
            continue
        if other.run != run:
            yield name, f"{file} belongs to another run: its settings are not those of config.json."
        elif other.source.kind != kind:
            yield name, f"{file} does not hold the policy that its name says, but {other.source.description}."
        elif final is not None and other.epochs != final.epochs:
            yield name, f"{file} was saved after {other.epochs} epochs, and {POLICY} after {final.epochs}."
        elif final is not None and final.source.kind == kind and final.digest != other.digest:
            yield name, f"{file} and {POLICY} should hold the same policy, but differ."


def read_selection(file: Path, run: str, final: PolicyData | None) -> Columns:
    """Read the results of the last policies. Refuse a damaged file, or one that selected another policy."""
    selected = final is not None and final.source.kind == "selected"
    if not file.exists():
        if selected or sums_of(file).exists():
            raise BadFile(f"{file} is missing, but {POLICY} was selected by it.")
        return {}
    found = check_table(file)
    if found.damage or not found.verified or found.pending:
        raise BadFile(found.damage or f"{file} has lost checksums: {sums_of(file).name} does not have them all.")
    if found.run != run:
        raise BadFile(f"{file} belongs to another run: its fingerprint is not that of config.json.")
    columns = columns_of(file, found.lines)
    with reading(file):
        chosen = np.flatnonzero(columns["Selected"])
        names = [columns[name][chosen].tolist() for name in ("FirstEpoch", "LastEpoch", "Checksum")]
        if not all(np.isfinite(columns[name]).all() for name in _COLUMNS):
            raise ValueError("some of its numbers are not finite")
    if final is None or not selected:
        raise BadFile(f"{file} is stale: {POLICY} was not selected by it.")
    if names != [[final.source.first], [final.source.last], [final.checksum]]:
        raise BadFile(f"{file} is stale: it selected another policy than {POLICY}.")
    return columns
