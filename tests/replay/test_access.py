"""The page of a replay answers its own address alone. The requests are those that browsers and other programs send."""

import http.client

import pytest

from ascpo.replay.access import Access
from ascpo.replay.serve import _serve

viser = pytest.importorskip("viser", reason="viser is not installed: pip install 'ascpo[viewer]'.")


@pytest.fixture(scope="module")
def server():
    """An open server, its port and its token."""
    access = Access()
    opened = _serve(0, access)
    yield opened.get_port(), access.token
    opened.stop()


def ask(port, path, **headers):
    """The answer to a request: its status, headers and text."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
    for name, values in ({"Host": f"127.0.0.1:{port}"} | headers).items():
        for value in values if isinstance(values, list) else [values]:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def shake_hands(port, path, **headers):
    """The status of the answer to a websocket's first request. 101 opens it."""
    websocket = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    websocket |= {
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol": f"viser-v{viser.__version__}",
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=websocket | {"Host": f"127.0.0.1:{port}"} | headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_address_with_the_token_shows_the_page(server):
    port, token = server
    for path in (f"/{token}/", f"/{token}", f"/{token}/?darkMode", f"/{token}/index.html"):
        status, headers, text = ask(port, path)
        assert status == 200
        assert text.startswith("<!doctype html>")
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/x/", "/?{token}", "/{token}x/", "/x/{token}/", "/{token:.10}/", "/%C3%A9/"]
)
def test_an_address_without_the_token_is_forbidden(server, path):
    port, token = server
    path = path.format(token=token)
    status, _, text = ask(port, path)
    assert status == 403
    assert text == "This address is not complete. Use the one that `ascpo replay` printed.\n"
    assert shake_hands(port, path) == 403


FOREIGN = {
    "a name that points here": {"Host": "evil.example:{port}"},
    "another port": {"Host": "127.0.0.1:1"},
    "no port": {"Host": "127.0.0.1"},
    "a name that begins alike": {"Host": "127.0.0.1:{port}.evil.example"},
    "a page elsewhere": {"Origin": "http://evil.example"},
    "a page that points here": {"Origin": "http://evil.example:{port}"},
    "another page on this machine": {"Origin": "http://127.0.0.1:1"},
    "a page in a sandbox": {"Origin": "null"},
    "a page over TLS": {"Origin": "https://127.0.0.1:{port}"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_a_request_from_elsewhere_is_forbidden_even_with_the_token(server, headers):
    port, token = server
    sent = {name: value.format(port=port) for name, value in headers.items()}
    assert ask(port, f"/{token}/", **sent)[0] == 403
    assert shake_hands(port, f"/{token}", **sent) == 403


def test_two_hosts_or_none_are_forbidden(server):
    port, token = server
    own = f"127.0.0.1:{port}"
    assert ask(port, f"/{token}/", Host=[own, own])[0] == 403
    assert ask(port, f"/{token}/", Host=[])[0] == 403
    assert ask(port, f"/{token}/", Origin=[f"http://{own}", "http://evil.example"])[0] == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_page_may_open_its_websocket_by_any_name_of_this_machine(server, name):
    port, token = server
    own = f"{name}:{port}"
    assert shake_hands(port, f"/{token}", Host=own, Origin=f"http://{own}") == 101


def test_every_server_has_a_token_of_its_own_that_nobody_guesses():
    tokens = {Access().token for _ in range(20)}
    assert len(tokens) == 20
    assert all(len(token) >= 22 for token in tokens), "128 bits"


def test_a_version_of_viser_that_cannot_be_guarded_is_refused():
    with pytest.raises(RuntimeError, match="cannot be guarded"), Access().guarding():
        pass
