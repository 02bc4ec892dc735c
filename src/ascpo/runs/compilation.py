"""Compilation: compiled programs are kept on disk, so that the second run of a kind starts at once.

They can be packed into a file and unpacked on another machine of the same kind, which then does not compile them again.
JAX identifies a program by its computation, the kind of device, and the versions and flags of its compilation. Programs
without a match are compiled as usual. Warp, which simulates robots on a GPU, keeps its compiled kernels in a folder of
the same directory.
"""

import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

from ascpo.errors import BadSetting
from ascpo.runs.archives import packed, unpacked
from ascpo.runs.files import BadFile, write_whole, writing
from ascpo.runs.machine import machine_kind

_FORMAT = "ascpo programs 1"
_PROGRAM = re.compile(r"[\w.-]+-cache")
_KERNELS = "kernels"
_KERNEL = re.compile(rf"{_KERNELS}(/\w[\w.+-]*){{3}}")
"""A file of a kernel: Warp's version, the kernel, the file's name."""


def set_up_compilation() -> None:
    """Turn off autotuning, and set a cache unless JAX has one or ASCPO_CACHE=off. Call this before JAX compiles."""
    _turn_off_autotuning()
    import jax

    if jax.config.values["jax_compilation_cache_dir"] or (place := _default_place()) is None:
        return
    os.environ.setdefault("WARP_CACHE_PATH", str(place / _KERNELS))
    jax.config.update("jax_compilation_cache_dir", str(place))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _default_place() -> Path | None:
    """Where programs are kept unless JAX knows another directory; None with ASCPO_CACHE=off."""
    if os.environ.get("ASCPO_CACHE", "").lower() == "off":
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    # A program for one processor may not run on another that shares the home directory.
    return home / "ascpo" / machine_kind()


def _turn_off_autotuning() -> None:
    """On a GPU, use the compiler's default kernels, unless XLA_FLAGS sets autotuning.

    Autotuning takes longer than it saves with networks as small as ours. Its choice also varies, and kernels differ in
    the last bits: a resumed training would differ from an uninterrupted one.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if "--xla_gpu_autotune_level" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_autotune_level=0".strip()


def cache_directory() -> Path | None:
    """The directory of compiled programs. None if they are not kept. This does not import JAX."""
    jax = sys.modules.get("jax")
    # JAX reads the variable when it is imported. After that its configuration counts.
    chosen = jax.config.values["jax_compilation_cache_dir"] if jax else os.environ.get("JAX_COMPILATION_CACHE_DIR")
    return Path(chosen) if chosen else _default_place()


def compiled_programs(directory: Path) -> list[Path]:
    return sorted(file for file in directory.glob("*") if _PROGRAM.fullmatch(file.name) and file.is_file())


def compiled_kernels(directory: Path) -> list[Path]:
    """The files of Warp's kernels, of which each has several."""
    found = (directory / _KERNELS).glob("*/*/*")
    return sorted(file for file in found if _KERNEL.fullmatch(_name(file, directory)) and file.is_file())


def pack_programs(directory: Path, out: Path) -> int:
    """Write all compiled programs and kernels into one file. Returns the number of programs."""
    programs, kernels = compiled_programs(directory), compiled_kernels(directory)
    if not programs:
        raise BadSetting(f"{directory} has no compiled programs yet. Train first: that compiles and keeps them.")
    index = {"format": _FORMAT, "machine": machine_kind(), "jax": version("jax")}
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, packed(index, {_name(file, directory): file.read_bytes() for file in programs + kernels}))
    return len(programs)


def unpack_programs(file: Path, directory: Path) -> int:
    """Unpack programs of another machine. Returns the number of new ones."""
    index, contents = unpacked(file, _FORMAT)
    if not all(_PROGRAM.fullmatch(name) or _KERNEL.fullmatch(name) for name in contents):
        raise BadFile(f"{file} holds no programs that this command packed.")
    if index["machine"] != machine_kind():
        raise BadSetting(
            f"{file} is from a machine with another processor ({index['machine']}, this is {machine_kind()}). Its "
            f"programs might crash here, so nothing was unpacked."
        )
    if index["jax"] != version("jax"):
        raise BadSetting(
            f"{file} is from JAX {index['jax']}, but this is {version('jax')}, which would not use it. Install that "
            f"version, or train without the file."
        )
    new = {name: content for name, content in contents.items() if not (directory / name).exists()}
    for name, content in new.items():
        with writing(directory):
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(directory / name, content)
    return sum(_PROGRAM.fullmatch(name) is not None for name in new)


def _name(file: Path, directory: Path) -> str:
    return file.relative_to(directory).as_posix()
