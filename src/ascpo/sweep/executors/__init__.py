"""What trains the batches of a sweep: this process, other processes on this machine, a Ray cluster, or SLURM."""

from ascpo.sweep.executors.contract import End, Executor, Resources
from ascpo.sweep.executors.in_process import InProcess
from ascpo.sweep.executors.processes import Processes

__all__ = ["End", "Executor", "InProcess", "Processes", "Resources"]
