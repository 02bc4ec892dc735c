"""A player of episodes: which one is shown, and which step of it. It knows no viewer: it can be tested alone."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ascpo.replay.tale import Tale

STEPS_PER_SECOND = 30.0
"""At speed 1."""


@dataclass(frozen=True)
class Playhead:
    """Where a player stands in an episode."""

    last: int
    """The last step."""
    step: int = 0
    playing: bool = False
    speed: float = 1.0
    rest: float = 0.0
    """The part of the next step that has passed."""

    def at(self, step: int) -> "Playhead":
        """At this step, standing still."""
        return replace(self, step=min(max(step, 0), self.last), playing=False, rest=0.0)

    def toggled(self) -> "Playhead":
        """Played if it stood still, and the other way round. From the end, it is played from the beginning."""
        if self.playing:
            return replace(self, playing=False)
        return replace(self, playing=True, rest=0.0, step=0 if self.step == self.last else self.step)

    def after(self, seconds: float) -> "Playhead":
        """Some time later."""
        if not self.playing:
            return self
        passed = self.rest + seconds * STEPS_PER_SECOND * self.speed
        step = self.step + int(passed)
        return self.at(self.last) if step >= self.last else replace(self, step=step, rest=passed % 1.0)


class Player:
    """Plays episodes, each of which is told when it is first chosen."""

    def __init__(self, tell: Callable[[int], Tale]) -> None:
        self._tell = tell
        self._told: dict[int, Tale] = {}
        self._speed = 1.0
        self.choose(0)

    def choose(self, episode: int) -> None:
        """Show another episode, from its beginning."""
        if episode not in self._told:
            self._told[episode] = self._tell(episode)
        self.episode, self.tale = episode, self._told[episode]
        self.head = Playhead(last=len(self.tale.story) - 1, speed=self._speed)

    def scrub(self, step: int) -> None:
        self.head = self.head.at(step)

    def jump(self) -> None:
        """To the first violation, if there is one."""
        first = self.tale.story.first_violation
        if first is not None:
            self.scrub(first)

    def toggle(self) -> None:
        self.head = self.head.toggled()

    def set_speed(self, speed: float) -> None:
        self._speed = speed
        self.head = replace(self.head, speed=speed)

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.head = self.head.after(seconds)
