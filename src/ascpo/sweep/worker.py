"""The process that trains one batch: `python -m ascpo.sweep.worker CORES THREADS`.

The first line of its standard input has the jobs as JSON. The rest is a lifeline: when the other end closes, the
training saves its runs and ends. So no training outlives its driver.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascpo.sweep.jobs import Batch

_LOCK_TIMEOUT = 60.0
"""Seconds to wait for another worker that still holds the runs."""


def main() -> None:
    cores, threads = sys.argv[1:3]
    if cores and hasattr(os, "sched_setaffinity"):
        # Before anything that counts cores is imported.
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})
    text = read_line()
    threading.Thread(target=watch_lifeline, daemon=True).start()
    from ascpo.runs.compilation import set_up_compilation
    from ascpo.runs.stopping import Stopped
    from ascpo.sweep.claim import claimed
    from ascpo.sweep.jobs import Job, run_batch

    batch = tuple(map(Job.from_data, json.loads(text)))
    set_up_compilation()
    try:
        with claimed([job.directory for job in batch]):
            _wait_for(batch)
            run_batch(batch, threads=int(threads))
    except Stopped as stopped:
        sys.exit(128 + stopped.number)
    except Exception as error:
        sys.exit(" ".join(str(error).split()) or type(error).__name__)
    finally:
        if len(batch) == 1:
            _write_peaks(batch[0].directory)


def read_line() -> bytes:
    """The first line, read without a buffer: a thread that waits in a buffered read would keep Python from exiting."""
    parts = [b""]
    while not parts[-1].endswith(b"\n"):
        parts.append(os.read(sys.stdin.fileno(), 65536))
        if not parts[-1]:
            break
    return b"".join(parts)


def watch_lifeline() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _wait_for(batch: "Batch") -> None:
    """Wait for another worker that may still save these runs, because its driver was lost a moment ago."""
    end = time.monotonic() + _LOCK_TIMEOUT
    while any(job.is_busy() for job in batch) and time.monotonic() < end:
        time.sleep(0.5)


def _write_peaks(directory: Path) -> None:
    """Write `resources.json`: the peak memory of this run, over all processes that have trained it."""
    if not directory.is_dir():
        return
    file = directory / "resources.json"
    import jax

    from ascpo.runs.files import read_json, write_whole

    before = read_json(file) if file.exists() else {}

    # 0 where there is no accelerator.
    on_device = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    now = {"PeakMemory": _peak_memory(), "PeakDeviceMemory": int(on_device)}
    write_whole(file, json.dumps({name: max(value, before.get(name, 0)) for name, value in now.items()}) + "\n")


def _peak_memory() -> int:
    """The peak memory of this process in bytes.

    On Linux, VmHWM counts this program alone, while `getrusage` begins with the size of the parent process.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
