"""What may come of a try, and how it is told.

survived    the command ended as if nothing had happened, or what was left went on and ended with the same bytes
sentence    it was refused, or what it shows is marked as damaged, in words
traceback   a traceback, a crash or a hang
silent      another result than the undamaged one, without a word
lost        work that was finished could not be continued
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["survived", "sentence", "traceback", "silent", "lost"]
BAD: tuple[Outcome, ...] = ("traceback", "silent", "lost")
OUTCOMES: tuple[Outcome, ...] = ("survived", "sentence", *BAD)
_LONGEST = 15
"""The most lines that still count as a sentence and its advice."""


@dataclass(frozen=True)
class Try:
    """One try and its outcome."""

    part: str
    what: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True)
class Answer:
    """What a command said and left behind."""

    status: int
    said: str
    complained: str
    product: str = ""
    """The content of the files that it is for."""
    operations: int = 0
    """How often it wrote, renamed or opened for writing below the directory that was watched."""

    @property
    def broke(self) -> bool:
        """A traceback, a crash, a hang, or pages of text."""
        text = self.complained
        return "Traceback (most recent call last)" in text or self.status < 0 or len(text.splitlines()) > _LONGEST

    @property
    def refused(self) -> bool:
        return self.status > 0 and bool(self.complained.strip())


_MARKS = re.compile(
    r"damaged|unverified|stale|changed|does not (fit|belong|agree)|cannot be (used|read)|not (whole|complete|readable)"
    r"|no longer|another (policy|run|version)|missing|`?ascpo (evaluate|certify)|has no|not been|is not a"
    r"|earlier version",
    re.IGNORECASE,
)
_LOUD = re.compile(r"^\s*(WARNING|BAD): |<[^>]* role=\"alert\"")
"""A line, or an element of a page, that nobody takes for a result."""


def judge(found: Answer, expected: Answer) -> tuple[Outcome, str]:
    """The outcome of a command on damaged files, beside the same command on whole ones."""
    if found.broke:
        return "traceback", last_line(found)
    if found.refused and (found.status, found.complained) != (expected.status, expected.complained):
        return "sentence", last_line(found)
    if (found.status, found.said, found.product) == (expected.status, expected.said, expected.product):
        return "survived", ""
    before = set(_lines(expected))
    fresh = [line for line in _lines(found) if line not in before]
    if loud := next(filter(_LOUD.search, fresh), None):
        return "sentence", loud.strip()[:200]
    # A sentence may be broken over several lines.
    text = " ".join(" ".join(fresh).split())
    if marked := _MARKS.search(text):
        return "sentence", text[max(marked.start() - 100, 0) : marked.end() + 100]
    return "silent", (fresh or ["something is left out"])[0].strip()[:200]


def _lines(answer: Answer) -> list[str]:
    return f"{answer.said}\n{answer.complained}\n{answer.product}".splitlines()


def last_line(answer: Answer) -> str:
    lines = answer.complained.strip().splitlines() or [f"status {answer.status}"]
    return lines[-1][:300]


def table(tries: Iterable[Try]) -> str:
    """The counts, part by part."""
    counts: dict[str, Counter[Outcome]] = {}
    for one in tries:
        counts.setdefault(one.part, Counter())[one.outcome] += 1
    head = ["| part | tried | " + " | ".join(OUTCOMES) + " |", "|---" * (2 + len(OUTCOMES)) + "|"]
    rows = [
        f"| {part} | {sum(found.values())} | " + " | ".join(str(found[o]) for o in OUTCOMES) + " |"
        for part, found in counts.items()
    ]
    return "\n".join(head + rows)
