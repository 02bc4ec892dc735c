"""Steps per second of a training, here and with other libraries, each in an environment of its own.

python -m benchmarks.peers [--python310 PYTHON] [--place DIRECTORY]

Every job trains on a task of the same kind, a point that drives to a goal among hazards, one after the other on the
same machine. OmniSafe gets two epochs only: it would take an hour for as many steps as the others. Libraries that
cannot be installed are listed with the last line of the error. Installing takes minutes
and gigabytes. The environments stay in the directory, and a second call uses them again.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
STEPS = 240_000
FEW_STEPS = 40_000

OURS = f"""
import time, ascpo
began = time.perf_counter()
ascpo.train("Point-8-Hazard", algo="{{algo}}", total_steps={STEPS}, progress=False, out="runs", name="{{algo}}")
print("seconds", time.perf_counter() - began)
"""
SB3 = f"""
import time, gymnasium, ascpo
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
envs = make_vec_env("ascpo/Point-8-Hazard-v0", n_envs=8)
model = PPO("MlpPolicy", envs, n_steps=1024, device="cpu")
began = time.perf_counter()
model.learn({STEPS})
print("seconds", (time.perf_counter() - began) * {STEPS} / model.num_timesteps)
"""
OMNISAFE = f"""
import time, omnisafe
config = {{{{
    "train_cfgs": {{{{"total_steps": {FEW_STEPS}, "vector_env_nums": 1, "torch_threads": 2}}}},
    "algo_cfgs": {{{{"steps_per_epoch": 20_000}}}},
    "logger_cfgs": {{{{"use_wandb": False, "use_tensorboard": False}}}},
}}}}
agent = omnisafe.Agent("{{algo}}", "SafetyPointGoal1-v0", custom_cfgs=config)
began = time.perf_counter()
agent.learn()
print("seconds", time.perf_counter() - began)
"""


@dataclass(frozen=True)
class Peer:
    """A library, what is installed for it, and its jobs: a name and a program each."""

    name: str
    packages: tuple[str, ...]
    jobs: dict[str, str]
    steps: int = STEPS
    old_python: bool = False
    """Whether it needs Python 3.10."""


PEERS = (
    Peer(
        "ascpo",
        (str(ROOT),),
        {f"{algo}, Point-8-Hazard": OURS.format(algo=algo) for algo in ("ppo-lagrangian", "cpo")},
    ),
    Peer("Stable-Baselines3", (str(ROOT), "stable-baselines3"), {"PPO, ascpo/Point-8-Hazard-v0": SB3}),
    Peer(
        "OmniSafe",
        ("omnisafe", "numpy<2"),
        {f"{algo}, SafetyPointGoal1-v0": OMNISAFE.format(algo=algo) for algo in ("PPOLag", "CPO")},
        steps=FEW_STEPS,
        old_python=True,
    ),
    Peer("Safety-Gymnasium", ("safety-gymnasium",), {"import": "import safety_gymnasium; print('seconds', 0)"}),
)


def environment(peer: Peer, place: Path, python: str) -> Path:
    """The interpreter of the library's environment. A RuntimeError holds the error of the installation."""
    home = place / peer.name
    interpreter = home / "bin" / "python"
    if not (home / "installed").exists():
        _call([python, "-m", "venv", "--clear", home])
        _call([interpreter, "-m", "pip", "install", "--quiet", "--no-compile", *peer.packages])
        (home / "installed").touch()
    return interpreter


def seconds(interpreter: Path, program: str) -> tuple[float, float]:
    """Seconds of the training, and seconds of processor time of the whole program, its start and compilation too."""
    before = _processor_time()
    with tempfile.TemporaryDirectory() as place:
        out = _call([interpreter, "-c", program], Path(place))
    taken = float(next(line for line in out.splitlines() if line.startswith("seconds ")).split()[1])
    return taken, _processor_time() - before


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _call(words: list[object], place: Path | None = None) -> str:
    done = subprocess.run([str(word) for word in words], cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "Error" in line or "error:" in line]
        raise RuntimeError((lines or [f"status {done.returncode}"])[-1].strip())
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python310", default="python3.10", help="an interpreter for OmniSafe")
    parser.add_argument("--place", type=Path, default=ROOT / "build" / "peers", help="where the environments are made")
    given = parser.parse_args()
    print("| library | job | steps | seconds | steps a second | processor seconds |\n|---|---|---|---|---|---|")
    for peer in PEERS:
        began = time.perf_counter()
        for job, program in peer.jobs.items():
            try:
                interpreter = environment(peer, given.place, given.python310 if peer.old_python else sys.executable)
                taken, processor = seconds(interpreter, program)
                speed = f"{peer.steps / taken:.0f} | {processor:.0f}" if taken else "it imports | "
                print(f"| {peer.name} | {job} | {peer.steps} | {taken:.1f} | {speed} |", flush=True)
            except (RuntimeError, FileNotFoundError) as error:
                print(f"| {peer.name} | {job} | {peer.steps} | | {error} | |", flush=True)
        print(f"{peer.name}: {time.perf_counter() - began:.0f} s with its installation", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
