"""Errors that a person can mend: the command line answers them with a sentence, not with a traceback."""

from ascpo.engines.inspection import Faulty
from ascpo.runs.checkpoints import BadCheckpoint
from ascpo.training.train import Broken

MENDABLE = (ValueError, OSError, BadCheckpoint, Broken, Faulty)
