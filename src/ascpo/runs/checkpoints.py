"""Checkpoints: everything that decides how a training goes on, in Orbax's format, arrays and plain data alone.

Beside the arrays each has the fingerprint of its run and a checksum of every array, so that one that was damaged, or
that belongs to another run, is known before anything goes wrong.
"""

import logging
import zlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ascpo.training.train import Standing

_KEPT = 2


class BadCheckpoint(RuntimeError):
    """A checkpoint that cannot be read or does not belong here, with what to do about it."""


class Checkpoints:
    """Those of one run."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        # Orbax takes a second to import, and logs what nobody asked for.
        import orbax.checkpoint as ocp

        logging.getLogger("absl").setLevel(logging.ERROR)
        self._ocp = ocp
        self._path = path
        self._fingerprint = fingerprint
        # Orbax would have the processes of several hosts write together, and wait for each other. Each has its own.
        me, kind = jax.process_index(), ocp.options.MultiprocessingOptions
        who = kind(me, {me}, f"process{me}") if jax.process_count() > 1 else kind()
        path.mkdir(exist_ok=True)
        options = ocp.CheckpointManagerOptions(
            max_to_keep=_KEPT,
            enable_async_checkpointing=False,
            cleanup_tmp_directories=True,
            create=False,
            multiprocessing_options=who,
        )
        self._manager = ocp.CheckpointManager(path.absolute(), options=options)

    def epochs(self) -> list[int]:
        """After which epochs there is one, the latest last."""
        return sorted(self._manager.all_steps())

    def save(self, standing: Standing) -> None:
        """Write one. Earlier ones stay until it is whole."""
        arrays = _named(standing)
        about = {
            "fingerprint": self._fingerprint,
            "checksums": {name: _checksum(array) for name, array in arrays.items()},
            "empty": {name: [str(a.dtype), list(a.shape)] for name, a in arrays.items() if not a.size},
        }
        ocp = self._ocp
        full = {name: array for name, array in arrays.items() if array.size}
        try:
            self._manager.save(
                standing.epochs,
                args=ocp.args.Composite(arrays=ocp.args.StandardSave(full), about=ocp.args.JsonSave(about)),
                force=True,
            )
        except Exception as error:
            kept = (
                f"The one after epoch {self.epochs()[-1]} is still good." if self.epochs() else "There is no earlier."
            )
            raise BadCheckpoint(
                f"The checkpoint after epoch {standing.epochs} could not be written to {self._path}: {_brief(error)}. "
                f"{kept} Is the disk full?"
            ) from error

    def load(self, example: Standing) -> Standing:
        """The latest one. `example` has the same shape: that of a training which has just begun."""
        latest = self.epochs()[-1]
        ocp = self._ocp
        try:
            found = self._manager.restore(
                latest, args=ocp.args.Composite(arrays=ocp.args.StandardRestore(), about=ocp.args.JsonRestore())
            )
            about, arrays = found["about"], dict(found["arrays"])
            arrays |= {name: np.zeros(shape, dtype) for name, (dtype, shape) in about["empty"].items()}
            wrong = sorted(name for name, sum_ in about["checksums"].items() if _checksum(arrays[name]) != sum_)
        except Exception as error:
            raise BadCheckpoint(f"{self._unreadable(latest)} ({_brief(error)}). {self._way_out(latest)}") from error
        if wrong:
            raise BadCheckpoint(f"{self._unreadable(latest)} ({wrong[0]} was changed). {self._way_out(latest)}")
        if about["fingerprint"] != self._fingerprint:
            raise BadCheckpoint(
                f"The checkpoint {self._path / str(latest)} belongs to a run with other settings than this directory's "
                f"config.json. {self._way_out(latest)}"
            )
        return _rebuilt(arrays, example)

    def close(self) -> None:
        self._manager.close()

    def _unreadable(self, epoch: int) -> str:
        return f"The checkpoint {self._path / str(epoch)} is damaged or was not made by this program"

    def _way_out(self, epoch: int) -> str:
        earlier = [e for e in self.epochs() if e < epoch]
        then = f"go on from the one after epoch {earlier[-1]}" if earlier else "begin the run anew"
        return f"Remove that directory to {then}."


def _named(standing: Standing) -> dict[str, np.ndarray]:
    paths, _ = jax.tree_util.tree_flatten_with_path(standing)
    return {jax.tree_util.keystr(path, simple=True, separator="/"): _array(leaf) for path, leaf in paths}


def _array(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def _rebuilt(arrays: dict[str, np.ndarray], example: Standing) -> Standing:
    """Arrays in the example's place. An engine's may have other shapes than at its start."""
    paths, structure = jax.tree_util.tree_flatten_with_path(example)
    names = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in paths]
    if missing := sorted(set(names) ^ set(arrays)):
        raise BadCheckpoint(f"The checkpoint was made by another version of this program: {missing[0]} does not fit.")
    leaves = []
    for name, (_, leaf) in zip(names, paths, strict=True):
        array = arrays[name]
        if not isinstance(leaf, jax.Array):
            leaves.append(array if isinstance(leaf, np.ndarray) else type(leaf)(array))
            continue
        wanted = _array(leaf)
        if (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
            raise BadCheckpoint(
                f"The checkpoint was made for other sizes: {name} is {array.shape}, not {wanted.shape}."
            )
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        leaves.append(jax.random.wrap_key_data(jnp.asarray(array)) if is_key else jnp.asarray(array))
    return jax.tree_util.tree_unflatten(structure, leaves)


def _checksum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data) if array.size else 0


def _brief(error: Exception) -> str:
    """The first line of what a library says, not all of it."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return text if len(text) < 200 else text[:200] + " …"
