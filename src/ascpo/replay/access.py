"""Access control of a local page: only a browser on this machine with the page's address may see it.

Other programs and other pages in the same browser can also reach a port of this machine. So the address contains a
random token, and a request without it is refused. A foreign page whose name points to this machine (DNS rebinding)
sends that name as `Host`, and any other page sends its address as `Origin`: both must be those of this server.
"""

import contextlib
import html
import http
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from ascpo.errors import BadSetting
from ascpo.replay.narrow import STYLE

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

    ProcessRequest = Callable[[ServerConnection, Request], Response | None]

LOOPBACK = "127.0.0.1"
"""The server accepts only this machine."""
_PORTS = 20
"""The number of ports that it tries."""
NAMES = ("127.0.0.1", "localhost", "[::1]")
"""The names by which this machine reaches itself."""
_VISER_TITLE = b"<title>Viser</title>"
_DARK = "theme=dark"
_TELL_THEME = (
    "<script>document.cookie = `theme=${matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'}; "
    # A websocket's address has no slash at its end.
    "path=${location.pathname.replace(/\\/$/, '')}; SameSite=Strict`</script>"
)
"""viser does not know which theme a browser prefers."""
_REFUSED = "This address is not complete. Use the one that `ascpo replay` printed.\n"


class Headers(Protocol):
    """The headers of a request, as any server has them."""

    def get_all(self, name: str, /) -> list[str] | None: ...


class Access:
    """Refuses requests that do not come from the page itself."""

    def __init__(self, title: str = "") -> None:
        self.token = secrets.token_urlsafe(16)
        self.dark = False
        """Whether the browser that connected last prefers a dark page."""
        self._title = title
        self._guards = False

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Servers that viser opens inside refuse such requests. It has no parameter for this."""
        from websockets.asyncio import server

        before = server.serve

        def serve(*args: Any, process_request: "ProcessRequest", **options: Any) -> object:
            self._guards = True
            return before(*args, process_request=self._guarded(process_request), **options)

        server.serve = serve  # pyrefly: ignore[bad-assignment]
        try:
            yield
        finally:
            server.serve = before
        if not self._guards:
            raise RuntimeError("This version of viser opens its server in another way, so the page cannot be guarded.")

    def _guarded(self, answer: "ProcessRequest") -> "ProcessRequest":
        def process_request(connection: "ServerConnection", request: "Request") -> "Response | None":
            port = connection.local_address[1]
            path = self.inside(request.path)
            if path is None or not is_own(request.headers, port):
                return connection.respond(http.HTTPStatus.FORBIDDEN, _REFUSED)
            # The server's files do not know the token.
            request.path = path
            whole = path.partition("?")[0] in ("/", "/index.html") and "Upgrade" not in request.headers
            if whole and "Accept-Encoding" in request.headers:
                # Uncompressed, since it is changed.
                del request.headers["Accept-Encoding"]
            response = answer(connection, request)
            if response is None:
                self.dark = _DARK in [one.strip() for one in request.headers.get("Cookie", "").split(";")]
                return None
            response.headers.update(_headers(port))
            if whole:
                response.body = self._titled(bytes(response.body or b""))
                if "Content-Length" in response.headers:
                    del response.headers["Content-Length"]
                response.headers["Content-Length"] = str(len(response.body))
            return response

        return process_request

    def _titled(self, page: bytes) -> bytes:
        """The page with our title and style, and a script that tells this server the browser's theme by a cookie."""
        head = f"<title>{html.escape(self._title)}</title>{_TELL_THEME}{STYLE}"
        return page.replace(_VISER_TITLE, head.encode(), 1)

    def inside(self, path: str) -> str | None:
        """The path after the token; None without the token."""
        path, mark, query = path.partition("?")
        token, _, rest = path.removeprefix("/").partition("/")
        # Compared in constant time, so that it cannot be guessed character by character.
        same = secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        return f"/{rest}{mark}{query}" if same else None


def free_port(wanted: int) -> int:
    """The wanted port, or the next free one."""
    if not 0 <= wanted <= 65535:
        raise BadSetting(f"--port {wanted}: give a number from 1024 to 65535, or 0 for any free port.")
    for port in range(wanted, min(wanted + _PORTS, 65536)):
        with socket.socket() as attempt, contextlib.suppress(OSError):
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind((LOOPBACK, port))
            return port
    raise BadSetting(f"No port from {wanted} to {wanted + _PORTS - 1} is free. Choose another one with --port.")


def is_own(headers: Headers, port: int) -> bool:
    """Whether a request was sent to this server, and by its own page if a page sent it."""
    hosts = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
    sent, origins = headers.get_all("Host") or [], headers.get_all("Origin") or []
    known = {f"http://{host}" for host in hosts}
    return len(sent) == 1 and sent[0].lower() in hosts and all(origin.lower() in known for origin in origins)


def _headers(port: int) -> dict[str, str]:
    """The policy of the page: it loads nothing from other servers, talks to no other server, and cannot be embedded."""
    # A policy cannot name an IPv6 address.
    talk = f"'self' ws://127.0.0.1:{port} ws://localhost:{port}"
    return {
        "Content-Security-Policy": (
            "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
            f"connect-src {talk} data: blob:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
        ),
        "Referrer-Policy": "no-referrer",
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
