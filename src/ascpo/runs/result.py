"""The results of a run, read from its directory."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ascpo.runs.config import Config
from ascpo.runs.directory import RunDirectory
from ascpo.runs.notebook import DataFrame, data_frame, html_table
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import TrainedPolicy, load

_SHOWN = ("Epoch", "TotalEnvInteracts", "EpRet", "EpCost", "EpMaxCost", "SafeRate", "TimeoutRate")
_LAST = 5
"""The number of last epochs that a notebook shows."""


@dataclass(frozen=True)
class Result:
    """The results of a run."""

    directory: Path

    @cached_property
    def metrics(self) -> dict[str, np.ndarray]:
        """The columns of `metrics.csv`: a value for each epoch."""
        return read_table(RunDirectory(self.directory).metrics)

    @property
    def history(self) -> dict[str, np.ndarray]:
        """An earlier name of `metrics`."""
        return self.metrics

    @cached_property
    def timing(self) -> dict[str, np.ndarray]:
        """The columns of `timing.csv`: seconds, a value for each epoch."""
        return read_table(RunDirectory(self.directory).timing)

    @cached_property
    def config(self) -> Config:
        """Everything that determines the numbers of the run."""
        return RunDirectory(self.directory).config()

    @cached_property
    def policy(self) -> TrainedPolicy:
        """The run's final policy, ready to act."""
        return load(self.directory)

    @property
    def epochs(self) -> int:
        """The number of epochs so far."""
        return len(self.metrics["Epoch"])

    @property
    def stopped_early(self) -> bool:
        """Whether epochs are left. `ascpo.resume` trains them."""
        return self.epochs < self.config.epochs

    def to_pandas(self) -> DataFrame:
        """The metrics as a pandas.DataFrame, with the epochs as its index."""
        return data_frame(self.metrics).set_index("Epoch")

    def _repr_html_(self) -> str:
        config, columns = self.config, {name: self.metrics[name] for name in _SHOWN if name in self.metrics}
        columns = {name: _whole(name, values[-_LAST:]) for name, values in columns.items()}
        title = f"{config.env}, {config.algo}, seed {config.seed}: {self.epochs} of {config.epochs} epochs"
        return html_table(title, columns, [f"The last epochs. Directory: {self.directory}"])


def _whole(name: str, values: np.ndarray) -> list[float]:
    """Format counts without decimals."""
    return [int(value) if name in _SHOWN[:2] else float(value) for value in values]
