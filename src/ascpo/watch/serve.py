"""The server of `ascpo watch`: it answers a browser on this machine that knows the token."""

import contextlib
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ascpo.replay.access import LOOPBACK, Access, free_port, is_own
from ascpo.watch.logs import Logs
from ascpo.watch.page import content, frame

_REFUSED = "This address is not complete. Use the one that `ascpo watch` printed.\n"
_TIMEOUT = 10.0
"""Seconds that a request may take to arrive."""


class Watch:
    """A page on a local server."""

    def __init__(self, directory: Path, port: int = 8090, every: float = 2.0) -> None:
        self._access, self._logs, self._reading = Access(), Logs(directory), threading.Lock()
        self._directory, self._every = directory, every
        self._server = ThreadingHTTPServer((LOOPBACK, free_port(port)), self._handler())
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """The address with the token. Anybody who knows it can see the page."""
        return f"http://{LOOPBACK}:{self.port}/{self._access.token}/"

    def run(self) -> None:
        """Answer requests until `close` is called in another thread."""
        self._server.serve_forever(poll_interval=0.1)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _page(self, nonce: str) -> str:
        return frame(str(self._directory), f"/{self._access.token}/content", nonce, self._every)

    def _content(self) -> str:
        with self._reading:
            return content(self._logs.read(), self._logs.left_out)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        watch = self

        class Handler(BaseHTTPRequestHandler):
            """Answers one request."""

            timeout = _TIMEOUT
            server_version, sys_version = "ascpo", ""

            def do_GET(self) -> None:
                path = watch._access.inside(self.path)
                if path is None or not is_own(self.headers, watch.port):
                    return self._answer(HTTPStatus.FORBIDDEN, _REFUSED, "text/plain")
                nonce = secrets.token_urlsafe(16)
                if path == "/":
                    return self._answer(HTTPStatus.OK, watch._page(nonce), "text/html", nonce)
                if path == "/content":
                    return self._answer(HTTPStatus.OK, watch._content(), "text/html")
                return self._answer(HTTPStatus.NOT_FOUND, "There is no such page.\n", "text/plain")

            def _answer(self, status: HTTPStatus, text: str, kind: str, nonce: str = "") -> None:
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                for name, value in _headers(nonce).items():
                    self.send_header(name, value)
                # A browser that has left the page no longer waits for the answer.
                with contextlib.suppress(ConnectionError):
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing, because the addresses of requests contain the token."""

        return Handler


def _headers(nonce: str) -> dict[str, str]:
    """The policy of the page: it may only run its own script and send requests to this server."""
    own = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; " if nonce else ""
    rest = "frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
    return {
        "Content-Security-Policy": f"default-src 'none'; {own}{rest}",
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
