"""Compiled programs are kept on disk, so that the second run of a kind starts at once."""

import hashlib
import os
import platform
from pathlib import Path

import jax


def keep_compiled_programs() -> None:
    """Turn the cache on, unless JAX has a cache directory already or ASCPO_CACHE=off."""
    if jax.config.values["jax_compilation_cache_dir"] or os.environ.get("ASCPO_CACHE", "").lower() == "off":
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jax.config.update("jax_compilation_cache_dir", str(home / "ascpo" / _machine()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _machine() -> str:
    """A program for one processor may not run on another that shares its home directory."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        cpu = platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(cpu.encode()).hexdigest()[:12]}"
