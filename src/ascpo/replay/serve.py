"""The server of a replay: it shows the worst episodes of an evaluation in a browser on the same machine."""

import contextlib
import functools
import io
import queue
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ascpo.errors import to_install
from ascpo.evaluation.records import Record
from ascpo.replay.access import LOOPBACK, Access, free_port
from ascpo.replay.episode import play_again, title
from ascpo.replay.page import Command, Page
from ascpo.replay.player import Player
from ascpo.runs.environment import Environment
from ascpo.runs.errors import MENDABLE
from ascpo.runs.serialization import BadSetting

if TYPE_CHECKING:
    import viser

    Event = viser.ClientHandle | Command | None
    """A browser that connects, a command of its page, or its end."""

_FRAME = 1 / 30
"""Seconds between two frames."""
_LONGEST = 0.5
"""After a delay, a page advances by at most this many seconds."""


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
        # All browsers share the episodes that have been played again, and nothing else.
        self._load = functools.cache(lambda index: play_again(records[index], env, trust_env=trust_env))
        self._load(0)
        self.heading = f"{records[0].env}, {'mean' if records[0].mean_action else 'sampled'} actions"
        self._titles = [title(record, i) for i, record in enumerate(records)]
        self._access = Access(f"Replay of {self.heading}")
        self._server = _serve(free_port(port), self._access)
        self._events: queue.SimpleQueue[tuple[int, Event]] = queue.SimpleQueue()
        self.sessions: dict[int, Session] = {}
        """The browsers that are connected, by the number of the client."""
        self._server.on_client_connect(lambda client: self._events.put((client.client_id, client)))
        self._server.on_client_disconnect(lambda client: self._events.put((client.client_id, None)))

    @property
    def address(self) -> str:
        """The address with the token. Anybody who knows it can see and use the page."""
        return f"http://{LOOPBACK}:{self.port}/{self._access.token}/"

    @property
    def port(self) -> int:
        return self._server.get_port()

    def run(self, stop: threading.Event | None = None) -> None:
        """Handle the commands of the pages, and play, until the event is set."""
        # A browser may close its page while a frame is on its way.
        warnings.filterwarnings("ignore", message="Queued a .* on a closed connection")
        clock = time.monotonic()
        while stop is None or not stop.is_set():
            before = {session: session.player.head for session in self.sessions.values()}
            handled, now = self._handle_events(), time.monotonic()
            for client, session in self.sessions.items():
                # Loading an episode for another browser may have taken seconds.
                session.player.advance(min(now - clock, _LONGEST))
                if client in handled or session.player.head != before.get(session) or session.page.resized:
                    session.page.show(session.player)
            clock = now

    def close(self) -> None:
        with _quiet():
            self._server.stop()

    def _handle_events(self) -> set[int]:
        """Handle all events in the queue, or wait for one frame. Returns the clients that had any."""
        handled: set[int] = set()
        with contextlib.suppress(queue.Empty):
            while True:
                client, event = self._events.get(timeout=0.0 if handled else _FRAME)
                handled.add(client)
                self._handle(client, event)
        return handled

    def _handle(self, client: int, event: "Event") -> None:
        if event is None:
            self.sessions.pop(client, None)
        elif not callable(event):
            page = Page(event, self.heading, self._titles, self._commands_of(client), dark=self._access.dark)
            self.sessions[client] = Session(Player(self._load), page)
        elif (session := self.sessions.get(client)) is not None:
            try:
                event(session.player)
            except MENDABLE as error:
                session.page.show_error(str(error))

    def _commands_of(self, client: int) -> Callable[[Command], None]:
        return lambda command: self._events.put((client, command))


@dataclass(frozen=True, eq=False)
class Session:
    """The page of one browser. Browsers are independent of each other."""

    player: Player
    page: Page


def _serve(port: int, access: Access) -> "viser.ViserServer":
    if find_spec("viser") is None or find_spec("mjviser") is None:
        raise BadSetting(f"A replay needs viser and mjviser. Install them: {to_install('viewer')}.")
    import viser

    with _quiet(), access.guarding():
        server = viser.ViserServer(host=LOOPBACK, port=port, verbose=False)
    # A page can request a public tunnel, which must not be opened.
    server.request_share_url = lambda verbose=True: None
    return server


def _quiet() -> contextlib.redirect_stdout[io.StringIO]:
    """viser prints banners, which the command line does not show."""
    return contextlib.redirect_stdout(io.StringIO())
