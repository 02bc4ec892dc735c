"""Replay: the worst episodes of an evaluation, to be looked at in a browser on the same machine."""

import contextlib
import io
import queue
import socket
import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ascpo.evaluation.records import Record
from ascpo.replay.page import Page
from ascpo.replay.player import Player
from ascpo.replay.story import title
from ascpo.replay.tale import tell
from ascpo.runs.errors import MENDABLE
from ascpo.runs.serialization import BadSetting

if TYPE_CHECKING:
    import viser

LOOPBACK = "127.0.0.1"
"""Nobody but this machine is served: the viewer asks for no password."""
_PORTS = 20
"""How many are tried."""
_FRAME = 1 / 30
"""Seconds between two pictures."""


class Replay:
    """A page that is served until it is closed."""

    def __init__(self, records: list[Record], port: int = 8080) -> None:
        self.player = Player(lambda episode: tell(records[episode]))
        self._server = _serve(free_port(port))
        heading = f"{records[0].env}, {'mean' if records[0].mean_action else 'sampled'} actions"
        self._page = Page(self._server, heading, [title(record, i) for i, record in enumerate(records)])
        self._page.show(self.player)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self._server.get_port()}"

    def run(self, stop: threading.Event | None = None) -> None:
        """Obey the page, and play, until told to stop."""
        clock = time.monotonic()
        while stop is None or not stop.is_set():
            before, obeyed, now = self.player.head, self._obey(), time.monotonic()
            self.player.wait(now - clock)
            clock = now
            if obeyed or self.player.head != before:
                self._page.show(self.player)

    def close(self) -> None:
        with _silence():
            self._server.stop()

    def _obey(self) -> bool:
        """Do all that was ordered, or wait for the time of a picture. Tells whether anything was."""
        orders = self._page.orders
        obeyed = False
        with contextlib.suppress(queue.Empty):
            while True:
                order = orders.get_nowait() if obeyed else orders.get(timeout=_FRAME)
                obeyed = True
                try:
                    order(self.player)
                except MENDABLE as error:
                    self._page.complain(str(error))
        return obeyed


def free_port(wanted: int) -> int:
    """The port, or the next one that is not taken."""
    if not 0 <= wanted <= 65535:
        raise BadSetting(f"--port {wanted}: ports are numbers from 1024 to 65535, or 0 for any.")
    for port in range(wanted, min(wanted + _PORTS, 65536)):
        with socket.socket() as attempt, contextlib.suppress(OSError):
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind((LOOPBACK, port))
            return port
    raise BadSetting(f"No port from {wanted} to {wanted + _PORTS - 1} can be used. Choose another one with --port.")


def _serve(port: int) -> "viser.ViserServer":
    if find_spec("viser") is None or find_spec("mjviser") is None:
        raise BadSetting("A replay needs viser and mjviser, which are not installed: pip install 'ascpo[viewer]'.")
    import viser

    with _silence():
        server = viser.ViserServer(host=LOOPBACK, port=port, verbose=False)
    # A page can ask for a tunnel to the outside; there is to be none.
    server.request_share_url = lambda verbose=True: None
    return server


def _silence() -> contextlib.redirect_stdout[io.StringIO]:
    """The viewer prints banners; the verb says what is to be said."""
    return contextlib.redirect_stdout(io.StringIO())
