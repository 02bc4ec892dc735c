"""The files of an evaluation in a run's directory, and whether they belong together.

evaluation.json is written last. It has its own checksum, the checksums of the other files and the digest of the policy
that was evaluated. Readers trust only the files that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascpo.runs.files import BadFile, checksum, reading
from ascpo.runs.sealed import fingerprint_of, read_sealed, sealed_json
from ascpo.runs.serialization import Plain

FILE = "evaluation.json"
KINDS = ("sampled", "mean")
"""Kinds of actions."""


@dataclass(frozen=True)
class EvaluationFile:
    """The content of evaluation.json."""

    figures: Plain
    """The figures of each kind of actions, the policy's digest, the limits and the seed."""
    files: Mapping[str, str]
    """The other files by name, with their checksums."""
    verified: bool
    """Whether the file has checksums. Earlier versions wrote none."""
    run: str = ""
    """The fingerprint of the run that was evaluated."""

    def trouble(self, directory: Path, name: str) -> str:
        """A sentence about what is wrong with a file. Empty if its checksum matches, or is unknown."""
        file = directory / name
        if not self.verified:
            return ""
        if name not in self.files:
            return f"{file} does not belong to {directory / FILE}." if file.exists() else ""
        if not file.exists():
            return f"{file} is missing. {_AGAIN} {directory}"
        with reading(file):
            same = checksum(file.read_bytes()) == self.files[name]
        return "" if same else f"{file} is damaged, or belongs to another evaluation than {FILE}. {_AGAIN} {directory}"


_AGAIN = "Evaluate again: ascpo evaluate"


def episodes_file(kind: str) -> str:
    return f"episodes-{kind}.csv"


def worst_file(kind: str) -> str:
    return f"worst-{kind}.safetensors"


def read_evaluation(directory: Path) -> EvaluationFile:
    """Read evaluation.json. A damaged file is an error."""
    found = read_sealed(directory / FILE, "evaluation")
    with reading(directory / FILE):
        figures = dict(found.content)
        files = figures.pop("files", {})
        wrong = [kind for kind in KINDS if not isinstance(figures.get(kind, {}), dict)]
        if wrong or not isinstance(files, dict):
            raise ValueError(f"{(wrong or ['files'])[0]} is not a dictionary")
        return EvaluationFile(figures, files, found.verified, found.run)


def evaluation_text(figures: Plain, files: Mapping[str, bytes | str], run: str) -> str:
    """The text of evaluation.json for these files, given by their content or their checksums."""
    sums = {name: one if isinstance(one, str) else checksum(one) for name, one in sorted(files.items())}
    return sealed_json("evaluation", {**figures, "files": sums}, run)


def check_belongs(directory: Path, name: str) -> None:
    """Raise an error for a file that does not belong to the evaluation of this run."""
    if not (directory / FILE).exists():
        return
    evaluation = read_evaluation(directory)
    if trouble := evaluation.trouble(directory, name):
        raise BadFile(trouble)
    config = read_sealed(directory / "config.json", "config").content
    if evaluation.verified and evaluation.run != fingerprint_of(config):
        raise BadFile(f"{directory / FILE} belongs to another run: its fingerprint is not that of config.json.")
