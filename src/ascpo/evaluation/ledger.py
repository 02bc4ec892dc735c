"""The list of all looks at a run: `certificates.jsonl` in its directory.

A look is recorded before its first episode is played, so that an interrupted one counts too. The number of a look
decides how much of the error it may spend, so two processes must never get the same number: a lock guards the file.

    {"format": …, "run": fingerprint of the config, "earlier": certificates from before there was a list, "chain": …}
    {"look": 1, "policy": …, "experiment": …, "world": …, "probability": …, "confidence": …, "episodes": …, "chain": …}
    {"look": 1, "violations": [of all limits together, of each one …], "chain": …}

`chain` is a checksum of the line and of the chain before it. It detects a line that was changed, moved or removed.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import filelock

from ascpo.runs.files import write_whole
from ascpo.runs.serialization import Plain

FILE = "certificates.jsonl"
_FORMAT = "ascpo certificates 1"
_LOCK_TIMEOUT = 60.0
"""Seconds to wait for another process. Each holds the lock for a few milliseconds."""


class BadLedger(ValueError):
    """The list of looks is damaged, or belongs to another run."""


@dataclass(frozen=True)
class Look:
    """One look at a run."""

    policy: str
    """The policy's digest."""
    experiment: str
    """The checksum of what decides the episodes."""
    world: str
    probability: float
    confidence: float
    episodes: int

    @property
    def identity(self) -> tuple[str, str, str]:
        """The identity of a look: the same episodes of the same policy in the same world are the same look."""
        return self.policy, self.experiment, self.world


@dataclass(frozen=True)
class Entry:
    """A look in the list."""

    look: Look
    chain: str
    violations: tuple[int, ...] | None = None
    """The counted violations; None until its episodes have been played."""


@dataclass(frozen=True)
class Ledger:
    """All looks at a run, the first one first."""

    path: Path
    run: str
    """The fingerprint of the run's config."""
    earlier: int
    """The number of certificates that the run had before the list existed. They count as looks."""
    lines: tuple[Plain, ...]
    entries: tuple[Entry, ...] = ()

    def number_for(self, look: Look) -> int:
        """The look's number if it is in the list, otherwise the next number."""
        known = [entry.look.identity for entry in self.entries]
        return self.earlier + 1 + (known.index(look.identity) if look.identity in known else len(known))

    def entry(self, number: int) -> Entry | None:
        place = number - self.earlier - 1
        return self.entries[place] if 0 <= place < len(self.entries) else None

    def with_look(self, look: Look) -> "Ledger":
        return self._and(_chained({"look": self.number_for(look), **asdict(look)}, self.lines))

    def with_result(self, number: int, violations: tuple[int, ...]) -> "Ledger":
        return self._and(_chained({"look": number, "violations": list(violations)}, self.lines))

    def _and(self, line: Plain) -> "Ledger":
        return _parsed(self.path, self.run, (*self.lines, line))


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Lock out other processes and threads. The lock of a process that dies is released."""
    lock = filelock.FileLock(directory / ".certificates.lock")
    try:
        lock.acquire(timeout=_LOCK_TIMEOUT)
    except filelock.Timeout:
        raise BadLedger(
            f"Another process has held {directory / '.certificates.lock'} for {_LOCK_TIMEOUT:g} seconds. Wait for that "
            f"process, or end it."
        ) from None
    try:
        yield
    finally:
        lock.release()


def read_ledger(directory: Path, run: str) -> Ledger | None:
    """The list of a run, or None if there is none yet."""
    path = directory / FILE
    if not path.exists():
        return None
    text = path.read_text(errors="replace")
    if not text.endswith("\n"):
        raise _damaged(path, "its last line is not complete")
    lines: list[Plain] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("chain") != _chained(_content(found), lines)["chain"]:
            raise _damaged(path, f"line {number} does not follow from the lines before it")
        lines.append(found)
    return _parsed(path, run, tuple(lines))


def new_ledger(directory: Path, run: str, earlier: int) -> Ledger:
    """An empty list, not yet written."""
    line = _chained({"format": _FORMAT, "run": run, "earlier": earlier}, ())
    return Ledger(directory / FILE, run, earlier, (line,))


def take_look(ledger: Ledger, look: Look) -> Ledger:
    """Record a look, unless it is in the list already. The caller holds the lock."""
    if any(entry.look.identity == look.identity for entry in ledger.entries):
        return ledger
    return _written(ledger.with_look(look))


def write_result(ledger: Ledger, number: int, violations: tuple[int, ...]) -> Ledger:
    """Record the count of a look, and refuse a count that differs from an earlier one. The caller holds the lock."""
    entry = ledger.entry(number)
    if entry is None:
        raise BadLedger(f"{ledger.path} no longer has look {number}. Restore the original file.")
    if entry.violations is None:
        return _written(ledger.with_result(number, violations))
    if entry.violations != violations:
        raise BadLedger(
            f"Look {number} first counted {entry.violations[0]} violations ({ledger.path}), and now {violations[0]}. "
            f"The same scenes and actions give the same episodes, unless the environment was changed or is not "
            f"determined by its seed. The first count stands. For another look, use another number of --episodes."
        )
    return ledger


def _parsed(path: Path, run: str, lines: tuple[Plain, ...]) -> Ledger:
    """The looks in lines whose chain was verified."""
    try:
        first, *others = lines
        if first["format"] != _FORMAT:
            raise _damaged(path, f"its format is {first['format']!r}, not {_FORMAT!r}")
        if first["run"] != run:
            raise BadLedger(
                f"{path} belongs to a run with another config. Restore the file of this run, or its config.json."
            )
        ledger = Ledger(path, run, int(first["earlier"]), lines)
        for line in others:
            ledger = replace(ledger, entries=_with(ledger, line))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadLedger):
            raise
        raise _damaged(path, f"a line is not valid: {error}") from error
    return ledger


def _with(ledger: Ledger, line: Plain) -> tuple[Entry, ...]:
    """The looks after one more line, which adds a look or its result."""
    entries, place = ledger.entries, line["look"] - ledger.earlier - 1
    if "violations" in line:
        if place not in range(len(entries)):
            raise ValueError(f"look {line['look']} has a result, but was never taken")
        return (*entries[:place], replace(entries[place], violations=tuple(line["violations"])), *entries[place + 1 :])
    if place != len(entries):
        raise ValueError(f"look {line['look']} is out of order")
    about = {name: value for name, value in line.items() if name not in ("look", "chain")}
    return (*entries, Entry(Look(**about), line["chain"]))


def _written(ledger: Ledger) -> Ledger:
    write_whole(ledger.path, "".join(json.dumps(line) + "\n" for line in ledger.lines))
    return ledger


def _chained(content: Plain, before: tuple[Plain, ...] | list[Plain]) -> Plain:
    chain = before[-1]["chain"] if before else ""
    text = json.dumps(content, sort_keys=True)
    return content | {"chain": hashlib.sha256(f"{chain}\n{text}".encode()).hexdigest()}


def _content(line: object) -> Plain:
    return {name: value for name, value in line.items() if name != "chain"} if isinstance(line, dict) else {}


def _damaged(path: Path, what: str) -> BadLedger:
    return BadLedger(
        f"{path} is damaged: {what}. It lists all looks at this run, and without it their number is unknown. Restore "
        f"the original file."
    )
