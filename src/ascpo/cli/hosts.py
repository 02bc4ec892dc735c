"""`ascpo hosts`: train one policy on the accelerators of several machines with one command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ascpo.algorithms.presets import PresetName
from ascpo.cli.parsing import parsed
from ascpo.errors import InertSetting
from ascpo.ranges import Range, Seed
from ascpo.runs.config import configure
from ascpo.runs.directory import RunDirectory
from ascpo.runs.environment import engine_name, name_of
from ascpo.runs.serialization import BadSetting, Plain
from ascpo.sweep.directory import SweepDirectory
from ascpo.sweep.executors.choose import Placement
from ascpo.sweep.executors.contract import Resources
from ascpo.sweep.hosts import HostsRun, LocalHosts, RayHosts, SlurmHosts, Start, train_on_hosts
from ascpo.sweep.overrides import nested, read_overrides


@dataclass(frozen=True)
class Hosts:
    """Train one policy on several machines. The same command continues a training that was stopped.

    The run's directory in --out is like that of `ascpo train`, without an evaluation. Next: `ascpo evaluate RUN`.
    """

    hosts: Annotated[int, Range(at_least=2, at_most=10_000)] = 2
    """The number of machines."""
    env: str = "Point-8-Hazard"
    """The suite."""
    algo: str = "ascpo"
    """The algorithm."""
    preset: PresetName | None = None
    """Begin with the settings of the paper (`published`) or of its released code (`released`)."""
    engine: Literal["mjx", "mjx-jax", "mjx-warp"] = "mjx"
    """The implementation of MJX that simulates."""
    seed: Seed = 0
    """The seed of everything random."""
    total_steps: Annotated[float, Range(at_least=1.0, at_most=1e15)] = 6e6
    """The length of the training, in steps of all environments together."""
    set: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """A setting of the run: --set num_envs=4096 --set horizon=125."""
    on: str = "local"
    """The machines: `ray` or host:port is a Ray cluster, and `slurm` the SLURM cluster of this machine. `local` starts
    all processes on this machine, which is for tests."""
    cores: Annotated[int, Range(at_least=0, at_most=4096)] = 0
    """On a cluster: the cores of each machine. 0 means one."""
    gpus: Annotated[float, Range(at_least=0.0, at_most=64.0)] = 0.0
    """On a cluster: the GPUs of each machine. 0 means one, or none on a Ray cluster without any."""
    slurm: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """With --on slurm: an option of sbatch as submitit knows it. --slurm partition=gpu --slurm time=240 (minutes)."""
    out: Path = Path("runs")
    """The directory in which the run's directory is created. All machines of the cluster must see it."""

    def start(self) -> Start:
        kind, resources = Placement(self.on).kind, Resources(self.cores, self.gpus)
        if self.slurm and kind != "slurm":
            raise InertSetting("slurm", None, "it is for --on slurm")
        match kind:
            case "local":
                for name, value in (("cores", self.cores), ("gpus", self.gpus)):
                    if value:
                        raise InertSetting(name, value, "it is for clusters")
                return LocalHosts(self.hosts)
            case "ray":
                return RayHosts(self.on, self.hosts, resources)
            case "slurm":
                parameters = read_overrides(self.slurm)
                return SlurmHosts(self.out.absolute() / ".sweep" / "slurm", self.hosts, resources, parameters)

    def run(self) -> HostsRun:
        env = name_of(self.env)
        settings: Plain = nested(read_overrides(self.set), self.algo)
        engine = engine_name(self.engine, env)
        own: Plain = {"preset": self.preset, "seed": self.seed, "total_steps": self.total_steps, "engine": engine}
        config = configure(env, self.algo, **own, **settings)
        found = RunDirectory(self.out / config.name())
        if found.config_file.exists() and found.config().fingerprint != config.fingerprint:
            raise BadSetting(f"{found.path} holds a run with other settings. Choose another --out.")
        return HostsRun(
            env=env, algo=self.algo, out=str(self.out.absolute()), name=config.name(), settings=settings, **own
        )


def main(typed: list[str]) -> None:
    asked = parsed(Hosts, typed, "ascpo hosts")
    run = asked.run()
    with SweepDirectory(asked.out).driving():
        train_on_hosts(run, asked.start(), lambda sentence: print(sentence, flush=True))
    print(f"Policy: {asked.out / run.name / 'policy.safetensors'}")
