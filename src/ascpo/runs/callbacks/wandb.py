"""The metrics for Weights & Biases: pip install 'ascpo[wandb]'.

Its own variables decide the rest: WANDB_MODE=offline writes files that `wandb sync` uploads later, and WANDB_PROJECT
and WANDB_ENTITY say where the run belongs.
"""

import math
import os
import secrets
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ascpo.errors import to_install
from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.callbacks.logged_run import keep_id, read_id
from ascpo.runs.directory import RunDirectory
from ascpo.runs.links import refuse_links
from ascpo.runs.serialization import flat

_ID_FILE = "wandb-run.txt"


class WeightsAndBiases:
    """A callback that logs one run."""

    def __init__(self, directory: Path) -> None:
        try:
            self._wandb: Any = import_module("wandb")
        except ImportError:
            raise ValueError(f"Weights & Biases needs the package wandb: {to_install('wandb')}.") from None
        self._directory = directory
        self._run: Any = None

    def on_training_start(self, plan: TrainingPlan) -> None:
        refuse_links(self._directory / "wandb")
        run_id = read_id(self._directory / _ID_FILE) or keep_id(self._directory / _ID_FILE, secrets.token_hex(4))
        wandb = self._wandb
        try:
            self._run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", "ascpo"),
                id=run_id,
                name=self._directory.name,
                dir=str(self._directory),
                config=flat(RunDirectory(self._directory).config().plain()),
                resume="allow",
                # Runs that train at the same time are logged at the same time.
                reinit="create_new",
                settings=wandb.Settings(console="off", silent=True),
            )
        except wandb.errors.Error as error:
            raise ValueError(
                f"Weights & Biases could not start: {error} Log in with `wandb login`, or set WANDB_MODE=offline to "
                f"write files that `wandb sync` uploads later."
            ) from error

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> None:
        for epoch in epochs:
            if self._run is not None and epoch.directory == self._directory:
                row = {name: value for name, value in (epoch.metrics | epoch.timing).items() if math.isfinite(value)}
                self._run.log(row, step=int(epoch.metrics["TotalEnvInteracts"]))

    def on_training_end(self) -> None:
        if self._run is not None:
            self._run.finish()
