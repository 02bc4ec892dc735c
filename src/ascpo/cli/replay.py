"""`ascpo replay RUN`: look at the worst episodes of an evaluation in a browser."""

import contextlib
import os
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.replay.serve import Replay
from ascpo.replay.worst import Actions, worst_records
from ascpo.runs.compilation_cache import keep_compiled_programs


@dataclass(frozen=True)
class ReplayVerb:
    """Play the worst episodes of a run's last evaluation in a browser on this machine."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run's directory."""
    actions: Actions = "sampled"
    """Episodes with drawn or with mean actions."""
    port: int = 8080
    """Where the page is served; the next free one if it is taken."""
    open: bool = True
    """Open the page in a browser."""


def main(words: list[str]) -> None:
    wanted = tyro.cli(ReplayVerb, args=words, prog="ascpo replay")
    records = worst_records(wanted.run, wanted.actions)
    keep_compiled_programs()
    print("Playing the worst episode again ...", flush=True)
    replay = Replay(records, wanted.port)
    if wanted.port and not replay.address.endswith(f":{wanted.port}"):
        print(f"Port {wanted.port} is taken, so another one is used.")
    print(
        f"The {len(records)} worst episodes are at {replay.address} (this machine alone). Ctrl-C ends it.", flush=True
    )
    if wanted.open and _has_screen():
        webbrowser.open(replay.address)
    with contextlib.suppress(KeyboardInterrupt):
        replay.run()
    replay.close()


def _has_screen() -> bool:
    """Without one, a browser would open in the terminal, or fail noisily."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
