"""The information that the page of a replay shows beside the scene, and that browsers are independent."""

from types import SimpleNamespace

import numpy as np
import pytest

from ascpo.environments.registration import MAX_EPISODE_STEPS
from ascpo.environments.spaces import make_task
from ascpo.replay.access import Access
from ascpo.replay.legend import legend, unit_of
from ascpo.replay.page import Page
from ascpo.replay.pictures import Curve, draw_curves, padded
from ascpo.replay.player import Player
from ascpo.replay.serve import Replay
from tests.replay.straight import straight

viser = pytest.importorskip("viser", reason="viser is not installed: pip install 'ascpo[viewer]'.")
EPISODES = ("tests.own:Cart", 3)


class Browser:
    """A client without a browser, with all that a page needs, in its own server."""

    def __init__(self, number, server):
        self.client_id, self.scene, self.gui, self.atomic = number, server.scene, server.gui, server.atomic


def test_two_browsers_do_not_move_each_other():
    replay = Replay([straight(*EPISODES)] * 2, port=0, trust_env=True)
    others = [viser.ViserServer(host="127.0.0.1", port=0, verbose=False) for _ in range(2)]
    try:
        for number, server in enumerate(others):
            replay._events.put((number, Browser(number, server)))
        replay._handle_events()
        first, second = replay.sessions.values()
        replay._commands_of(0)(lambda player: player.seek(5))
        replay._commands_of(0)(lambda player: player.toggle())
        assert replay._handle_events() == {0}
        assert (first.player.head.step, first.player.head.playing) == (5, True)
        assert (second.player.head.step, second.player.head.playing) == (0, False)
        assert first.player.episode is second.player.episode, "an episode is played again once for all"
        replay._events.put((0, None))
        replay._handle_events()
        assert list(replay.sessions) == [1]
        replay._commands_of(0)(lambda player: player.seek(1))
        replay._handle_events()
        assert list(replay.sessions) == [1], "a late command of a page that is gone does nothing"
    finally:
        replay.close()
        for server in others:
            server.stop()


def test_the_tab_has_a_title_and_the_server_learns_the_theme():
    class Headers(dict):
        def get_all(self, name):
            return [self[name]] if name in self else []

    access = Access("Replay of <Cart>")
    seen = []

    def answer(connection, request):
        seen.append(request.headers.get("Accept-Encoding"))
        page = b"<title>Viser</title><p>"
        return SimpleNamespace(headers=Headers({"Content-Length": "23"}), body=page) if request.plain else None

    connection = SimpleNamespace(local_address=("127.0.0.1", 8080))
    ask = access._guarded(answer)

    def request(plain, **headers):
        found = Headers({"Host": "127.0.0.1:8080"} | headers)
        return ask(connection, SimpleNamespace(path=f"/{access.token}/", headers=found, plain=plain))

    response = request(True, **{"Accept-Encoding": "gzip"})
    assert response.body.startswith(b"<title>Replay of &lt;Cart&gt;</title><script>")
    assert response.headers["Content-Length"] == str(len(response.body))
    assert seen == [None], "a compressed page could not be changed"
    for cookie, dark in (("theme=dark", True), ("other=1; theme=light", False), ("a=1; theme=dark", True)):
        assert request(False, Upgrade="websocket", Cookie=cookie) is None
        assert access.dark == dark


def test_viser_still_has_the_title_that_is_replaced():
    from importlib.resources import files

    assert "<title>Viser</title>" in (files("viser") / "client" / "build" / "index.html").read_text(encoding="utf-8")


def test_the_legend_names_what_is_in_the_scene_and_costs_of_regions_are_metres():
    task = make_task("Point-2-Pillar", "paper", "closest", MAX_EPISODE_STEPS)
    words = legend(task)
    assert all(f"</i>{name}</span>" in words for name in ("robot", "goal", "pillar", "violation of a limit"))
    assert "hazard" not in words
    assert unit_of(SimpleNamespace(task=task), "hazard") == "metres"
    assert unit_of(SimpleNamespace(task=task), "pillar") == "", "a touch has no unit"
    assert unit_of(SimpleNamespace(task=None), "hazard") == ""
    assert Curve("cost: hazard", np.zeros(2), unit="metres").title == "cost: hazard in metres, by step"


def test_an_environment_without_frames_fills_the_page_with_its_curves():
    drawing = draw_curves([Curve("cost: $x", np.arange(20.0), 5.0), Curve("return so far", np.arange(20.0))], dark=True)
    assert drawing.image.shape == (900, 1200, 3)
    assert drawing.image[0, 0].max() < 40, "it is dark"
    assert (np.diff(drawing.columns) > 0).all()
    for step in (0, 19):
        changed = np.flatnonzero((drawing.at(step) != drawing.image).any(axis=(0, 2)))
        np.testing.assert_allclose(changed.mean(), drawing.columns[step], atol=1)


def test_a_frame_fills_the_page_and_is_not_stretched():
    frame = np.full((100, 200, 3), 9, np.uint8)
    shown = padded(frame, (400, 400), dark=False)
    assert shown.shape == (200, 200, 3), "the proportions are those of the page"
    assert (shown[50:150] == 9).all()
    assert (shown[0] == 255).all()
    assert padded(frame, (400, 100), dark=True).shape == (100, 400, 3)
    assert padded(frame, (400, 200), dark=True).shape == frame.shape, "nothing is lost where it fits"


def test_the_page_of_a_users_environment_shows_an_image_behind_its_panel():
    replay = Replay([straight(*EPISODES)], port=0, trust_env=True)
    shown = []
    try:
        client = Browser(0, replay._server)
        client.scene = SimpleNamespace(set_background_image=lambda image, **how: shown.append(image.shape))
        client.camera = SimpleNamespace(image_width=800, image_height=500)
        page = Page(client, "heading", ["0"], lambda command: None)
        page.show(Player(replay._load))
        assert not page.resized
        client.camera.image_width = 400
        assert page.resized, "the panel took a part of the page"
        page.show(Player(replay._load))
    finally:
        replay.close()
    assert shown == [(500, 800, 3), (500, 400, 3)]
