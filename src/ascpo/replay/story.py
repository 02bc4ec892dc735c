"""What an episode tells in each step: its costs against their limits, in numbers and in words.

Steps are counted from 0, as in records: in step t the cost of action t is paid.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ascpo.evaluation.records import Record


@dataclass(frozen=True)
class Story:
    """Of one episode."""

    record: Record
    reward: Float[np.ndarray, " time"]
    cost: Float[np.ndarray, "time m"]

    def __len__(self) -> int:
        return len(self.reward)

    @property
    def over(self) -> Bool[np.ndarray, "time m"]:
        """Which limits are violated in which steps."""
        return self.cost > np.array(self.record.limits)

    @property
    def violated(self) -> Bool[np.ndarray, " time"]:
        """In which steps any limit is."""
        return np.any(self.over, axis=1)

    @property
    def first_violation(self) -> int | None:
        """The first step over a limit."""
        return int(self.violated.argmax()) if self.violated.any() else None

    @property
    def returns(self) -> Float[np.ndarray, " time"]:
        """The return so far."""
        return np.cumsum(self.reward, dtype=float)

    def broken(self, step: int) -> tuple[str, ...]:
        """The constraints whose limits are violated in a step."""
        return tuple(name for name, over in zip(self.record.cost_names, self.over[step], strict=True) if over)

    def first(self) -> str:
        """Where the first violation is, in words."""
        if self.first_violation is None:
            return "Every step keeps within the limits."
        return f"First violation: {' and '.join(self.broken(self.first_violation))}, in step {self.first_violation}."

    def now(self, step: int) -> tuple["Line", ...]:
        """What is to be said of one step."""
        head = Line(f"Step {step} of 0 to {len(self) - 1}. Return so far: {self.returns[step]:.3f}.")
        return head, *(self._constraint(step, i) for i in range(len(self.record.cost_names)))

    def _constraint(self, step: int, i: int) -> "Line":
        name, limit, cost = self.record.cost_names[i], self.record.limits[i], self.cost[: step + 1, i]
        violated = bool(self.over[step, i])
        said = f"{name}: cost {cost[-1]:.3f}, limit {limit:g}, largest so far {cost.max():.3f}."
        return Line(f"{said} VIOLATED in step {step}." if violated else said, alarming=violated)


@dataclass(frozen=True)
class Line:
    """A sentence or two."""

    words: str
    alarming: bool = False


def title(record: Record, rank: int) -> str:
    """A record in one line, for a list of them."""
    largest = max(record.maximum)
    broken = " and ".join(record.violated) or "within limits"
    number = f", episode {record.episode}" if record.episode else ""
    return f"{rank}: cost {largest:.3f}, {broken}, seed {record.seed}{number}"
