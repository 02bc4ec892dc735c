"""Options of a training that change none of its numbers."""

from dataclasses import dataclass
from typing import Annotated

from ascpo.ranges import Range, Threads, check
from ascpo.runs.config import Config
from ascpo.runs.hosting import Hosting
from ascpo.runs.serialization import BadSetting

_PROCESSES = 1024
"""Largest number of processes for environments."""


@dataclass(frozen=True)
class Options(Hosting):
    """Options that change no number of a run."""

    threads: Threads = 0
    """Number of threads that simulate a suite with the native engine. 0 uses one per core."""
    devices: Annotated[int, Range(at_least=0, at_most=10**6)] = 1
    """Number of accelerators that share the environments of an MJX engine. 0 uses all of them. Several add up sums in
    another order, so results differ by rounding."""
    checkpoint_every: Annotated[float, Range(at_least=0.0, at_most=1e12)] = 60.0
    """Seconds between two checkpoints. 0 writes one after every epoch."""
    tensorboard: bool = False
    """Also write the metrics as files for TensorBoard."""
    wandb: bool = False
    """Also log the metrics to Weights & Biases. WANDB_MODE=offline writes files that `wandb sync` uploads later."""
    mlflow: bool = False
    """Also log the metrics to MLflow: to MLFLOW_TRACKING_URI, or to the file mlflow.db beside the run's directory."""
    progress: bool = True
    """Show the progress of the training."""

    def __post_init__(self) -> None:
        check(self)
        super().__post_init__()

    def check(self, config: Config) -> None:
        """Refuse options that this run's engine does not have."""
        if config.engine == "native" and self.devices != 1:
            raise BadSetting(f"devices={self.devices} is for --engine mjx. The native engine runs on the host.")
        if self.processes and config.settings.num_envs > _PROCESSES:
            raise BadSetting(
                f"processes=True starts a process for each of num_envs={config.settings.num_envs} environments. Use at "
                f"most {_PROCESSES}."
            )
        if config.engine != "native" and (self.threads or self.processes):
            name = "threads" if self.threads else "processes"
            raise BadSetting(f"{name}={getattr(self, name)} is for --engine native. {config.engine} does not use it.")
