"""The files that a training writes: tables, checkpoints and the latest policy, in step with each other."""

import time
from collections.abc import Callable

from ascpo.engines.contract import Engine
from ascpo.runs.checkpoints import Checkpoints
from ascpo.runs.config import Config, fingerprint_of, to_json
from ascpo.runs.directory import RunDirectory, write_whole
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import Row, Table, read_table
from ascpo.runs.trained_policy import save_policy
from ascpo.training.agent import Agent
from ascpo.training.state import TrainingState


class RunFiles:
    """The files of one run."""

    def __init__(
        self, directory: RunDirectory, config: Config, engine: Engine, agent: Agent, checkpoint_every: float
    ) -> None:
        self._directory, self._config, self._engine, self._agent = directory, config, engine, agent
        self._plain = directory.plain_config(config)
        self._checkpoints = Checkpoints(directory.checkpoints, fingerprint_of(self._plain))
        self._tables: list[Table] = []
        self._checkpoint_every = checkpoint_every
        self._saved_epochs, self._saved_at = 0, time.perf_counter()
        self._seconds_saving = 0.0

    def load(self, start: TrainingState) -> TrainingState:
        """The state of the last checkpoint, or the start. Tables are cut back to it."""
        state = self._checkpoints.load(start) if self._checkpoints.epochs() else start
        if state.epochs > self._config.epochs:
            raise BadSetting(
                f"{self._directory.path} is {state.epochs} epochs long already, and you asked for "
                f"{self._config.epochs}. Ask for more --total-steps."
            )
        write_whole(self._directory.config_file, to_json(self._plain))
        self._saved_epochs = state.epochs
        self._tables = [Table(file, state.epochs) for file in (self._directory.metrics, self._directory.timing)]
        before = read_table(self._directory.timing)["WallClock"] if state.epochs else [0.0]
        self._began = time.perf_counter() - float(before[-1])
        if state.epochs:
            self._save_policy(state)
        return state

    def write(self, metrics: Row, timing: Row) -> Row:
        """Write an epoch's rows. Returns the timing with the columns that only this class knows."""
        began = time.perf_counter()
        timing = timing | {"TimeSaved": self._seconds_saving, "WallClock": began - self._began}
        for table, row in zip(self._tables, (metrics, timing), strict=True):
            table.write(row)
        self._seconds_saving = time.perf_counter() - began
        return timing

    def save_if_due(self, epochs: int, state: Callable[[], TrainingState]) -> None:
        if time.perf_counter() - self._saved_at >= self._checkpoint_every:
            self.save(epochs, state)

    def save(self, epochs: int, state: Callable[[], TrainingState]) -> None:
        """Save the checkpoint and the policy after so many epochs, unless they are saved already."""
        if epochs == self._saved_epochs:
            return
        began, now = time.perf_counter(), state()
        self._checkpoints.save(now)
        self._save_policy(now)
        self._saved_epochs, self._saved_at = now.epochs, time.perf_counter()
        self._seconds_saving += self._saved_at - began

    def _save_policy(self, state: TrainingState) -> None:
        theta = self._agent.acting(state.learner)
        save_policy(self._directory.policy, self._plain, self._engine, theta, state.epochs)

    def close(self) -> None:
        for table in self._tables:
            table.close()
        self._checkpoints.close()
