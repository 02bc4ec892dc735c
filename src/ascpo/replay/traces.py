"""Traces of an episode over its steps: each cost with its limit, and the return; a mark shows the present step."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ascpo.replay.story import Story


@dataclass(frozen=True)
class Trace:
    """One curve."""

    name: str
    value: Float[np.ndarray, " time"]
    limit: float | None = None

    @property
    def range(self) -> tuple[float, float]:
        """From below everything that is drawn to above it."""
        shown = [*self.value, 0.0 if self.limit is None else self.limit]
        low, high = float(min(shown)), float(max(shown))
        room = 0.08 * (high - low) or 0.1
        return low - room, high + room

    def columns(self, step: int) -> tuple[Float[np.ndarray, " time"], ...]:
        """Steps, values, the mark at the present step, and the limit if there is one. NaN is not drawn."""
        steps = np.arange(len(self.value), dtype=float)
        mark = np.where(steps == step, self.value, np.nan)
        limits = () if self.limit is None else (np.full_like(steps, self.limit),)
        return steps, self.value, mark, *limits


def traces(story: Story) -> tuple[Trace, ...]:
    record = story.record
    costs = zip(record.cost_names, story.cost.T, record.limits, strict=True)
    return (*(Trace(f"cost: {name}", cost, limit) for name, cost, limit in costs), Trace("return", story.returns))
