"""The server of a replay: it shows the worst episodes of an evaluation in a browser on the same machine."""

import contextlib
import io
import queue
import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ascpo.errors import to_install
from ascpo.evaluation.records import Record
from ascpo.replay.access import LOOPBACK, Access, free_port
from ascpo.replay.episode import play_again, title
from ascpo.replay.page import Page
from ascpo.replay.player import Player
from ascpo.runs.environment import Environment
from ascpo.runs.errors import MENDABLE
from ascpo.runs.serialization import BadSetting

if TYPE_CHECKING:
    import viser

_FRAME = 1 / 30
"""Seconds between two frames."""


class Replay:
    """A page on a local server."""

    def __init__(
        self,
        records: list[Record],
        port: int = 8080,
        *,
        env: Environment | None = None,
        trust_env: bool = False,
    ) -> None:
        self.player = Player(lambda index: play_again(records[index], env, trust_env=trust_env))
        self._access = Access()
        self._server = _serve(free_port(port), self._access)
        heading = f"{records[0].env}, {'mean' if records[0].mean_action else 'sampled'} actions"
        self._page = Page(self._server, heading, [title(record, i) for i, record in enumerate(records)])
        self._page.show(self.player)

    @property
    def address(self) -> str:
        """With the token. Whoever knows it can see the page and press its buttons."""
        return f"http://{LOOPBACK}:{self.port}/{self._access.token}/"

    @property
    def port(self) -> int:
        return self._server.get_port()

    def run(self, stop: threading.Event | None = None) -> None:
        """Handle the commands of the page, and play, until the event is set."""
        clock = time.monotonic()
        while stop is None or not stop.is_set():
            before, handled, now = self.player.head, self._handle_commands(), time.monotonic()
            self.player.advance(now - clock)
            clock = now
            if handled or self.player.head != before:
                self._page.show(self.player)

    def close(self) -> None:
        with _quiet():
            self._server.stop()

    def _handle_commands(self) -> bool:
        """Handle all commands in the queue, or wait for one frame. Returns whether there was any."""
        handled = False
        with contextlib.suppress(queue.Empty):
            while True:
                command = self._page.commands.get(timeout=0.0 if handled else _FRAME)
                handled = True
                try:
                    command(self.player)
                except MENDABLE as error:
                    self._page.show_error(str(error))
        return handled


def _serve(port: int, access: Access) -> "viser.ViserServer":
    if find_spec("viser") is None or find_spec("mjviser") is None:
        raise BadSetting(f"A replay needs viser and mjviser. Install them: {to_install('viewer')}.")
    import viser

    with _quiet(), access.guarding():
        server = viser.ViserServer(host=LOOPBACK, port=port, verbose=False)
    # A page can request a public tunnel, which must not exist.
    server.request_share_url = lambda verbose=True: None
    return server


def _quiet() -> contextlib.redirect_stdout[io.StringIO]:
    """viser prints banners, which the command line does not show."""
    return contextlib.redirect_stdout(io.StringIO())
