"""The state of a replay: the episode and the step that it shows. It does not need a viewer."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ascpo.replay.episode import Episode

STEPS_PER_SECOND = 30.0
"""Steps per second at speed 1."""


@dataclass(frozen=True)
class Playhead:
    """A position in an episode."""

    last: int
    """The last step."""
    step: int = 0
    playing: bool = False
    speed: float = 1.0
    fraction: float = 0.0
    """The fraction of the next step that has passed."""

    def at(self, step: int) -> "Playhead":
        """Paused at this step."""
        return replace(self, step=min(max(step, 0), self.last), playing=False, fraction=0.0)

    def toggled(self) -> "Playhead":
        """Paused if it plays, playing if it is paused. At the end, it plays from the start."""
        if self.playing:
            return replace(self, playing=False)
        return replace(self, playing=True, fraction=0.0, step=0 if self.step == self.last else self.step)

    def after(self, seconds: float) -> "Playhead":
        if not self.playing:
            return self
        passed = self.fraction + seconds * STEPS_PER_SECOND * self.speed
        step = self.step + int(passed)
        return self.at(self.last) if step >= self.last else replace(self, step=step, fraction=passed % 1.0)


class Player:
    """Plays episodes."""

    def __init__(self, load: Callable[[int], Episode]) -> None:
        self._load = load
        self._speed = 1.0
        self.choose(0)

    def choose(self, index: int) -> None:
        """Show another episode from its start."""
        self.episode, self.index = self._load(index), index
        self.head = Playhead(last=len(self.episode) - 1, speed=self._speed)

    def seek(self, step: int) -> None:
        self.head = self.head.at(step)

    def seek_violation(self) -> None:
        """Go to the first violation, if there is one."""
        if (first := self.episode.first_violation) is not None:
            self.seek(first)

    def toggle(self) -> None:
        self.head = self.head.toggled()

    def set_speed(self, speed: float) -> None:
        self._speed = speed
        self.head = replace(self.head, speed=speed)

    def advance(self, seconds: float) -> None:
        self.head = self.head.after(seconds)
