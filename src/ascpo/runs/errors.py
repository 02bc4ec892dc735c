"""Errors that a person can mend: the command line answers them with a sentence, not with a traceback."""

from ascpo.engines.gymnasium.errors import Faulty
from ascpo.runs.checkpoints import BadCheckpoint
from ascpo.training.loop import TrainingDiverged

MENDABLE = (ValueError, OSError, BadCheckpoint, TrainingDiverged, Faulty)
