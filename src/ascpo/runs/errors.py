"""Errors that users can fix: the command line prints their message, without a traceback."""

from ascpo.engines.gymnasium.errors import Faulty
from ascpo.runs.checkpoints import BadCheckpoint
from ascpo.training.loop import TrainingDiverged

MENDABLE = (ValueError, OSError, BadCheckpoint, TrainingDiverged, Faulty)
