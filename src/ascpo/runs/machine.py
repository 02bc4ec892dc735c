"""The kind of this machine. Machines of one kind run the same compiled programs and round identically.

On another kind a compiled program may crash, and figures may differ in their last bits. A robot in contact with an
object then follows another trajectory after some hundred steps.
"""

import hashlib
import platform
from functools import cache
from pathlib import Path


@cache
def machine_kind() -> str:
    """The processor's architecture, and a checksum of its model and its instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    except OSError:
        cpu = platform.processor()
    return f"{platform.machine()}-{hashlib.sha256(cpu.encode()).hexdigest()[:12]}"


def may_round_otherwise(kind: str) -> bool:
    """Whether figures from that kind of machine may differ here. Earlier versions did not record the kind."""
    return kind != machine_kind()
