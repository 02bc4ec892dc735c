"""Benchmark Warp alone, without JAX, task and resets, and measure the error of fewer solver iterations.

python -m benchmarks.warp speed Ant-8-Hazard Humanoid-8-Hazard   ten substeps of 8192 simulations, by settings (CUDA)
python -m benchmarks.warp iterations Ant-8-Hazard                how far MuJoCo goes astray if its solver stops early
"""

import argparse
import copy
import importlib
import time
from typing import Any

import mujoco
import numpy as np

from ascpo.engines.mjx.physics import in_single_precision, room_for
from ascpo.guard.model import SUBSTEPS, make_model

VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "5 iterations": {"iterations": 5},
    "3 iterations": {"iterations": 3},
    "tolerance 1e-5": {"tolerance": 1e-5},
    "5 steps of the line search": {"ls_iterations": 5},
    "sparse Jacobian": {"jacobian": int(mujoco.mjtJacobian.mjJAC_SPARSE)},
    "conjugate gradients": {"solver": int(mujoco.mjtSolver.mjSOL_CG)},
    "elliptic cones": {"cone": int(mujoco.mjtCone.mjCONE_ELLIPTIC)},
}
BEFORE, STEPS = 30, 30
"""Steps that are not timed, and those that are."""
LOOKS = (1, 3, 10, 30, 100)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("what", choices=("speed", "iterations"))
    asked.add_argument("suites", nargs="*", default=("Ant-8-Hazard", "Walker-8-Hazard", "Humanoid-8-Hazard"))
    asked.add_argument("--simulations", type=int, help="8192 for speed, 48 for iterations")
    args = asked.parse_args()
    for suite in args.suites:
        if args.what == "speed":
            speed(suite, args.simulations or 8192)
        else:
            iterations(suite, args.simulations or 48)


def speed(suite: str, simulations: int) -> None:
    """With new random actions at every step, unless it says otherwise."""
    base = in_single_precision(make_model(suite))
    pairs, rows = room_for(base)

    def tell(name: str, model: mujoco.MjModel, rows: int = rows, held: bool = False) -> None:
        print(f"{suite:<18} {name:<28} {_timed(model, simulations, pairs, rows, held)}", flush=True)

    tell("one action held", base, held=True)
    for name, options in VARIANTS.items():
        tell(name, changed(base, options))
    tell("twice the rows", base, rows=2 * rows)


def _timed(model: mujoco.MjModel, simulations: int, pairs: int, rows: int, held: bool) -> str:
    wp = importlib.import_module("warp")
    mjw = importlib.import_module("mujoco.mjx.third_party.mujoco_warp")

    wp.config.log_level = wp.LOG_WARNING
    if not wp.get_device().is_cuda:
        raise SystemExit("Speed by Warp is measured on an NVIDIA GPU, and there is none here.")
    there, data = mjw.put_model(model), mjw.make_data(model, simulations, naconmax=pairs * simulations, njmax=rows)
    there.opt.warn_overflow = 0
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (1 if held else BEFORE + STEPS, simulations, model.nu)).astype(np.float32)
    actions = [wp.array(each, dtype=float) for each in actions]
    mjw.step(there, data)
    with wp.ScopedCapture() as captured:
        for _ in range(SUBSTEPS):
            mjw.step(there, data)
    began = 0.0
    for i in range(BEFORE + STEPS):
        if i == BEFORE:
            wp.synchronize()
            began = time.perf_counter()
        wp.copy(data.ctrl, actions[i % len(actions)])
        wp.capture_launch(captured.graph)
    wp.synchronize()
    seconds = (time.perf_counter() - began) / STEPS
    used = data.solver_niter.numpy()
    return (
        f"{1e3 * seconds:7.2f} ms  {simulations / seconds / 1e3:6.0f} k steps/s  "
        f"iterations {used.mean():.2f}, at most {used.max()}"
    )


def iterations(suite: str, simulations: int) -> None:
    """In double precision, against a hundred iterations: median and largest distance of the robot, in metres."""
    base = make_model(suite)
    actions = np.random.default_rng(0).uniform(-1, 1, (simulations, max(LOOKS), base.nu))
    truth = _places(base, actions)
    for most in (10, 6, 5, 4, 3):
        off = np.linalg.norm(_places(changed(base, {"iterations": most}), actions) - truth, axis=-1)
        cells = [f"{np.median(off[:, t - 1]):.0e}/{off[:, t - 1].max():.0e}" for t in LOOKS]
        print(f"{suite:<18} {most:>3} iterations  " + "  ".join(f"{cell:>11}" for cell in cells), flush=True)


def _places(model: mujoco.MjModel, actions: np.ndarray) -> np.ndarray:
    robot = model.body("robot").id
    places = np.zeros((*actions.shape[:2], 2))
    for i, each in enumerate(actions):
        data = mujoco.MjData(model)
        for t, action in enumerate(each):
            data.ctrl = action
            mujoco.mj_step(model, data, SUBSTEPS)
            places[i, t] = data.xpos[robot, :2]
    return places


def changed(model: mujoco.MjModel, options: dict[str, Any]) -> mujoco.MjModel:
    model = copy.copy(model)
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model


if __name__ == "__main__":
    main()
