"""Benchmark sweeps and searches on clusters: `python -m benchmarks.clusters dry`, `tune` or `slurm`.

dry    a thousand jobs that train nothing, by Ray: milliseconds a job, memory of the driver
tune   twenty short trials on Point-1-Hazard. The search is killed once, and resumed
slurm  a sweep on the SLURM cluster that this machine belongs to: a job and the driver are killed, the time limit ends
       jobs, and the files must be those of a local sweep, byte for byte
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import tyro
from rich.console import Console

from ascpo.runs.config import configure
from ascpo.sweep.estimate import Estimate
from ascpo.sweep.executors import End, Resources
from ascpo.sweep.executors.ray import OnRay
from ascpo.sweep.jobs import Job
from ascpo.sweep.scheduler import run_sweep
from ascpo.sweep.status import LiveProgress, status_of


def dry(jobs: int = 1000) -> None:
    """Schedule jobs that train nothing on a Ray cluster of this machine."""
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        out = Path(folder)
        config = configure("Point-1-Hazard", "trpo", total_steps=30_000)
        todo = [Job(replace(config, seed=seed), out / f"run-seed{seed}") for seed in range(jobs)]
        (out / "sign").touch()
        executor = OnRay("ray", Resources(), out / "sign", _nothing)
        before = _memory()
        board = LiveProgress(todo, Estimate(out), executor.side_by_side, Console(file=nowhere, force_terminal=True))
        began = time.perf_counter()
        outcomes = run_sweep(todo, executor, board)
        seconds = time.perf_counter() - began
        board.close()
        executor.close()
        Console(width=100).print(status_of(todo[:200], Estimate(out)).picture())
    assert [one.status for one in outcomes] == ["trained"] * jobs
    print(f"{jobs} jobs in {seconds:.1f} s: {1000 * seconds / jobs:.1f} ms each.")
    print(f"Memory of the driver: {before:.0f} MB before, {_memory():.0f} MB at most.")


def _nothing(assignment: object, task: int, mailbox: object) -> End:
    return End()


def tune(out: Path = Path("runs/tuning"), trials: int = 20, killed_after: int = 8) -> None:
    """Search on Point-1-Hazard, kill the search after some trials, and resume it."""
    command = [sys.executable, "-m", "ascpo.cli.main", "tune", "--env", "Point-1-Hazard", "--algo", "ascpo"]
    command += ["--total-steps", "2e5", "--set", "num_envs=10", "--trials", str(trials), "--seeds", "1"]
    command += ["--episodes", "200", "--probability", "0.8", "--out", str(out)]
    for axis in ("trust_region.delta=0.005..0.05:log", "gae_lambda=0.9..0.99", "initial_log_std=-1.5..0.0"):
        command += ["--search", axis]
    began = time.perf_counter()
    process = subprocess.Popen(command)
    while process.poll() is None and not (out / f"trial{killed_after:04d}-seed0" / "metrics.csv").exists():
        time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    print(f"Killed after {time.perf_counter() - began:.0f} s.", flush=True)
    subprocess.run(command, check=True)
    print(f"{time.perf_counter() - began:.0f} s in all.")


def slurm(out: Path = Path("runs/slurm"), partition: str = "cpu", minutes: int = 3, steps: int = 120_000) -> None:
    """Train two suites on SLURM, with faults, and on this machine, without; compare the files."""
    sweep = [sys.executable, "-m", "ascpo.cli.main", "sweep"]
    tiny = "--set num_envs=4 --set horizon=100 --set hidden=8,8 --evaluate 0 --checkpoint-every 0 --yes"
    grid = f"--env Point-1-Hazard Point-1-Pillar --algo trpo --seeds 0..1 --total-steps {steps} {tiny}".split()
    on = f"--on slurm --slurm partition={partition} --slurm time={minutes} --cores 1 --memory 1".split()
    there, here, began = out / "slurm", out / "local", time.perf_counter()
    driver = subprocess.Popen([*sweep, *grid, *on, "--out", str(there)])
    while driver.poll() is None and _epochs(there) < 3:
        time.sleep(1.0)
    job = json.loads((there / ".sweep" / "slurm" / "jobs.json").read_text())[0]
    subprocess.run(["scancel", "--signal", "KILL", job], check=True)
    print(f"Killed the job {job} after {_epochs(there)} epochs in all.", flush=True)
    time.sleep(30.0)
    driver.kill()
    driver.wait()
    print(f"Killed the driver after {_epochs(there)} epochs in all.", flush=True)
    subprocess.run([*sweep, "resume", str(there), "--yes"], check=True)
    print(
        f"{time.perf_counter() - began:.0f} s on SLURM, which queued jobs {_requeued(there)} times again.", flush=True
    )
    # A core each, as on SLURM: with more of them XLA adds in another order.
    subprocess.run([*sweep, *grid, "--jobs", "2", "--cores", "1", "--out", str(here)], check=True)
    for run in sorted(here.glob("*-seed*")):
        for name in ("config.json", "metrics.csv", "policy.safetensors"):
            same = (run / name).read_bytes() == (there / run.name / name).read_bytes()
            print(f"{run.name}/{name}: {'the same bytes' if same else 'DIFFERENT'}")


def _requeued(out: Path) -> int:
    """How often SLURM ended a job of a sweep for its time limit."""
    return sum(log.read_text().count("Requeued job") for log in (out / ".sweep" / "slurm").glob("*.out"))


def _epochs(out: Path) -> int:
    """Epochs of all runs of a sweep."""
    return sum(file.read_bytes().count(b"\n") - 1 for file in out.glob("*/metrics.csv"))


def _memory() -> float:
    """Megabytes at the peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    tyro.extras.subcommand_cli_from_dict({"dry": dry, "tune": tune, "slurm": slurm})
