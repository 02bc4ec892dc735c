"""The native engine's programs and rollouts stay on the host, whatever the default device is."""

import os
import subprocess
import sys
from pathlib import Path

from tests.slow import slow

ROOT = Path(__file__).parents[2]
SCRIPT = """
import jax
import numpy as np

host, accelerator = jax.devices()  # Two CPUs, one of which plays a GPU.
jax.config.update("jax_default_device", accelerator)
jax.default_backend = lambda: "gpu"

from ascpo.engines.contract import RunBatch
from ascpo.engines.native.engine import NativeEngine
from ascpo.environments.spaces import make_task
from tests.actors import ToyActor

actor = ToyActor(lambda theta, observation, noise: theta[:2] + noise, maxima=1)
engine = NativeEngine(make_task("Point-1-Hazard", "paper", "closest", 9), 4, 1)
engine.start([RunBatch(actor, (0, 5))])
theta, noise = jax.numpy.zeros((2, 3)), jax.numpy.ones((2, 20, 2, 2))
assert theta.devices() == {accelerator}
(rollout,) = engine.collect([theta], [noise])
snapshots = [jax.tree.map(np.asarray, engine.snapshots()(run)) for run in range(2)]
engine.restore(snapshots)
engine.collect([theta], [noise])
engine.cut()
for lane in engine._lanes:
    assert {*lane._rows.devices(), *lane._augmentations.devices(), *lane.schedule.position.devices()} == {host}
    assert lane.schedule._drawn.rows.devices() == {host}
assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(rollout))
"""


@slow("starts a process that trains")
def test_programs_run_on_the_host_and_rollouts_are_numpy_arrays():
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | flags | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
