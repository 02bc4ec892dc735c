"""Serve a page on this machine, for several commands."""

import contextlib
import os
import sys
import webbrowser
from typing import Protocol


class Served(Protocol):
    """A server of one page, which runs until it is stopped."""

    @property
    def port(self) -> int: ...

    @property
    def address(self) -> str: ...

    def run(self) -> None: ...

    def close(self) -> None: ...


def serve(page: Served, what: str, port: int, *, in_browser: bool) -> None:
    """Print the address of the page and what it shows, open it if there is a screen, and serve it."""
    if port not in (0, page.port):
        print(f"Port {port} is taken, so the page uses the next free one.")
    print(
        f"{page.address} shows {what}, on this machine only. The address is also the password. Press Ctrl-C to stop.",
        flush=True,
    )
    if in_browser and has_screen():
        webbrowser.open(page.address)
    with contextlib.closing(page):
        page.run()


def has_screen() -> bool:
    """Whether there is a screen. Without one, a browser would open in the terminal, or fail with messages."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
