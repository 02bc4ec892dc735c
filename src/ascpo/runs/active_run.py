"""A run in training, and its files: tables, checkpoints and policies, which stay consistent."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ascpo.engines.contract import Engine
from ascpo.runs.callbacks.callback import EpochRecord
from ascpo.runs.candidates import Candidate, candidates_of
from ascpo.runs.checkpoints import Checkpoints
from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.files import write_together
from ascpo.runs.sealed import fingerprint_of
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import Table, check_table, columns_of, write_rows
from ascpo.runs.trained_policy import policy_content
from ascpo.training.agent import Agent, agent_for
from ascpo.training.loop import Epoch, TrainingRun
from ascpo.training.state import TrainingState


@dataclass(frozen=True)
class Run:
    """A run to train, and its directory."""

    config: Config
    directory: RunDirectory


def agent_of(config: Config, engine: Engine) -> Agent:
    return agent_for(engine, config.algorithm(), config.settings)


class ActiveRun:
    """A run in training."""

    epochs = 0
    """Number of epochs done so far."""
    state: Callable[[], TrainingState]
    """The training state after these epochs."""

    def __init__(self, run: Run, engine: Engine, checkpoint_every: float) -> None:
        self.config, self.directory = run.config, run.directory
        self.training = TrainingRun(agent_of(run.config, engine), run.config.seed, run.config.seeding)
        self._engine, self._checkpoint_every = engine, checkpoint_every
        self._plain = run.directory.plain_config(run.config)
        self.fingerprint = fingerprint_of(self._plain)
        self._checkpoints = Checkpoints(run.directory.checkpoints, self.fingerprint)
        self._tables: list[Table] = []
        self._saved_epochs, self._saved_at, self._seconds_saving = 0, time.perf_counter(), 0.0

    def load(self, start: TrainingState) -> None:
        """Load the last checkpoint, or use the given start. Tables are cut back to it."""
        state = self._checkpoints.load(start) if self._checkpoints.epochs() else start
        if state.epochs > self.config.epochs:
            raise BadSetting(
                f"{self.directory.path} already has {state.epochs} epochs, more than the requested "
                f"{self.config.epochs}. Use larger --total-steps."
            )
        metrics = Table(self.directory.metrics, state.epochs, run=self.fingerprint, expected=self._checkpoints.log)
        timing = Table(self.directory.timing, state.epochs, run=self.fingerprint, may_miss=True)
        self._tables = [metrics, timing]
        self.directory.write_config(self._plain)
        self.epochs, self.state, self._saved_epochs = state.epochs, lambda: state, state.epochs
        self._began = time.perf_counter() - _seconds_so_far(self.directory)
        if state.epochs:
            self._save_policy(state)

    def record(self, epoch: Epoch) -> EpochRecord:
        """Write the rows of an epoch, and return its record, whose timing includes the time for saving.

        An epoch counts only once its rows are written, since a checkpoint without them could not be continued.
        """
        began = time.perf_counter()
        timing = epoch.timing | {"TimeSaved": self._seconds_saving, "WallClock": began - self._began}
        write_rows(self._tables, (epoch.row, timing))
        self.epochs, self.state = epoch.epochs, lambda: epoch.state
        self._seconds_saving = time.perf_counter() - began
        return EpochRecord(self.directory.path, epoch.row, timing, lambda: self._last_policy(epoch.state))

    def save_if_due(self) -> None:
        if time.perf_counter() - self._saved_at >= self._checkpoint_every:
            self.save()

    def save(self) -> None:
        """Save the checkpoint and the policy, unless they are saved already."""
        if self.epochs == self._saved_epochs:
            return
        began, state = time.perf_counter(), self.state()
        for table in self._tables:
            table.sync()
        self._checkpoints.save(state, self._tables[0].last)
        self._save_policy(state)
        self._saved_epochs, self._saved_at = state.epochs, time.perf_counter()
        self._seconds_saving += self._saved_at - began

    def _save_policy(self, state: TrainingState) -> None:
        """Save the last policy, the mean of the last ones, and the final one."""
        *_, last, average = candidates_of(self.training.agent, state)
        files = {self.directory.policy_last: self.content_of(last)}
        if self.config.settings.kept_policies:
            files[self.directory.policy_average] = self.content_of(average)
        # If a policy is to be selected, the last one is the final one until then.
        final = average if self.config.final_policy == "average" else last
        write_together(files | {self.directory.policy: self.content_of(final)})

    def _last_policy(self, state: TrainingState) -> bytes:
        return self.content_of(candidates_of(self.training.agent, state)[-2])

    def content_of(self, candidate: Candidate) -> bytes:
        """The content of a policy's file after the present epoch."""
        return policy_content(self._plain, self._engine, candidate.theta, self.epochs, candidate.source)

    def close(self) -> None:
        for table in self._tables:
            table.close()
        self._checkpoints.close()


def _seconds_so_far(directory: RunDirectory) -> float:
    """The last wall-clock time in timing.csv."""
    lines = check_table(directory.timing).lines
    clock = columns_of(directory.timing, lines).get("WallClock", np.zeros(0))
    return float(clock[np.isfinite(clock)][-1]) if np.isfinite(clock).any() else 0.0
