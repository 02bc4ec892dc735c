"""What a run writes: tables, checkpoints, the latest policy; kept in step with each other."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ascpo.engines.rollout import Engine
from ascpo.runs.checkpoints import Checkpoints
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory, write_whole
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import Table, read_table
from ascpo.runs.trained_policy import save_policy
from ascpo.training.learner import Learner
from ascpo.training.train import Standing


@dataclass
class Files:
    """A run's files, kept in step with each other."""

    directory: RunDirectory
    config: Config
    engine: Engine
    learner: Learner
    every: float
    _saved: int = field(default=0, init=False)
    """Epochs of the last checkpoint."""

    def __post_init__(self) -> None:
        self._checkpoints = Checkpoints(self.directory.checkpoints, self.config.fingerprint)
        self._tables: list[Table] = []
        self._since = time.perf_counter()
        self._spent = 0.0

    def standing(self, at_the_start: Standing) -> Standing:
        """Where to begin: the last checkpoint, or the start. Tables are cut back to there."""
        standing = self._checkpoints.load(at_the_start) if self._checkpoints.epochs() else at_the_start
        if standing.epochs > self.config.epochs:
            raise BadSetting(
                f"{self.directory.path} is {standing.epochs} epochs long already, and {self.config.epochs} were asked "
                f"for. Ask for more --total-steps."
            )
        write_whole(self.directory.config_file, self.config.to_json())
        self._saved = standing.epochs
        self._tables = [Table(file, standing.epochs) for file in (self.directory.metrics, self.directory.timing)]
        before = read_table(self.directory.timing)["WallClock"] if standing.epochs else [0.0]
        self._began = time.perf_counter() - float(before[-1])
        if standing.epochs:
            self._save_policy(standing)
        return standing

    def write(self, row: dict[str, float], timing: dict[str, float]) -> dict[str, float]:
        """An epoch's rows."""
        began = time.perf_counter()
        timing = timing | {"TimeSaved": self._spent, "WallClock": began - self._began}
        for table, content in zip(self._tables, (row, timing), strict=True):
            table.write(content)
        self._spent = time.perf_counter() - began
        return timing

    def save_if_due(self, epochs: int, stand: Callable[[], Standing]) -> None:
        if time.perf_counter() - self._since >= self.every:
            self.save(epochs, stand)

    def save(self, epochs: int, stand: Callable[[], Standing]) -> None:
        """Checkpoint and policy after so many epochs, unless they are saved already."""
        if epochs == self._saved:
            return
        began, standing = time.perf_counter(), stand()
        self._checkpoints.save(standing)
        self._save_policy(standing)
        self._saved, self._since = standing.epochs, time.perf_counter()
        self._spent += self._since - began

    def _save_policy(self, standing: Standing) -> None:
        acting = self.learner.acting(standing.state)
        save_policy(self.directory.policy, self.config, self.engine, acting, standing.epochs)

    def close(self) -> None:
        for table in self._tables:
            table.close()
        self._checkpoints.close()
