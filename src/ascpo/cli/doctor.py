"""`ascpo doctor`: check this machine, and train for a few seconds."""

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.opengl import opengl_advice
from ascpo.cli.parsing import parsed
from ascpo.errors import to_install

_PACKAGES = ("jax", "jaxlib", "mujoco", "gymnasium", "numpy", "equinox")
_EXTRAS = {
    "mujoco-mjx": "mjx",
    "viser": "viewer",
    "mediapy": "video",
    "onnx": "onnx",
    "tensorboardX": "tensorboard",
    "wandb": "wandb",
    "mlflow-skinny": "mlflow",
    "optuna": "tune",
    "ray": "ray",
    "submitit": "slurm",
    "playground": "playground",
}
"""Package → the extra that installs it."""
_ROOM = 1.0
"""Gigabytes that should be free. A run with its checkpoints needs far less."""


class Trouble(RuntimeError):
    """A failed check. Its text says what is wrong and what to do."""


@dataclass(frozen=True)
class Doctor:
    """Look at this machine: versions, cores, accelerator, pictures, cache, disk, and a training of some seconds.

    Each line says what works, or what is wrong and what to do about it. The exit status is 1 if something needs care.
    Next: `ascpo train --env Point-1-Hazard`.
    """

    train: bool = True
    """Also train for a few seconds."""
    out: Annotated[Path, tyro.conf.arg(name="out")] = Path("runs")
    """The directory whose disk is checked."""


def main(words: list[str]) -> None:
    asked = parsed(Doctor, words, "ascpo doctor")
    checks: dict[str, Callable[[], str]] = {
        "python": lambda: f"{platform.python_version()} on {platform.platform(terse=True)}",
        "packages": _packages,
        "extras": _extras,
        "cores": lambda: f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}",
        "devices": _devices,
        "pictures": _pictures,
        "cache": _cache,
        "disk": lambda: _disk(asked.out),
    }
    if asked.train:
        checks["training"] = _training
    troubles = [name for name, check in checks.items() if not _passes(name, check)]
    if troubles:
        print(f"Needs care: {', '.join(troubles)}.")
        sys.exit(1)
    print("All is well. Begin with: ascpo train --env Point-1-Hazard --total-steps 1e6")


def _passes(name: str, check: Callable[[], str]) -> bool:
    try:
        print(f"  ok    {name:<9} {check()}", flush=True)
    except Exception as error:  # After any error, the other checks go on.
        said = str(error) if isinstance(error, Trouble) else f"{type(error).__name__}: {error}"
        said = opengl_advice(error) or said
        print(f"  CARE  {name:<9} {said}", flush=True)
        return False
    return True


def _packages() -> str:
    return ", ".join(f"{name} {metadata.version(name)}" for name in ("ascpo", *_PACKAGES))


def _extras() -> str:
    found = {package: _installed(package) for package in _EXTRAS}
    there = [extra for package, extra in _EXTRAS.items() if found[package]]
    missing = [f"ascpo[{extra}]" for package, extra in _EXTRAS.items() if not found[package]]
    return (", ".join(there) or "none") + (f"; not installed: {', '.join(missing)}" if missing else "")


def _installed(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def _devices() -> str:
    import jax

    found = jax.devices()
    kinds = ", ".join(dict.fromkeys(device.device_kind for device in found))
    has_card = Path("/dev/nvidia0").exists() or shutil.which("nvidia-smi") is not None
    if has_card and found[0].platform == "cpu":
        raise Trouble(f"there is a GPU, but JAX does not use it: {to_install('gpu')}")
    return f"{len(found)} × {found[0].platform} ({kinds})"


def _pictures() -> str:
    from ascpo.environments.registration import make

    env = make("Point-1-Hazard", render_mode="rgb_array", width=64, height=64)
    env.reset(seed=0)
    try:
        env.render()
    finally:
        env.close()
    return f"OpenGL renders (MUJOCO_GL={os.environ.get('MUJOCO_GL', 'not set')})"


def _cache() -> str:
    from ascpo.cli.cache import described
    from ascpo.runs.compilation import cache_directory

    place = cache_directory()
    return described(place) if place else "ASCPO_CACHE is off: every start compiles again"


def _disk(out: Path) -> str:
    place = next(one for one in (out.absolute(), *out.absolute().parents) if one.is_dir())
    free = shutil.disk_usage(place).free / 1e9
    if free < _ROOM:
        raise Trouble(f"{free:.2f} GB are free in {place}. Make room, or choose another --out.")
    if not os.access(place, os.W_OK):
        raise Trouble(f"{place} cannot be written to. Choose another --out.")
    return f"{free:.0f} GB free in {place}"


def _training() -> str:
    from ascpo.runs.api import train

    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        result = train("Point-1-Hazard", "trpo", num_envs=4, horizon=250, total_steps=2000, out=place, progress=False)
        epochs = result.epochs
    return f"{epochs} epochs in {time.perf_counter() - began:.0f} s, including compilation"
