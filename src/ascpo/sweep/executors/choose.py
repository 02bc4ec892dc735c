"""The placement of a sweep: the options that say where it is trained, and the executor for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ascpo.errors import InertSetting
from ascpo.ranges import Range, shown
from ascpo.runs.serialization import BadSetting
from ascpo.sweep.executors.contract import Executor, Resources, needs_gpu
from ascpo.sweep.executors.gpu_sharing import count_gpus, share_gpus
from ascpo.sweep.executors.process import my_cores
from ascpo.sweep.executors.processes import Processes
from ascpo.sweep.jobs import Job
from ascpo.sweep.overrides import read_overrides


@dataclass(frozen=True)
class Placement:
    """Where to train."""

    on: str = "local"
    """The machines: `local` is this one. `ray` is the Ray cluster of this machine, which is started if there is none,
    and ray://host:port or host:port is another one. `slurm` is the SLURM cluster of this machine."""
    jobs: Annotated[int, Range(at_least=0, at_most=1024)] = 0
    """With --on local: the number of batches that train at the same time, each in its own process. 0 means one for
    every two cores, and in addition one for each GPU, or as many as share it (--gpus)."""
    resources: Annotated[Resources, tyro.conf.arg(name="")] = field(default_factory=Resources)
    files: Literal["shared", "sent"] = "shared"
    """With --on ray: whether all machines see the directory --out, or its files are sent through Ray."""
    slurm: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """With --on slurm: an option of sbatch as submitit knows it. --slurm partition=gpu --slurm time=240 (minutes)."""

    @property
    def kind(self) -> Literal["local", "ray", "slurm"]:
        if self.on in ("local", "slurm"):
            return "local" if self.on == "local" else "slurm"
        if self.on == "ray" or ":" in self.on:
            return "ray"
        raise BadSetting(f"--on {shown(self.on)[1:-1]} is unknown. Use local, ray, ray://host:port or slurm.")

    def moved(self, on: str) -> "Placement":
        """The same placement on other machines, without the options that these do not have."""
        moved = replace(self, on=on)
        if moved.kind == self.kind:
            return moved
        memory = 0.0 if moved.kind == "local" else self.resources.memory
        return Placement(on, resources=replace(self.resources, memory=memory))

    def check(self, jobs: Sequence[Job]) -> None:
        """Raise an error for options that change nothing for this kind of machines."""
        kind, usual = self.kind, Placement()
        inert = {
            "jobs": (kind != "local" and self.jobs != usual.jobs, f"{self.on} decides how many batches it trains"),
            "files": (kind != "ray" and self.files != usual.files, "only Ray sends files"),
            "slurm": (kind != "slurm" and bool(self.slurm), "it is for --on slurm"),
            "memory": (kind == "local" and bool(self.resources.memory), "it is reserved on clusters only"),
        }
        no_gpu = not any(map(needs_gpu, jobs))
        inert["gpus"] = (no_gpu and self.resources.gpus != usual.resources.gpus, "no batch needs a GPU")
        for name, (changed, why) in inert.items():
            if changed:
                raise InertSetting(name, getattr(self, name, None) or getattr(self.resources, name, None), why)
        if kind == "local" and self.resources.gpus > 1.0:
            raise BadSetting(f"--gpus {self.resources.gpus:g}: on this machine a batch uses one GPU, or a part of it.")


def open_executor(placement: Placement, jobs: Sequence[Job], folder: Path) -> Executor:
    """The executor for these jobs. `folder` is for files of the driver."""
    placement.check(jobs)
    marker = folder / "marker"
    match placement.kind:
        case "local":
            resources, cores = placement.resources, len(my_cores())
            left = [job for job in jobs if not job.is_done()]
            on_gpu = [job for job in left if needs_gpu(job)]
            gpus = count_gpus() if on_gpu else 0
            sharing = share_gpus(on_gpu, gpus, cores, resources.gpus) if gpus else None
            evaluated = [job for job in on_gpu if job.evaluation is not None]
            on_host = len(left) - len(on_gpu) + len(evaluated) if gpus else max(1, len(left))
            slots = min(placement.jobs or max(1, cores // 2), on_host)
            return Processes(slots, resources.cores, gpus=gpus, sharing=sharing)
        case "ray":
            from ascpo.sweep.executors.ray import OnRay

            return OnRay(placement.on, placement.resources, _written(marker) if placement.files == "shared" else None)
        case "slurm":
            from ascpo.sweep.executors.slurm import OnSlurm

            parameters = read_overrides(placement.slurm)
            return OnSlurm(folder / "slurm", placement.resources, parameters, _written(marker))


def _written(marker: Path) -> Path:
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    return marker
