"""The metrics as files for TensorBoard: pip install 'ascpo[tensorboard]'."""

import math
from collections.abc import Sequence
from pathlib import Path

from ascpo.errors import to_install
from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.links import refuse_links


class TensorBoard:
    """A callback that writes event files into the run's directory."""

    def __init__(self, directory: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ValueError(
                f"TensorBoard's files need the package tensorboardX: {to_install('tensorboard')}."
            ) from None
        self._directory = directory
        self._open = SummaryWriter
        self._writer: SummaryWriter | None = None

    def on_training_start(self, plan: TrainingPlan) -> None:
        # TensorBoard hides what was written after the checkpoint that the run continues from.
        settings = plan.config.settings
        first = plan.epochs_done * settings.num_envs * settings.horizon + 1
        refuse_links(self._directory / "tensorboard")
        self._writer = self._open(str(self._directory / "tensorboard"), purge_step=first if plan.epochs_done else None)

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> None:
        for epoch in epochs:
            if self._writer is not None and epoch.directory == self._directory:
                for name, value in (epoch.metrics | epoch.timing).items():
                    if math.isfinite(value):  # TensorBoard warns of every other number.
                        self._writer.add_scalar(name, value, int(epoch.metrics["TotalEnvInteracts"]))

    def on_training_end(self) -> None:
        if self._writer is not None:
            self._writer.close()
