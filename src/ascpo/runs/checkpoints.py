"""Checkpoints: the complete state of a training, in Orbax's format, as arrays and plain data.

A checkpoint also holds the fingerprint of its run, a checksum of every array, and the checksum of the metrics table up
to its epoch. So a damaged checkpoint, or one of another run, is refused.
"""

import contextlib
import logging
import shutil
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import KeyPath

from ascpo.runs.files import CannotWrite, reason_of, sync_directory, sync_tree, writing
from ascpo.runs.links import refuse_links
from ascpo.training.state import TrainingState

_KEPT = 2
_FAILING = 1.0
"""Seconds in which the threads that write a checkpoint fail after the first of them."""
RENAMED: dict[str, str] = {
    "state": "learner",
    **{f"learner/{name}": f"learner/policy/{name}" for name in ("theta", "multiplier", "nu")},
    "learner/adam": "learner/policy/step",
    "learner/trend/exceeding": "learner/policy/target/violation_rates",
    "learner/trend/time_limited": "learner/policy/target/timeout_rate",
    "learner/trend/known": "learner/policy/target/weight",
    "learner/shield/judge": "learner/shield/critic",
    "learner/shield/begins": "learner/shield/warm_up",
    **{f"learner/{critic}/arrays": f"learner/{critic}/params" for critic in ("value", "cost", "shield/critic")},
    **{f"learner/{critic}/adam": f"learner/{critic}/opt_state" for critic in ("value", "cost", "shield/critic")},
    "learner/window/view": "learner/window/observation",
    "learner/window/following": "learner/window/next_value",
    "learner/running/maximum": "learner/running/max_cost",
}
"""Renamed fields of the training state: earlier path → present path, for checkpoints of earlier versions. Everything
below a path moves with it. Entries are applied in order."""
_DROPPED = "learner/policy/target/"
"""Earlier versions also kept measured rates for algorithms that do not use them. These are dropped."""
_ADDED = ("learner/policy/signal/", "learner/recent/")
"""Parts of the state that checkpoints of earlier versions lack. They start as in a new training."""


class BadCheckpoint(RuntimeError):
    """A checkpoint that is damaged or belongs elsewhere. The message says what to do about it."""


class Checkpoints:
    """The checkpoints of one run."""

    log = ""
    """The checksum of the metrics table at the loaded checkpoint. Empty for earlier versions."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        # Orbax takes a second to import, and logs a lot.
        import orbax.checkpoint as ocp

        # Failures also raise exceptions, so its logged tracebacks are not needed.
        logging.getLogger("absl").setLevel(logging.CRITICAL)
        logging.getLogger("asyncio").addFilter(_is_not_of_orbax)
        self._ocp = ocp
        self._path = path
        self._fingerprint = fingerprint
        # By default, several processes write one checkpoint together. Here each process writes its own.
        me, kind = jax.process_index(), ocp.options.MultiprocessingOptions
        who = kind(me, {me}, f"process{me}") if jax.process_count() > 1 else kind()
        refuse_links(path)
        with writing(path):
            path.mkdir(exist_ok=True)
        refuse_links(*path.iterdir())
        options = ocp.CheckpointManagerOptions(
            max_to_keep=_KEPT,
            enable_async_checkpointing=False,
            cleanup_tmp_directories=True,
            create=False,
            multiprocessing_options=who,
        )
        self._manager = ocp.CheckpointManager(path.absolute(), options=options)

    def epochs(self) -> list[int]:
        """The epochs after which there is a checkpoint, the latest last."""
        return sorted(self._manager.all_steps())

    def save(self, state: TrainingState, log: str = "") -> None:
        """Write a checkpoint atomically, and sync it to the disk before earlier ones are removed.

        `log` is the checksum of the metrics table up to its epoch.
        """
        arrays = _named(state)
        about = {
            "fingerprint": self._fingerprint,
            "log": log,
            "checksums": {name: _checksum(array) for name, array in arrays.items()},
            "empty": {name: [str(a.dtype), list(a.shape)] for name, a in arrays.items() if not a.size},
        }
        ocp = self._ocp
        full = {name: array for name, array in arrays.items() if array.size}
        try:
            with _quiet_threads():
                self._manager.save(
                    state.epochs,
                    args=ocp.args.Composite(arrays=ocp.args.StandardSave(full), about=ocp.args.JsonSave(about)),
                    force=True,
                )
            sync_tree(self._path / str(state.epochs))
            sync_directory(self._path)
        except Exception as error:
            # Other threads may still be writing. Once they have failed as well, remove what is left.
            time.sleep(_FAILING)
            for rest in self._path.glob("*orbax-checkpoint-tmp*"):
                shutil.rmtree(rest, ignore_errors=True)
            earlier = [epochs for epochs in self.epochs() if epochs < state.epochs]
            kept = f"The one after epoch {earlier[-1]} is still good." if earlier else "There is no earlier one."
            raise CannotWrite(
                f"The checkpoint after epoch {state.epochs} could not be written to {self._path}: {reason_of(error)}. "
                f"{kept}"
            ) from error

    def load(self, example: TrainingState) -> TrainingState:
        """Read the latest checkpoint. `example` is a state of the same structure, such as the initial one."""
        latest = self.epochs()[-1]
        try:
            with _quiet_threads():
                found = self._manager.restore(
                    latest,
                    args=self._ocp.args.Composite(
                        arrays=self._ocp.args.StandardRestore(), about=self._ocp.args.JsonRestore()
                    ),
                )
            about, arrays = found["about"], dict(found["arrays"])
            arrays |= {name: np.zeros(shape, dtype) for name, (dtype, shape) in about["empty"].items()}
            sums, fingerprint, self.log = about["checksums"], about["fingerprint"], str(about.get("log", ""))
            changed = sorted(name for name in {*sums, *arrays} if _checksum(arrays[name]) != sums[name])
        except Exception as error:
            raise self._bad(latest, f"is damaged, or another program wrote it ({reason_of(error)})") from error
        if changed:
            raise self._bad(latest, f"is damaged, or another program wrote it ({changed[0]} was changed)")
        if fingerprint != self._fingerprint:
            raise self._bad(latest, "belongs to a run with other settings than this directory's config.json")
        return _rebuilt(arrays, example)

    def close(self) -> None:
        self._manager.close()

    def _bad(self, epoch: int, why: str) -> BadCheckpoint:
        earlier = [e for e in self.epochs() if e < epoch]
        then = f"continue from the one after epoch {earlier[-1]}" if earlier else "start the run again"
        return BadCheckpoint(f"The checkpoint {self._path / str(epoch)} {why}. Remove that directory to {then}.")


def renamed(arrays: Mapping[str, np.ndarray], names: Set[str], table: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The arrays with present names. Names that fit already are not changed."""
    out = {}
    for name, array in arrays.items():
        moved = name
        for old, new in table.items():
            if name not in names and f"{moved}/".startswith(f"{old}/"):
                moved = new + moved[len(old) :]
        if moved in names or not moved.startswith(_DROPPED):
            out[moved] = array
    return out


def _path_name(path: KeyPath) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _named(state: TrainingState) -> dict[str, np.ndarray]:
    return {_path_name(path): _array(leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(state)[0]}


def _array(leaf: object) -> np.ndarray:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def _rebuilt(arrays: dict[str, np.ndarray], example: TrainingState) -> TrainingState:
    """The arrays in the structure of the example. An engine's arrays may have other shapes than initially."""
    paths, structure = jax.tree_util.tree_flatten_with_path(example)
    names = [_path_name(path) for path, _ in paths]
    new = {name: _array(leaf) for name, (_, leaf) in zip(names, paths, strict=True) if name.startswith(_ADDED)}
    arrays = new | renamed(arrays, set(names), RENAMED)
    if missing := sorted(set(names) ^ set(arrays)):
        raise BadCheckpoint(
            f"Another version of this program wrote the checkpoint: {missing[0]} does not fit. Continue the run with "
            f"that version, which its versions.json names, or train it anew. Its policy can be used as it is."
        )
    leaves = []
    for name, (_, leaf) in zip(names, paths, strict=True):
        array = arrays[name]
        if not isinstance(leaf, jax.Array):
            leaves.append(array if isinstance(leaf, np.ndarray) else type(leaf)(array))
            continue
        expected = _array(leaf)
        if (array.shape, array.dtype) != (expected.shape, expected.dtype):
            raise BadCheckpoint(f"The checkpoint has other sizes: {name} is {array.shape}, not {expected.shape}.")
        is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        leaves.append(jax.random.wrap_key_data(jnp.asarray(array)) if is_key else jnp.asarray(array))
    return jax.tree_util.tree_unflatten(structure, leaves)


@contextlib.contextmanager
def _quiet_threads() -> Iterator[None]:
    """Silence the threads that write the other files of a checkpoint once one file has failed.

    Each of them would print a traceback, even after the error was handled. So after a failure the hook stays in place.
    """
    hook, sys.unraisablehook = sys.unraisablehook, _without_closed_loops
    yield
    sys.unraisablehook = hook


def _without_closed_loops(unraisable: "sys.UnraisableHookArgs") -> None:
    if str(unraisable.exc_value) != "Event loop is closed":
        sys.__unraisablehook__(unraisable)


def _is_not_of_orbax(record: logging.LogRecord) -> bool:
    """Filter: if several files fail, one exception is raised, and asyncio logs the others."""
    message = record.getMessage()
    return not ("exception was never retrieved" in message and "orbax" in message)


def _checksum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data) if array.size else 0
