"""The native engine's programs run on the host, and its rollouts are where the learner is."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import jax
import numpy as np

host, accelerator = jax.devices()  # Two CPUs, one of which plays a GPU.
jax.config.update("jax_default_device", accelerator)
jax.default_backend = lambda: "gpu"

from ascpo.engines.native import NativeEngine
from ascpo.engines.rollout import Actor, Cast
from ascpo.environments.spaces import make_task
from ascpo.experience.memory import MAXIMA

actor = Actor(start=MAXIMA.start(1), after=MAXIMA.after, act=lambda theta, view, noise: theta[:2] + noise)
engine = NativeEngine(make_task("Point-1-Hazard", "paper", "closest", 9), 4, 1)
engine.begin_together([Cast(actor, (0, 5))])
theta, noise = jax.numpy.zeros((2, 3)), jax.numpy.ones((2, 20, 2, 2))
assert theta.devices() == {accelerator}
(rollout,) = engine.collect_together([theta], [noise])
snapshots = [jax.tree.map(np.asarray, engine.snapshots()(player)) for player in range(2)]
engine.restore_together(snapshots)
engine.collect_together([theta], [noise])
engine.cut_together()
for lane in engine._lanes:
    assert {*lane._rows.devices(), *lane._memories.devices(), *lane.succession.used.devices()} == {host}
    assert lane.succession._drawn.rows.devices() == {host}
for leaf in jax.tree.leaves(rollout):
    assert leaf.devices() == {accelerator}
    assert not leaf.committed
"""


def test_programs_run_on_the_host_and_rollouts_lie_on_the_default_device():
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | flags | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
