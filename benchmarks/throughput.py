"""Environment steps per second of every suite, next to the bare physics of the same model.

    python -m benchmarks.throughput                        # all nineteen suites, with 30 and 256 environments
    python -m benchmarks.throughput --suites Point-8-Hazard --envs 30
    python -m benchmarks.throughput --soak 1000000         # does memory stay flat?
    python -m benchmarks.throughput --layouts 10000        # how long does drawing so many layouts take?

The bare loop is `Batch.step(nstep=10)`: same model, same states, same actions, and nothing else. Engine and bare
loop take turns in short blocks, since machines are noisy; the medians of the blocks are compared.
"""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator

import mujoco
import numpy as np
from mujoco.batch import Batch

import ascpo
from ascpo.engines.native.environments import NativeEnvironments
from ascpo.environments.spaces import make_task
from ascpo.guard.draws import keys_for
from ascpo.guard.layout import draw_many
from ascpo.guard.model import SUBSTEPS

BLOCK_SECONDS = 0.15
BLOCKS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", nargs="+", default=list(ascpo.PAPER_SUITES))
    parser.add_argument("--envs", nargs="+", type=int, default=[30, 256])
    parser.add_argument("--threads", type=int, default=0, help="0: one per core")
    parser.add_argument("--soak", type=int, default=0, help="environment steps to watch the memory for, instead")
    parser.add_argument("--layouts", type=int, default=0, help="layouts to draw of each suite, instead")
    chosen = parser.parse_args()
    print(f"MuJoCo {mujoco.__version__}, {os.cpu_count()} cores, {platform.machine()}, {SUBSTEPS} substeps a step\n")
    if chosen.soak:
        soak(chosen.suites[0], chosen.soak)
        return
    if chosen.layouts:
        layouts(chosen.suites, chosen.layouts)
        return
    print("| suite | environments | engine, steps/s | bare loop, steps/s | ratio |")
    print("|---|---|---|---|---|", flush=True)
    for name in chosen.suites:
        for num_envs in chosen.envs:
            engine, bare = measure(name, num_envs, chosen.threads)
            print(f"| {name} | {num_envs} | {engine:,.0f} | {bare:,.0f} | {engine / bare:.2f} |", flush=True)


def measure(name: str, num_envs: int, threads: int) -> tuple[float, float]:
    """Environment steps per second of the engine and of the bare loop."""
    envs, actions = _environments(name, num_envs, threads)
    simulator = envs._simulator
    bare = Batch(envs.task.model, num_envs, threads)
    bare.bind("sensordata")

    def step_bare() -> None:
        if bare.model.nu:
            bare.ctrl = next(actions)
        bare.step(nstep=SUBSTEPS)

    def step_engine() -> None:
        envs.step(next(actions))

    for _ in range(20):
        step_engine()
    step_bare()
    calls = max(1, round(BLOCK_SECONDS / _seconds(step_bare, 3)))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(BLOCKS):
        bare.state[:] = simulator.batch.state
        times[1].append(_seconds(step_bare, calls))
        times[0].append(_seconds(step_engine, calls))
    return num_envs / statistics.median(times[0]), num_envs / statistics.median(times[1])


def soak(name: str, steps: int) -> None:
    """Run a suite for many steps and print the memory on the way."""
    envs, actions = _environments(name, 256, 0)
    print(f"{name}, 256 environments\n\n| environment steps | resident memory, MB |\n|---|---|")
    calls = steps // 256
    for call in range(calls + 1):
        if call % max(1, calls // 10) == 0:
            print(f"| {call * 256:,} | {_resident_megabytes():.0f} |", flush=True)
        envs.step(next(actions))


def layouts(names: list[str], count: int) -> None:
    """Draw many layouts of each suite, once to compile and then again, and print how long it took."""
    print(f"{count:,} layouts\n\n| suite | first time, s | best of three, s |\n|---|---|---|")
    for name in names:
        rules = make_task(name, "paper", "closest", None).rules
        keys = keys_for(np.arange(count), np.zeros(count, int))
        first, *others = (_seconds(lambda rules=rules, keys=keys: draw_many(rules, keys), 1) for _ in range(4))
        print(f"| {name} | {first:.2f} | {min(others):.2f} |", flush=True)


def _environments(name: str, num_envs: int, threads: int) -> tuple[NativeEnvironments, Iterator[np.ndarray]]:
    envs = NativeEnvironments(make_task(name, "paper", "closest", 1000), num_envs, threads)
    envs.reset(np.arange(num_envs))
    rng = np.random.default_rng(0)
    drawn = rng.uniform(-1, 1, (64, num_envs, envs.task.suite.robot.actions)).astype(np.float32)
    return envs, (drawn[i] for i in iter(lambda: int(rng.integers(64)), -1))


def _seconds(step: Callable[[], object], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        step()
    return (time.perf_counter() - began) / calls


def _resident_megabytes() -> float:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
