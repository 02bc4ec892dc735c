"""The metrics for TensorBoard, if asked for: pip install 'ascpo[tensorboard]'."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ascpo.runs.callbacks.callback import News, Plan


class TensorBoard:
    """A watcher that writes event files into the run's directory."""

    def __init__(self, directory: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ValueError(
                "TensorBoard's files need the package tensorboardX: pip install 'ascpo[tensorboard]'."
            ) from None
        self._directory = directory
        self._open: Any = SummaryWriter
        self._writer: Any = None

    def begin(self, plan: Plan) -> None:
        # What was written after the checkpoint that the run goes on from is hidden from there on.
        settings = plan.config.settings
        first = plan.done * settings.num_envs * settings.horizon + 1
        self._writer = self._open(str(self._directory / "tensorboard"), purge_step=first if plan.done else None)

    def epoch(self, news: Sequence[News]) -> None:
        for row, timing in ((each.row, each.timing) for each in news if each.directory == self._directory):
            for name, value in (row | timing).items():
                self._writer.add_scalar(name, value, int(row["TotalEnvInteracts"]))

    def end(self) -> None:
        if self._writer is not None:
            self._writer.close()
