"""Numbers, sentences and commands for people."""

import math
import shlex
from collections.abc import Sequence

from ascpo.report.data import RunData
from ascpo.runs.description import Description

SPACE = "\u00a0"
"""A space between a number and its unit, where no line breaks."""


def number(value: float) -> str:
    """Three significant digits."""
    if not math.isfinite(value):
        return "unknown"
    # From a thousand on, three digits would need a power of ten.
    large = 1e3 - 0.5 <= abs(value) < 1e7
    return _minus(f"{value:,.0f}".replace(",", SPACE) if large else f"{value:.3g}")


def change(value: float) -> str:
    """A number with its sign."""
    return "unknown" if not math.isfinite(value) else _minus(f"{value:+.3g}") if value else "0"


def percent(share: float) -> str:
    """A share in percent, with one decimal. It never rounds to 0 % or 100 %."""
    if not math.isfinite(share):
        return "unknown"
    if 0.9995 <= share < 1.0:
        return f">{SPACE}99.9{SPACE}%"
    return f"<{SPACE}0.1{SPACE}%" if 0.0 < share < 0.0005 else _minus(f"{100 * share:.1f}{SPACE}%")


def setting_percent(probability: float) -> str:
    """A chosen probability in percent, without rounding: 98 %, 99.5 %."""
    return f"{100 * probability:.4g}{SPACE}%"


def points(difference: float) -> str:
    """A difference of percentages, with its sign."""
    return "unknown" if not math.isfinite(difference) else _minus(f"{100 * difference:+.1f}{SPACE}points")


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def equals(letter: str, value: float) -> str:
    return f"{letter}{SPACE}={SPACE}{number(value)}"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def steps(count: float) -> str:
    if count >= 1e6:
        return f"{count / 1e6:.4g} million steps"
    return f"{count / 1e3:.4g} thousand steps" if count >= 1e4 else f"{count:.0f} steps"


def overview(description: Description) -> str:
    """How an algorithm treats costs, which target its constraints have, and what kind of step it takes."""
    sentences = [f"{description.algorithm} {description.description}."]
    if description.target:
        sentences.append(f"The target of a step is {description.target}.")
    if description.iterations:
        sentences.append(f"A step is a descent of at most {description.iterations} iterations on a clipped objective.")
    return " ".join(sentences)


def command(verb: str, run: RunData, *rest: str) -> str:
    """A command about a run, quoted for the shell."""
    return shlex.join(["ascpo", verb, str(run.path), *rest])


def train_again(run: RunData) -> str:
    """The command that trains a new run with the same settings."""
    return shlex.join(["ascpo", "train", "--config", str(run.path), "--name", "NAME"])


def _minus(text: str) -> str:
    """Replace the hyphen of a negative number by a minus sign."""
    return text.replace("-", "−")
