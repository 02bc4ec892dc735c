"""Numbers and commands as people write them."""

import math
import shlex
from collections.abc import Sequence

from ascpo.report.data import Run

SPACE = "\u00a0"
"""One that no line is broken at, between a number and what it counts."""


def number(value: float) -> str:
    """Three digits that count."""
    if not math.isfinite(value):
        return "unknown"
    # From a thousand on, three digits would need a power of ten.
    large = 1e3 - 0.5 <= abs(value) < 1e7
    return _minus(f"{value:,.0f}".replace(",", SPACE) if large else f"{value:.3g}")


def change(value: float) -> str:
    """With its sign."""
    return "unknown" if not math.isfinite(value) else _minus(f"{value:+.3g}") if value else "0"


def percent(share: float) -> str:
    """A share that is not all of it never looks like that, nor a small one like none."""
    if not math.isfinite(share):
        return "unknown"
    if 0.9995 <= share < 1.0:
        return f">{SPACE}99.9{SPACE}%"
    return f"<{SPACE}0.1{SPACE}%" if 0.0 < share < 0.0005 else _minus(f"{100 * share:.1f}{SPACE}%")


def points(difference: float) -> str:
    """Of percent, with its sign."""
    return "unknown" if not math.isfinite(difference) else _minus(f"{100 * difference:+.1f}{SPACE}points")


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def equals(letter: str, value: float) -> str:
    return f"{letter}{SPACE}={SPACE}{number(value)}"


def promised(probability: float) -> str:
    return f"{100 * probability:.4g}{SPACE}%"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def steps(count: float) -> str:
    """As people say it."""
    if count >= 1e6:
        return f"{count / 1e6:.4g} million steps"
    return f"{count / 1e3:.4g} thousand steps" if count >= 1e4 else f"{count:.0f} steps"


def command(verb: str, run: Run, *rest: str) -> str:
    """As it would be typed."""
    return shlex.join(["ascpo", verb, str(run.path), *rest])


def anew(run: Run) -> str:
    """What trains a run with the same settings."""
    return shlex.join(["ascpo", "train", "--config", str(run.path), "--name", "NAME"])


def _minus(text: str) -> str:
    """A real minus sign."""
    return text.replace("-", "−")
