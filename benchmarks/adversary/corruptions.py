"""Damaged files: bits flipped, files cut, emptied, deleted, swapped or of another run, under every verb that reads."""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.adversary.outcome import Answer, Try, judge
from benchmarks.adversary.subject import copy, run_verb, verbs

_FEW = ("list", "report", "resume")
"""Verbs for files of checkpoints, which only a resumed training reads."""


@dataclass(frozen=True)
class Corruption:
    """A file of the run, and what is done to it."""

    file: str
    kind: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.file}: {self.kind} ({self.number})"

    @property
    def verbs(self) -> tuple[str, ...] | None:
        return _FEW if self.file.startswith("checkpoints/") else None

    def apply(self, run: Path, stranger: Path) -> None:
        path, rng = run / self.file, random.Random(f"{self}")
        _KINDS[self.kind](path, stranger / self.file, rng)


def _flip(path: Path, _: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _digit(path: Path, other: Path, rng: random.Random) -> None:
    """A digit becomes another one: what is written stays well formed."""
    content = bytearray(path.read_bytes())
    digits = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return _flip(path, other, rng)
    at = rng.choice(digits)
    content[at] = 48 + (content[at] - 48 + rng.randint(1, 9)) % 10
    path.write_bytes(content)
    return None


def _cut(path: Path, _: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(max(len(content), 1))])


def _line(path: Path, _: Path, rng: random.Random) -> None:
    """A line less."""
    lines = path.read_bytes().splitlines(keepends=True)
    if len(lines) > 1:
        del lines[rng.randrange(1, len(lines))]
    path.write_bytes(b"".join(lines))


def _empty(path: Path, _: Path, __: random.Random) -> None:
    path.write_bytes(b"")


def _delete(path: Path, _: Path, __: random.Random) -> None:
    path.unlink()


def _directory(path: Path, _: Path, __: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _stale(path: Path, other: Path, _: random.Random) -> None:
    """The file of the same name of another run."""
    if other.exists():
        shutil.copyfile(other, path)


def _swap(path: Path, _: Path, rng: random.Random) -> None:
    """The content of another file of this run."""
    others = [
        file for file in sorted(path.parent.iterdir()) if file.is_file() and file != path and file.name != ".lock"
    ]
    if others:
        shutil.copyfile(rng.choice(others), path)


def _noise(path: Path, _: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(max(path.stat().st_size, 1)))


def _deep(path: Path, _: Path, __: random.Random) -> None:
    """JSON so deep that a parser gives up."""
    path.write_text("[" * 100_000)


_KINDS: dict[str, Callable[[Path, Path, random.Random], None]] = {
    "bit flipped": _flip,
    "digit changed": _digit,
    "cut": _cut,
    "line less": _line,
    "empty": _empty,
    "deleted": _delete,
    "a directory": _directory,
    "of another run": _stale,
    "another file's content": _swap,
    "noise": _noise,
    "deep": _deep,
}
_OFTEN = {"bit flipped": 3, "digit changed": 3, "cut": 2}


def plan(count: int, seed: int, run: Path) -> list[Corruption]:
    """Every file in every way, in an order of its own for each seed; the files of checkpoints come up less often."""
    rng = random.Random(seed)
    files = [str(file.relative_to(run)) for file in sorted(run.rglob("*")) if file.is_file() and file.name != ".lock"]
    own = [file for file in files if not file.startswith("checkpoints/")]
    saved = [file for file in files if file.startswith("checkpoints/")]
    first = [Corruption(file, kind, n) for file in own for kind in _KINDS for n in range(_OFTEN.get(kind, 1))]
    second = [Corruption(file, kind) for file in saved for kind in _KINDS]
    rng.shuffle(first)
    rng.shuffle(second)
    few = min(count // 5, len(second))
    return first[: count - few] + second[:few]


def references(subject: Path, place: Path) -> dict[str, Answer]:
    run = copy(subject, place / "whole" / "runs" / "a")
    return {verb: run_verb(verb, words, run) for verb, words in verbs(run).items()}


def attempt(
    corruption: Corruption, subject: Path, stranger: Path, expected: dict[str, Answer], place: Path
) -> Iterator[Try]:
    """Every verb on a damaged copy, one after the other."""
    run = copy(subject, place / "runs" / "a")
    corruption.apply(run, stranger)
    for verb, words in verbs(run).items():
        if corruption.verbs is None or verb in corruption.verbs:
            outcome, why = judge(run_verb(verb, words, run), expected[verb])
            yield Try(f"corruptions: {verb}", str(corruption), outcome, why)
