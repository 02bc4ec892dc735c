"""Which kind of machine this is. Machines of one kind run the same compiled programs, and round alike.

On another kind a compiled program may crash, and figures may differ in their last bits. A robot that pushes something
then takes another course after some hundred steps.
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
    """Whether figures made on that kind of machine may differ here. Earlier versions did not note the kind."""
    return kind != machine_kind()
