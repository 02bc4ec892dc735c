"""One training to be done, whatever of it there is already, and how to do it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascpo.algorithms import Method
from ascpo.paper.experiments import Play
from ascpo.runs.config import Config
from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.watching import News, Plan
from ascpo.sweep.evaluation import is_played, play_episodes
from ascpo.sweep.store import check_settings, epochs_done, is_trained


@dataclass(frozen=True)
class Order:
    """What is wanted, and where."""

    config: Config
    directory: Path
    trouble: Path
    """Where it is written down if it fails."""
    play: Play = "nothing"
    episodes: int = 0
    """To play; 0 for as many as the figure needs."""
    checkpoint_every: float = 60.0

    @property
    def run(self) -> RunDirectory:
        return RunDirectory(self.directory)

    @property
    def words(self) -> str:
        return self.directory.name

    @property
    def epochs_left(self) -> int:
        return max(self.config.epochs - epochs_done(self.run), 0)

    def check(self) -> None:
        """What is there already must be a part of what is wanted."""
        check_settings(self.run, self.config)

    def is_trained(self) -> bool:
        return is_trained(self.run, self.config)

    def is_done(self) -> bool:
        return self.is_trained() and is_played(self.run, self.play, self.episodes)

    def is_busy(self) -> bool:
        """Whether another process is at it."""
        if not self.directory.is_dir():
            return False
        try:
            with self.run.locked():
                return False
        except NoRun:
            return True

    def to_json(self) -> str:
        return json.dumps(
            {
                "config": json.loads(self.config.to_json()),
                "directory": str(self.directory),
                "trouble": str(self.trouble),
                "play": self.play,
                "episodes": self.episodes,
                "checkpoint_every": self.checkpoint_every,
            }
        )

    @staticmethod
    def from_json(text: str) -> "Order":
        data = json.loads(text)
        config = Config.from_json(json.dumps(data.pop("config")))
        return Order(config, Path(data.pop("directory")), Path(data.pop("trouble")), **data)


def carry_out(order: Order, *, threads: int = 0, progress: bool = False) -> None:
    """Train what is missing of it, then play what is missing."""
    order.check()
    if not order.is_trained():
        train([order], threads=threads, progress=progress)
    if not is_played(order.run, order.play, order.episodes):
        play_episodes(order.run, order.play, order.episodes, threads=threads)


def train(
    orders: Sequence[Order], *, threads: int = 0, progress: bool = False, look: Callable[[], None] | None = None
) -> None:
    """One, or several together. Those that there are go on. `look` is called after every epoch."""
    from ascpo.runs.conduct import Seat
    from ascpo.runs.run import Options, relaunch

    options = Options(threads=threads, progress=progress, checkpoint_every=orders[0].checkpoint_every)
    seats = [Seat(order.config, order.run) for order in orders]
    relaunch(seats, orders[0].config.env, options, [_Looker(look)] if look else [])


@dataclass(frozen=True)
class _Looker:
    """A watcher of runs that counts no more than epochs."""

    look: Callable[[], None]

    def begin(self, plan: Plan) -> None: ...

    def epoch(self, news: Sequence[News]) -> None:
        self.look()

    def end(self) -> None: ...


class Here:
    """Carries orders out in this process, so that those of a kind share what was compiled."""

    def __init__(self, threads: int = 0, progress: bool = False) -> None:
        self._threads, self._progress = threads, progress
        self._kinds: set[tuple[str, Method]] = set()

    def __call__(self, order: Order) -> None:
        self._make_room([order])
        carry_out(order, threads=self._threads, progress=self._progress)

    def train_together(self, orders: Sequence[Order], look: Callable[[], None]) -> None:
        """In one engine. What is to be played with the policies comes later."""
        self._make_room(orders)
        train(orders, threads=self._threads, progress=self._progress, look=None if self._progress else look)

    def _make_room(self, orders: Sequence[Order]) -> None:
        kinds = {(order.config.env, order.config.method) for order in orders}
        if len(self._kinds | kinds) > max(_KINDS, len(kinds)):
            import jax

            jax.clear_caches()
            self._kinds.clear()
        self._kinds |= kinds


_KINDS = 16
"""Trainings of so many kinds are kept compiled: each takes some fifty megabytes."""
