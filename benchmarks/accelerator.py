"""Benchmark an accelerator: its speed, and its distance from the native engine.

python -m benchmarks.accelerator speed                  steps/s of all robots: native, mjx-jax, mjx-warp, bare and whole
python -m benchmarks.accelerator speed Point-8-Hazard --batches 1024 8192 --engines native mjx-jax
python -m benchmarks.accelerator parity --batches 64    error over time against the native engine, the same actions
python -m benchmarks.accelerator training --seeds 0..31 6 million steps of ASCPO on Point-8-Hazard: seconds a seed

A step is the whole environment's: ten substeps, the task with lidars, costs and observation, and resets. `bare` is the
simulator alone: substeps and one forward pass with sensors. Both begin anew before every call: robots that have come to
lie on the floor take longer.
"""

import argparse
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import RunBatch
from ascpo.engines.native.engine import NativeEngine
from ascpo.engines.native.simulator import Simulator
from ascpo.engines.precision import precise
from ascpo.environments.registration import MAX_EPISODE_STEPS
from ascpo.environments.spaces import make_task
from ascpo.guard.model import touches
from ascpo.guard.task import Task
from ascpo.runs.compilation import set_up_compilation
from ascpo.sweep.seeds import seeds_of

SUITES = (
    "Point-8-Hazard",
    "Point-8-Pillar",
    "Point-8-Ghost",
    "Swimmer-8-Hazard",
    "Drone-8-3DHazard",
    "Arm3-8-3DHazard",
    "Walker-8-Hazard",
    "Ant-8-Hazard",
    "Humanoid-8-Hazard",
)
LOOKS = (1, 3, 10, 30, 100)
"""Steps after which engines are compared."""
STEPS = 100
"""In which speed is measured."""
FEW = 25
"""Where a step takes long: as many as the engine takes at a time."""


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("what", choices=("speed", "parity", "training"))
    asked.add_argument("suites", nargs="*", default=SUITES)
    asked.add_argument("--batches", type=int, nargs="*", default=(1024, 8192), help="parity takes the smallest")
    asked.add_argument("--engines", nargs="*", default=("native", "mjx-jax", "mjx-warp"))
    asked.add_argument("--seeds", default="0")
    asked.add_argument("--num-envs", type=int, default=240)
    asked.add_argument("--horizon", type=int, default=125)
    asked.add_argument("--total-steps", type=float, default=6e6)
    asked.add_argument("--out", type=Path, default=Path("runs/accelerator"))
    args = asked.parse_args()
    set_up_compilation()
    logging.getLogger("ascpo").setLevel(logging.ERROR)  # A table says how many simulations broke down.
    device = jax.devices()[0]
    print(f"{device.device_kind}, JAX {jax.__version__}, {jax.default_backend()}", flush=True)
    if args.what == "training":
        train(args)
        return
    for suite in args.suites or SUITES:
        task = make_task(suite, "paper", "closest", MAX_EPISODE_STEPS)
        for engine in args.engines:
            try:
                if args.what == "parity":
                    print(parity(task, engine, min(args.batches)), end="", flush=True)
                else:
                    for batch in args.batches:
                        print(speed(task, engine, batch), flush=True)
            except Exception as error:
                print(f"{suite:<18} {engine:<9} not possible: {str(error).splitlines()[0]}", flush=True)


def speed(task: Task, engine: str, batch: int) -> str:
    """One row of the table."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (_steps(task, engine, batch), batch, task.suite.robot.actions)).astype(np.float32)
    made, begin, whole, bare = (_native if engine == "native" else _mjx)(task, engine, actions)
    first, seconds = _timed(whole, begin)
    broken = f"  {len(made.divergences)} broke down" if made.divergences else ""
    _, bare_seconds = _timed(bare, begin)
    return (
        f"{task.suite.name:<18} {engine:<9} {batch:>6}  {len(actions) * batch / seconds / 1e3:>9.0f} k steps/s  "
        f"bare {len(actions) * batch / bare_seconds / 1e3:>9.0f} k  ratio {bare_seconds / seconds:.2f}  "
        f"{1e3 * seconds / len(actions):>7.2f} ms a step  compiled in {first - seconds:>5.1f} s{broken}"
    )


def _steps(task: Task, engine: str, batch: int) -> int:
    """Where one takes long, fewer say as much."""
    if engine == "native":
        return max(5, min(STEPS, 100_000 // batch))
    if not touches(task.model):
        return STEPS
    return FEW if engine == "mjx-jax" else max(FEW, min(STEPS, STEPS * 8192 // batch))


Call: TypeAlias = Callable[[], Any]
Calls: TypeAlias = tuple[Any, Call, Call, Call]
"""An engine, and calls that begin anew, step the whole environments, and step the simulator alone."""


def _native(task: Task, _: str, actions: np.ndarray) -> Calls:
    batch = actions.shape[1]
    engine, simulator = NativeEngine(task, batch), Simulator(task, batch, 0)
    away = np.tile(np.array([9.0, 9.0, 0.5], np.float32), (batch, task.suite.pillars, 1))

    def begin() -> None:
        engine.start([RunBatch(ScriptedActor(), (0,))])
        simulator.reset(np.arange(batch), away)

    def bare() -> None:
        for action in actions:
            simulator.step(action)

    return engine, begin, lambda: engine.collect([jnp.zeros((1, 0))], [actions[None]]), bare


def _mjx(task: Task, engine: str, actions: np.ndarray) -> Calls:
    from ascpo.engines.mjx.engine import MjxEngine
    from ascpo.engines.mjx.physics import Physics

    implementation = "warp" if engine == "mjx-warp" else "jax"
    whole, physics = MjxEngine(task, actions.shape[1], implementation), Physics(task, implementation)
    on_device = jnp.asarray(actions)
    start = physics.begin(jnp.tile(jnp.array([9.0, 9.0, 0.5]), (actions.shape[1], task.suite.pillars, 1)))

    @jax.jit
    @precise
    def bare(moving: Any, actions: Any) -> Any:
        return jax.lax.scan(lambda m, a: (physics.step(m, a), None), moving, actions)[0].sensors

    def begin() -> None:
        whole.start([RunBatch(ScriptedActor(), (0,))])

    return whole, begin, lambda: whole.collect([jnp.zeros((1, 0))], [on_device[None]]), lambda: bare(start, on_device)


def _timed(call: Call, begin: Call, times: int = 3) -> tuple[float, float]:
    """Seconds of the first call, and of the fastest after it. What takes long is not done as often."""
    seconds = []
    while len(seconds) < 2 or (len(seconds) <= times and sum(seconds[1:]) < 10):
        begin()
        began = time.perf_counter()
        jax.block_until_ready(call())
        seconds.append(time.perf_counter() - began)
    return seconds[0], min(seconds[1:])


def parity(task: Task, engine: str, batch: int) -> str:
    """By how much the tracked frame's place differs from the native simulator's: median and largest of a batch."""
    if engine == "native":
        return ""
    from ascpo.engines.mjx.physics import Physics

    physics = Physics(task, "warp" if engine == "mjx-warp" else "jax")
    rng = np.random.default_rng(0)
    pillars = np.tile(np.array([9.0, 9.0, 0.5]), (batch, task.suite.pillars, 1)).astype(np.float32)
    if task.suite.pillars:
        pillars[:, 0] = [0.6, 0.05, 0.5]
    simulator = Simulator(task, batch, 0)
    simulator.reset(np.arange(batch), pillars)
    moving = physics.begin(jnp.asarray(pillars))
    step = jax.jit(precise(physics.step))
    plan, tracked = task.plan, task.suite.robot.frames.index(task.suite.robot.tracked)
    cells, broken = [], []
    for t in range(1, max(LOOKS) + 1):
        actions = rng.uniform(-1, 1, (batch, task.suite.robot.actions)).astype(np.float32)
        simulator.step(actions)
        moving = step(moving, jnp.asarray(actions))
        if t in LOOKS:
            mine, theirs = np.asarray(moving.sensors), simulator.sensors
            places = [x[:, plan.offsets["position"]].reshape(batch, -1, 3)[:, tracked] for x in (mine, theirs)]
            error = np.linalg.norm(places[0] - places[1], axis=-1)
            cells.append(f"{np.nanmedian(error):.0e}/{np.nanmax(error):.0e}")
            broken.append(int(np.isnan(mine).any(axis=1).sum()) - int(np.isnan(theirs).any(axis=1).sum()))
    more = f"  {broken[-1]:+d} broken down" if broken[-1] else ""
    return f"{task.suite.name:<18} {engine:<9} " + "  ".join(f"{cell:>13}" for cell in cells) + more + "\n"


def train(args: argparse.Namespace) -> None:
    """Whole runs, and what a seed of them took."""
    from ascpo.runs.api import train_many

    seeds, began = seeds_of(args.seeds), time.perf_counter()
    results = train_many(
        "Point-8-Hazard",
        ["ascpo"],
        seeds=seeds,
        engine=args.engines[0],
        num_envs=args.num_envs,
        horizon=args.horizon,
        total_steps=args.total_steps,
        out=args.out,
        progress=False,
        checkpoint_every=1e9,
    )
    seconds = time.perf_counter() - began
    last = [{name: np.mean(column[-10:]) for name, column in result.history.items()} for result in results]
    print(f"{len(seeds)} seeds in {seconds:.1f} s: {seconds / len(seeds):.1f} s a seed, compilation and files included")
    for name in ("EpRet", "EpCost", "EpMaxCost", "CostRate", "SafeRate", "TimeoutRate"):
        values = np.array([each[name] for each in last])
        print(f"  {name:<12} {values.mean():.4f} ± {values.std():.4f}  [{values.min():.4f}, {values.max():.4f}]")


if __name__ == "__main__":
    main()
