"""A replayed episode: its costs and limits in every step, and the data for a viewer.

Steps are counted from 0, as in records: step t pays the cost of action t.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, UInt8

from ascpo.choices import Actions
from ascpo.evaluation.evaluation_file import check_belongs, worst_file
from ascpo.evaluation.records import Record, read_records
from ascpo.evaluation.retrace import retrace
from ascpo.experience.episodes import over_limit
from ascpo.guard.task import Task
from ascpo.replay.frames import NoFrames, jpeg_frames
from ascpo.replay.poses import Poses, poses_of
from ascpo.runs.directory import NoRun, find
from ascpo.runs.environment import Environment
from ascpo.runs.trust import trusted

_COLOURS = np.array([[[180, 182, 186], [250, 95, 85]], [[8, 8, 13], [242, 0, 0]]], np.uint8)
"""The colours of steps, by whether they are played and whether they violate a limit."""


class Line(NamedTuple):
    """A line of text on the page."""

    text: str
    alarm: bool = False


@dataclass(frozen=True)
class Episode:
    """The steps of an episode. A viewer shows `task` and `poses`, or `frames`, or plots alone."""

    record: Record
    reward: Float[np.ndarray, " time"]
    cost: Float[np.ndarray, "time m"]
    task: Task | None = None
    poses: Poses | None = None
    frames: tuple[bytes, ...] = ()
    """The frame after each step, as JPEG, so that a thousand of them fit into memory."""
    note: str = ""
    """Why there are only plots, or how the episode differs from its record."""

    def __len__(self) -> int:
        return len(self.reward)

    @property
    def limited(self) -> Float[np.ndarray, "time m"]:
        """What the limits bound: the costs of each step, or their sums up to it."""
        return self.cost if self.record.limits_on == "state" else np.cumsum(self.cost, axis=0, dtype=float)

    @property
    def violations(self) -> Bool[np.ndarray, "time m"]:
        """Whether a step violates the limit of a constraint, or the costs up to it do, as they do at the end."""
        over = over_limit(self.limited, np.array(self.record.limits))
        return over if self.record.limits_on == "state" else over & over[-1:]

    @property
    def violated(self) -> Bool[np.ndarray, " time"]:
        """Whether a step violates any limit."""
        return np.any(self.violations, axis=1)

    @property
    def first_violation(self) -> int | None:
        return int(self.violated.argmax()) if self.violated.any() else None

    @property
    def returns(self) -> Float[np.ndarray, " time"]:
        """The return up to each step."""
        return np.cumsum(self.reward, dtype=float)

    def violated_constraints(self, step: int) -> tuple[str, ...]:
        return tuple(name for name, over in zip(self.record.cost_names, self.violations[step], strict=True) if over)

    def frame(self, step: int) -> np.ndarray:
        import imageio.v3

        return imageio.v3.imread(self.frames[step], extension=".jpg")

    def first_violation_text(self) -> str:
        if (step := self.first_violation) is None:
            return "Every step keeps all limits."
        return f"First violation: {' and '.join(self.violated_constraints(step))}, in step {step}."

    def step_text(self, step: int) -> tuple[Line, ...]:
        """The return and the costs in a step."""
        lines = [Line(f"Step {step} of 0 to {len(self) - 1}. Return so far: {self.returns[step]:.3f}.")]
        record, costs = self.record, self.cost[: step + 1].T
        for name, limit, cost, over in zip(record.cost_names, record.limits, costs, self.violations[step], strict=True):
            so_far = f"largest so far {cost.max():.3f}"
            if record.limits_on == "episode":
                so_far = f"sum so far {cost.sum():.3f}"
            text, alarm = f"{name}: cost {cost[-1]:.3f}, limit {limit:g}, {so_far}.", bool(over)
            lines.append(Line(f"{text} VIOLATED in step {step}." if alarm else text, alarm))
        return tuple(lines)

    def captions(self, step: int) -> tuple[Line, ...]:
        """The step and its costs, in a line each. Violations are alarms."""
        lines = [Line(f"step {step} of {len(self) - 1}")]
        record, cost = self.record, "cost" if self.record.limits_on == "state" else "cost so far"
        for name, limit, value, over in zip(
            record.cost_names, record.limits, self.limited[step], self.violations[step], strict=True
        ):
            lines.append(Line(f"{name}: {cost} {value:.3f}, limit {limit:g}", bool(over)))
        return tuple(lines)


def play_again(record: Record, env: Environment | None = None, *, trust_env: bool = False) -> Episode:
    """Replay a recorded episode, and keep the data for a viewer."""
    env = trusted(record.env, env, trust_env=trust_env)
    steps = retrace(record, env)
    if steps.path is not None:
        return Episode(record, steps.reward, steps.cost, steps.path.task, poses_of(steps.path), note=steps.note)
    try:
        return Episode(record, steps.reward, steps.cost, frames=jpeg_frames(record, env))
    except NoFrames as missing:
        return Episode(record, steps.reward, steps.cost, note=f"The page shows only plots of {record.env}. {missing}")


def worst_records(run: Path, actions: Actions) -> list[Record]:
    """The worst episodes that a run's last evaluation kept, the worst first."""
    directory = find(run).path
    file = directory / worst_file(actions)
    again = shlex.join(["ascpo", "evaluate", str(directory), *(["--actions", actions] if actions != "sampled" else [])])
    if not file.exists():
        raise NoRun(f"{file} does not exist. `{again}` keeps the worst episodes with {actions} actions.")
    records = read_records(file)
    check_belongs(directory, file.name)
    if not records:
        raise NoRun(f"The last evaluation kept no episodes. `{again}` keeps the worst.")
    return records


def title(record: Record, rank: int) -> str:
    """A record in one line, for a list of records."""
    violated = " and ".join(record.violated) or "within limits"
    number = f", episode {record.episode}" if record.episode else ""
    return f"{rank}: cost {max(record.maximum):.3f}, {violated}, seed {record.seed}{number}"


def step_colours(violated: Bool[np.ndarray, " n"], played: Bool[np.ndarray, " n"]) -> UInt8[np.ndarray, "n 3"]:
    """Dark for steps that are played, pale for steps to come, red for violations."""
    return _COLOURS[played.astype(int), violated.astype(int)]
