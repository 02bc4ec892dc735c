"""The search space: settings with a range of numbers, or with a list of values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ascpo.ranges import shown
from ascpo.runs.serialization import BadSetting
from ascpo.sweep.overrides import read_overrides

Value = float | int | str | bool | None
_RANGE = re.compile(r"([-+.\deE]+)\.\.([-+.\deE]+?)(:log)?")


@dataclass(frozen=True)
class Axis:
    """A setting to search."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    """Whether the range is searched on a logarithmic scale."""
    whole: bool = False
    values: tuple[Value, ...] = ()
    """The values of a setting that has no range."""

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range."""
        return (int(self.low), int(self.high)) if self.whole else (self.low, self.high)

    @property
    def tried(self) -> tuple[Value, ...]:
        """All values, or both ends of the range: if they are settings, everything between them is one too."""
        return self.values or self.ends

    def holds(self, value: object) -> bool:
        if self.values:
            return value in self.values
        return isinstance(value, (int, float)) and not isinstance(value, bool) and self.low <= value <= self.high


def axes_of(typed: Sequence[str]) -> list[Axis]:
    """Axes from the command line: delta=0.005..0.05:log, cost_fit.window=5..20, carry=True,False."""
    if not typed:
        raise BadSetting("Nothing to search. Name at least one setting: --search trust_region.delta=0.005..0.05:log")
    axes = [_axis(text) for text in typed]
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise BadSetting(f"{next(name for name in names if names.count(name) > 1)} is searched twice.")
    return axes


def _axis(text: str) -> Axis:
    name, equals, values = text.partition("=")
    name = next(iter(read_overrides([f"{name}=0"]))) if name else ""
    if not (name and equals and values):
        raise BadSetting(f"{shown(text)} has no values to search. Write name=low..high, or name=value,value.")
    if match := _RANGE.fullmatch(values):
        return _range(name, match[1], match[2], log=bool(match[3]))
    found = [next(iter(read_overrides([f"{name}={value}"]).values())) for value in values.split(",") if value]
    if len(found) < 2 or not all(one is None or isinstance(one, (int, float, str)) for one in found):
        raise BadSetting(
            f"{shown(text)}: a search needs at least two values. Write name=low..high, or name=value,value."
        )
    return Axis(name, values=tuple(found))  # pyrefly: ignore[bad-argument-type] (checked above)


def _range(name: str, first: str, last: str, *, log: bool) -> Axis:
    try:
        low, high = float(first), float(last)
    except ValueError:
        raise BadSetting(f"{name}={first}..{last} is not a range of numbers.") from None
    if not low < high or (log and low <= 0):
        raise BadSetting(f"{name}={first}..{last}: the first number must be the smaller one{', and positive' * log}.")
    whole = first.lstrip("+-").isdigit() and last.lstrip("+-").isdigit()
    return Axis(name, low, high, log, whole)
