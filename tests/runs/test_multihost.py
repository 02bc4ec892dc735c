"""One training on several devices, and on several hosts: the same one, up to the order of sums.

A host without accelerators can be told to have several devices, before JAX begins: hence the processes.
"""

import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from jax.experimental import multihost_utils
from numpy.testing import assert_allclose, assert_array_equal

import ascpo
import ascpo.engines.mjx.program as module
from ascpo.runs import multihost
from ascpo.runs.directory import find
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import read_policy
from tests.runs.helpers import EPOCH, POINT, TINY
from tests.slow import slow

SMALL = TINY | {"num_envs": 8}
NAME = "Point-1-Hazard-ascpo-seed0"
SLOW = slow("compiles for a minute")


def started(code, *words, devices):
    """A Python process in which there are so many devices. Its programs run for moments: they need not be fast."""
    flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
    flags = f"{os.environ.get('XLA_FLAGS', '')} {flags}"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(*processes):
    """What they printed, when they have ended well."""
    said = [process.communicate(timeout=500)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), "\n".join(said)
    return said


BY_DEVICES = f"""
import sys
from ascpo.cli.main import main
from tests.runs.helpers import words

def ascpo(*more):
    sys.argv = ["ascpo", "train", "--env", {POINT!r}, "--engine", "mjx-jax", "--evaluate", "0", *map(str, more)]
    main()

out, settings = sys.argv[1], words({SMALL!r})
for devices in (1, 4):
    ascpo(*settings, "--devices", devices, "--out", f"{{out}}/{{devices}}", "--total-steps", {4 * EPOCH})
try:
    ascpo(*settings, "--devices", 4, "--num-envs", 6, "--out", f"{{out}}/6")
except SystemExit as end:
    print(end)
"""

STILL = """
import ascpo.engines.mjx.program as module
module.over_devices = lambda physics, mesh: (lambda moving, actions: moving, physics.reset)
"""
"""Robots that never move: compiled in a moment."""

BY_HOSTS = f"""
import sys
from ascpo.runs import multihost

address, number, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
multihost.join(address, 2, number)
chosen = dict(engine="mjx-jax", total_steps={EPOCH}, out=out, checkpoint_every=0.0)
first = multihost.train({POINT!r}, **chosen, **{TINY!r})
then = multihost.resume(f"{{out}}/{NAME}", total_steps={2 * EPOCH})
assert (first is None) == (then is None) == (number > 0)
"""


ALONE = f"""
import ascpo
ascpo.train({POINT!r}, total_steps={2 * EPOCH}, out=out, engine="mjx-jax", progress=False, **{TINY!r})
"""


def free_port():
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def assert_alike(one, two, steps, rounded):
    """Sums in another order, and a linear solver that hears the last digit.

    A robot that moves hears it as well, since its motors switch: `rounded` is what that may do to its returns.
    """
    one, two = (read_table(find(run / NAME).metrics) for run in (one, two))
    assert list(one) == list(two)
    for name in ("EpRet", "EpCost", "EpMaxCost", "EpLen", "WorstCost", "EVReward", "LossV", "LossC", "Asked"):
        assert_allclose(one[name][0], two[name][0], rtol=rounded, atol=rounded / 10, err_msg=name)
    assert_array_equal(two["TotalEnvInteracts"], [steps, 2 * steps])
    assert_allclose(one["EpRet"], two["EpRet"], atol=0.02)
    assert_allclose(one["EpLen"], two["EpLen"])


class Huge(bytes):
    """Few bytes that pass for more than 32 bits can count."""

    def __len__(self):
        return 2**31 + 5


@pytest.mark.parametrize(("content", "part"), [(b"ten bytes.", 4), (b"", 4), (Huge(b"huge"), 2**40)])
def test_a_run_of_any_size_is_sent_to_the_other_processes_in_parts(monkeypatch, content, part):
    sent = []
    monkeypatch.setattr(multihost, "_PART", part)
    monkeypatch.setattr(multihost_utils, "broadcast_one_to_all", lambda array: sent.append(array) or array)
    assert multihost._broadcast(content) == content
    assert all(array.dtype.itemsize <= 4 for array in sent)
    assert all(array.nbytes <= max(part, 8) for array in sent)

    def receive(array):
        assert (array.shape, array.dtype) == (sent[0].shape, sent[0].dtype) or isinstance(content, Huge)
        return sent.pop(0)

    monkeypatch.setattr(multihost, "_first", lambda: False)
    monkeypatch.setattr(multihost_utils, "broadcast_one_to_all", receive)
    assert multihost._broadcast(b"") == content


@SLOW
@pytest.mark.parametrize("still", [True, False])
def test_several_devices_train_the_same_policy_up_to_rounding(tmp_path, still):
    (said,) = ended(started((STILL if still else "") + BY_DEVICES, tmp_path, devices=4))
    assert "on one device" in said
    assert "on 4 devices" in said
    assert_alike(tmp_path / "1", tmp_path / "4", 2 * EPOCH, rounded=1e-4 if still else 0.05)
    assert str(ascpo.load(tmp_path / "4" / NAME)) == f"TrainedPolicy(ascpo on {POINT}, 2 epochs)"
    assert "num_envs=6 cannot be shared by 4 devices. Ask for a multiple of 4." in said
    assert not (tmp_path / "6").exists()


@SLOW
@pytest.mark.parametrize("still", [True, False])
def test_several_hosts_train_the_same_policy_and_the_first_keeps_it(tmp_path, monkeypatch, still):
    """Two processes with two devices each; the second epoch is done after going on from the checkpoint."""
    code, address, out = (STILL if still else "") + BY_HOSTS, f"localhost:{free_port()}", tmp_path / "hosts"
    processes = [started(code, address, number, out, devices=2) for number in (0, 1)]
    if still:
        monkeypatch.setattr(module, "over_devices", lambda physics, _: (lambda moving, _: moving, physics.reset))
        module.chunk_program.cache_clear()
        exec(ALONE, {"out": tmp_path / "one"})
        module.chunk_program.cache_clear()
    else:
        # Robots that move hear how their program was rounded: it has to be compiled in the same way.
        ended(started(f"import sys; out = sys.argv[1]\n{ALONE}", tmp_path / "one", devices=1))

    first, second = ended(*processes)
    assert "on 4 devices" in first
    assert "Continuing after epoch 1" in first
    assert "epoch" not in second
    assert [path.name for path in out.iterdir()] == [NAME]
    assert_alike(tmp_path / "one", out, EPOCH, rounded=1e-4 if still else 0.05)
    assert np.isfinite(read_policy(out / NAME).theta).all()


def test_a_host_is_counted_from_zero():
    with pytest.raises(BadSetting, match="number=2: 2 processes are counted from 0 to 1"):
        multihost.join("localhost:1", 2, 2)
