"""What a person can mend: errors that are answered with a sentence, not with a trace of the program."""

from ascpo.engines.inspection import Faulty
from ascpo.runs.checkpoints import BadCheckpoint
from ascpo.training.train import Broken

MENDABLE = (ValueError, OSError, BadCheckpoint, Broken, Faulty)
