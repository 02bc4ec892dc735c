"""The metrics for MLflow: pip install 'ascpo[mlflow]'.

MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME say where they go. Without the first, they go into the file `mlflow.db`
beside the run's directory: `mlflow ui --backend-store-uri sqlite:///runs/mlflow.db` shows it.
"""

import math
import os
import re
import time
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

_ID_FILE = "mlflow-run.txt"
_LONGEST = 500
"""Number of characters of a setting that MLflow keeps."""
_AT_ONCE = 100
"""Number of settings that MLflow takes in one call."""


class MLflow:
    """A callback that logs one run."""

    def __init__(self, directory: Path) -> None:
        try:
            import_module("sqlalchemy")
            self._mlflow: Any = import_module("mlflow")
        except ImportError:
            raise ValueError(f"MLflow's log needs the packages of the extra mlflow: {to_install('mlflow')}.") from None
        self._directory = directory
        self._client: Any = None
        self._run = ""
        self._epochs_left = 0

    def on_training_start(self, plan: TrainingPlan) -> None:
        store = self._directory.resolve().parent / "mlflow.db"
        refuse_links(store)
        uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{store}"
        self._client = self._mlflow.MlflowClient(tracking_uri=uri)
        self._epochs_left = plan.config.epochs - plan.epochs_done
        known = read_id(self._directory / _ID_FILE)
        if known is None:
            self._run = keep_id(self._directory / _ID_FILE, self._new_run())
        else:
            self._run = known
            self._client.update_run(known, status="RUNNING")

    def _new_run(self) -> str:
        """Make a run with all settings. Returns its id there."""
        client, entities = self._client, self._mlflow.entities
        experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME", "ascpo")
        found = client.get_experiment_by_name(experiment)
        number = client.create_experiment(experiment) if found is None else found.experiment_id
        run: str = client.create_run(number, run_name=self._directory.name).info.run_id
        settings = flat(RunDirectory(self._directory).config().plain())
        params = [entities.Param(_key(name), str(value)[:_LONGEST]) for name, value in settings.items()]
        for first in range(0, len(params), _AT_ONCE):
            client.log_batch(run, params=params[first : first + _AT_ONCE])
        return run

    def on_epoch_end(self, epochs: Sequence[EpochRecord]) -> None:
        for epoch in epochs:
            if self._client is None or epoch.directory != self._directory:
                continue
            row = {name: value for name, value in (epoch.metrics | epoch.timing).items() if math.isfinite(value)}
            now, step = int(1000 * time.time()), int(epoch.metrics["TotalEnvInteracts"])
            kind = self._mlflow.entities.Metric
            metrics = [kind(_key(name), float(value), now, step) for name, value in row.items()]
            self._client.log_batch(self._run, metrics=metrics)
            self._epochs_left -= 1

    def on_training_end(self) -> None:
        if self._run:
            self._client.set_terminated(self._run, "KILLED" if self._epochs_left > 0 else "FINISHED")


def _key(name: str) -> str:
    """The name with only the characters that MLflow allows."""
    return re.sub(r"[^\w\-. ]", "_", name, flags=re.ASCII)
