"""One training on the accelerators of several hosts: one process per host, in lock-step over one mesh.

Every host runs the same program, with its own number:

    multihost.join("first-host:8476", processes=4, number=0)
    multihost.train("Ant-8-Hazard", engine="mjx-jax", num_envs=4096, out="runs")

Every process goes through the whole training. The first process keeps the run's directory; the others write to a
temporary one.
"""

import contextlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ascpo.runs import api
from ascpo.runs.api import Result
from ascpo.runs.directory import find
from ascpo.runs.environment import Environment
from ascpo.runs.serialization import BadSetting, Plain
from ascpo.runs.stopping import Stopped

_NEVER = 1e12
"""Seconds between checkpoints of processes whose files are not used."""
_PART = 2**26
"""Bytes of one broadcast. On the devices, each takes four bytes."""


def join(coordinator: str, processes: int, number: int) -> None:
    """Connect to the other processes at the first one's address (host:port). Call this before any other use of JAX."""
    if not 0 <= number < processes:
        raise BadSetting(f"number={number}: {processes} processes are counted from 0 to {processes - 1}.")
    if jax.config.values["jax_platforms"] == "cpu":
        # Without an accelerator JAX needs a library for sums over hosts.
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(coordinator, processes, number)


def train(env: Environment, algo: str = "ascpo", *, out: str | Path = "runs", **chosen: Any) -> Result | None:
    """Like `ascpo.train` with MJX, on all devices of all hosts. The first process gets the result."""
    with _output(out) as mine, _exit_when_stopped():
        result = api.train(env, algo, out=mine, **_with_devices(chosen | {"engine": chosen.get("engine", "mjx")}))
    return result if _first() else None


def resume(run: str | Path, **chosen: Any) -> Result | None:
    """Like `ascpo.resume`. Only the first host needs to have the run."""
    with _copied(run) as mine, _exit_when_stopped():
        result = api.resume(mine, **_with_devices(chosen))
    return result if _first() else None


def _first() -> bool:
    return jax.process_index() == 0


def _with_devices(chosen: Plain) -> Plain:
    chosen = {"devices": 0} | chosen
    silent = dict.fromkeys(("progress", "tensorboard", "wandb", "mlflow"), False)
    return chosen if _first() else chosen | silent | {"checkpoint_every": _NEVER}


@contextlib.contextmanager
def _exit_when_stopped() -> Iterator[None]:
    """Exit at once when stopped, since the devices would wait for processes that may be gone. All epochs are saved."""
    try:
        yield
    except Stopped as stopped:
        print(f"Stopped by {stopped}. All finished epochs are saved.", flush=True)
        os._exit(128 + stopped.number)


def _output(out: str | Path) -> contextlib.AbstractContextManager[str]:
    """The directory that this process writes to."""
    return contextlib.nullcontext(str(out)) if _first() else tempfile.TemporaryDirectory()


@contextlib.contextmanager
def _copied(run: str | Path) -> Iterator[str]:
    """The run's directory. The first process sends it to the others."""
    content = b""
    if _first():
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            tables = [f"{name}.csv{end}" for name in ("metrics", "timing") for end in ("", ".sha256")]
            for name in ("config.json", *tables, "checkpoints"):
                if (file := find(Path(run)).path / name).exists():
                    archive.add(file, name)
        content = packed.getvalue()
    content = _broadcast(content)
    with _output(run) as mine:
        if not _first():
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(mine, filter="data")
        yield mine


def _broadcast(content: bytes) -> bytes:
    """The first process's content, in every process."""
    from jax.experimental.multihost_utils import broadcast_one_to_all

    # The size of a run may exceed JAX's 32-bit integers.
    high, low = broadcast_one_to_all(np.array(divmod(len(content), 2**31), np.int32))
    size, parts = int(high) * 2**31 + int(low), list[bytes]()
    for start in range(0, size, _PART):
        mine = np.frombuffer(content[start : start + _PART], np.uint8)
        part = mine if _first() else np.zeros(min(_PART, size - start), np.uint8)
        parts.append(np.asarray(broadcast_one_to_all(part), np.uint8).tobytes())
    return b"".join(parts)
