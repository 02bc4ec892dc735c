"""One training on several machines, with Ray, with SLURM, or as processes of this machine.

All machines work in lock-step. If one is lost, the others are stopped, and all restart from the last checkpoint, at
most three times in a row without a new epoch.
"""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from ascpo.runs.directory import RunDirectory
from ascpo.runs.serialization import BadSetting, Plain
from ascpo.sweep.executors.contract import End, Resources
from ascpo.sweep.store import epochs_done

_MOST_LOSSES = 3
_FIRST_PORT, _PORTS = 20_000, 20_000


@dataclass(frozen=True)
class HostsRun:
    """The training, as plain data."""

    env: str
    algo: str
    out: str
    name: str
    engine: str
    total_steps: float
    seed: int
    preset: str | None
    settings: Plain

    def plan_for(self, coordinator: str, processes: int, number: int, resume: bool) -> Plain:
        return asdict(self) | {
            "coordinator": coordinator,
            "processes": processes,
            "number": number,
            "resume": resume,
        }


Reference: TypeAlias = Any
"""The reference to a result of Ray."""
Start = Callable[[HostsRun, bool], Sequence[End]]
"""Trains on all machines, and returns the end of each. The flag says whether to resume."""


def train_on_hosts(run: HostsRun, start: Start, say: Callable[[str], None]) -> None:
    """Train to the end, and restart when machines are lost."""
    directory = RunDirectory(Path(run.out) / run.name)
    losses, before = 0, epochs_done(directory)
    while True:
        ends = start(run, directory.config_file.exists())
        errors = [end for end in ends if end.error]
        if not errors:
            return
        # Machines that were stopped because of another one are not the cause.
        failed = [end for end in errors if not end.lost]
        if failed:
            raise BadSetting(failed[0].error)
        now = epochs_done(directory)
        # Epochs since the last checkpoint are repeated, so there may be fewer than before.
        losses, before = (losses + 1 if now <= before else 1), max(now, before)
        if losses == _MOST_LOSSES:
            raise BadSetting(f"{errors[0].error}. That happened {losses} times in a row without a new epoch.")
        say(f"{errors[0].error}. All machines start again after epoch {now}.")


def host_here(plan: Plain, log: str) -> End:
    """Start the process for one of the machines here, and wait for it."""
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    process = start_host(plan, log)
    try:
        while process.poll() is None:
            time.sleep(0.1)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return end_of_host(process.returncode, log)


def start_host(plan: Plain, log: str) -> "subprocess.Popen[bytes]":
    with Path(log).open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "ascpo.sweep.host"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    assert process.stdin is not None
    process.stdin.write(json.dumps(plan).encode() + b"\n")
    process.stdin.flush()
    return process


def end_of_host(code: int, log: str) -> End:
    if code == 0:
        return End()
    # JAX aborts the processes that are left when one of them is lost.
    if code < 0 or code in (128 + signal.SIGTERM, 128 + signal.SIGINT):
        return End(f"A machine was lost (exit status {code}, log {log})", lost=True)
    lines = [line for line in Path(log).read_text(errors="replace").splitlines() if line.strip()]
    return End(lines[-1] if lines else f"exit status {code}")


@dataclass(frozen=True)
class LocalHosts:
    """Uses processes of this machine in place of machines."""

    hosts: int

    def __call__(self, run: HostsRun, resume: bool) -> list[End]:
        address, logs = f"localhost:{_free_port()}", _logs(run, self.hosts)
        processes = [start_host(run.plan_for(address, self.hosts, i, resume), logs[i]) for i in range(self.hosts)]
        try:
            while all(process.poll() is None for process in processes):
                time.sleep(0.1)
            # If one has ended successfully, the others are about to end too.
            while all(process.poll() in (None, 0) for process in processes) and any(
                process.poll() is None for process in processes
            ):
                time.sleep(0.1)
        finally:
            for process in processes:
                if process.poll() is None:
                    process.terminate()
        return [end_of_host(process.wait(), log) for process, log in zip(processes, logs, strict=True)]


@dataclass(frozen=True)
class RayHosts:
    """Uses machines of a Ray cluster: one process on each, with the requested cores and GPUs."""

    address: str
    hosts: int
    resources: Resources

    def bundle(self, cluster: Mapping[str, float]) -> dict[str, float]:
        """What each process asks for. Ray hides the GPUs from a process that asks for none."""
        one = 1.0 if cluster.get("GPU") else 0.0
        return {"CPU": self.resources.cores or 1, "GPU": self.resources.gpus or one}

    def __call__(self, run: HostsRun, resume: bool) -> list[End]:
        from ascpo.sweep.executors.ray import connected

        ray = connected(self.address)
        from ray.util.placement_group import placement_group, remove_placement_group
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        bundle = self.bundle(ray.cluster_resources())
        group = placement_group([bundle] * self.hosts, strategy="STRICT_SPREAD")
        if not group.wait(600):
            remove_placement_group(group)
            raise BadSetting(
                f"Ray did not find {self.hosts} machines with {bundle} within ten minutes. Use fewer --hosts."
            )
        try:

            def on(host: int, function: Callable[..., object], *arguments: object) -> Reference:
                where = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=host)
                how = {"num_cpus": bundle["CPU"], "num_gpus": bundle["GPU"], "max_retries": 0}
                return ray.remote(function).options(scheduling_strategy=where, **how).remote(*arguments)

            address, logs = ray.get(on(0, _address)), _logs(run, self.hosts)
            plans = [run.plan_for(address, self.hosts, i, resume) for i in range(self.hosts)]
            refs = [on(i, _ray_host, plans[i], logs[i]) for i in range(self.hosts)]
            return _ends(ray, refs)
        finally:
            remove_placement_group(group)


@dataclass(frozen=True)
class SlurmHosts:
    """Uses one SLURM job on several machines."""

    folder: Path
    hosts: int
    resources: Resources
    parameters: Plain

    def __call__(self, run: HostsRun, resume: bool) -> list[End]:
        import submitit

        executor = submitit.AutoExecutor(self.folder, "slurm")
        own = {f"slurm_{name}": value for name, value in self.parameters.items()}
        gpus = max(1, round(self.resources.gpus))
        shape: Plain = {"nodes": self.hosts, "tasks_per_node": 1, "gpus_per_node": gpus}
        executor.update_parameters(name="ascpo", cpus_per_task=self.resources.cores or 1, **shape, **own)
        job = executor.submit(_slurm_host, run, _logs(run, self.hosts), resume)
        try:
            return job.results()
        except KeyboardInterrupt:
            job.cancel()
            raise
        except Exception as error:
            return [End(f"SLURM lost the job {job.job_id} ({type(error).__name__})", lost=True)]


def _slurm_host(run: HostsRun, logs: list[str], resume: bool) -> End:
    import submitit

    job = submitit.JobEnvironment()
    # The port is derived from the number of the job, which all machines know.
    address = f"{job.hostnames[0]}:{_FIRST_PORT + int(job.raw_job_id) % _PORTS}"
    return host_here(run.plan_for(address, job.num_tasks, job.global_rank, resume), logs[job.global_rank])


def _ray_host(plan: Plain, log: str) -> End:
    from ascpo.sweep.executors.ray import restore_interrupts

    restore_interrupts()
    return host_here(plan, log)


def _ends(ray: ModuleType, refs: list[Reference]) -> list[End]:
    """The ends of the tasks. When one fails, the others are cancelled."""
    ends: dict[Reference, End] = {}
    while len(ends) < len(refs):
        ready, _ = ray.wait([ref for ref in refs if ref not in ends], num_returns=1)
        for ref in ready:
            try:
                ends[ref] = ray.get(ref)
            except ray.exceptions.RayError as error:
                ends[ref] = End(f"Ray lost a machine ({type(error).__name__})", lost=True)
        if any(end.error for end in ends.values()):
            for ref in refs:
                if ref not in ends:
                    ray.cancel(ref)
    return [ends[ref] for ref in refs]


def _address() -> str:
    import ray

    return f"{ray.util.get_node_ip_address()}:{_free_port()}"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        return found.getsockname()[1]


def _logs(run: HostsRun, hosts: int) -> list[str]:
    folder = Path(run.out).absolute() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return [str(folder / f"{run.name}-host{i}.log") for i in range(hosts)]
