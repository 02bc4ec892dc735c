"""Executors, which train the batches of a sweep: in this process, in processes of this machine, on Ray, or on SLURM."""

from ascpo.sweep.executors.contract import End, Executor, Resources
from ascpo.sweep.executors.in_process import InProcess
from ascpo.sweep.executors.processes import Processes

__all__ = ["End", "Executor", "InProcess", "Processes", "Resources"]
