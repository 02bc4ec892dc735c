"""Seeds as text: `0..7` are eight seeds, `0,3,5` are three."""

from ascpo.ranges import shown
from ascpo.runs.serialization import BadSetting

_MOST_SEEDS = 1000
"""Runs that train at the same time."""


def seeds_of(text: str) -> list[int]:
    """The seeds of `--seeds`."""
    try:
        # `int` accepts the digits of every script, which is not intended.
        parts = [[int(end) for end in part.split("..")] for part in text.split(",")] if text.isascii() else []
    except ValueError:
        parts = []
    number = sum(max(part[-1] + 1 - part[0], 0) for part in parts)
    if number > _MOST_SEEDS:
        raise BadSetting(f"--seeds {shown(text)[1:-1]} has too many seeds. Train at most {_MOST_SEEDS} together.")
    seeds = [seed for part in parts for seed in range(part[0], part[-1] + 1)]
    if not seeds or any(len(part) > 2 for part in parts):
        raise BadSetting(f"--seeds {shown(text)[1:-1]} is not a list of seeds. Try 0..7, or 0,3,5.")
    return list(dict.fromkeys(seeds))
