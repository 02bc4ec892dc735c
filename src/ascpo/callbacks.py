"""Callbacks for `ascpo.train(..., callbacks=[...])`. docs/add-a-callback.md shows how to write one."""

from ascpo.runs.callbacks.best import SaveBest
from ascpo.runs.callbacks.callback import Callback, EpochRecord, TrainingPlan
from ascpo.runs.callbacks.early_stopping import EarlyStopping, StopWhen

__all__ = ["Callback", "EarlyStopping", "EpochRecord", "SaveBest", "StopWhen", "TrainingPlan"]
