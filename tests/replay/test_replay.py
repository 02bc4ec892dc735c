"""Replays: the player, the poses, and the page in a real browser."""

import contextlib
import io
import math
import re
import socket
import threading
import time
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest

from ascpo.cli import replay as verb
from ascpo.environments.registration import MAX_EPISODE_STEPS
from ascpo.environments.spaces import make_task
from ascpo.evaluation.records import Record, records_content
from ascpo.evaluation.retrace import Path3D, retrace
from ascpo.guard.kinds import GHOST as GHOST_KIND
from ascpo.guard.kinds import HAZARD as HAZARD_KIND
from ascpo.guard.scene import read_scene
from ascpo.replay import serve as module
from ascpo.replay.episode import Episode, play_again, step_colours, title, worst_records
from ascpo.replay.page import Page, curves
from ascpo.replay.player import STEPS_PER_SECOND, Player, Playhead
from ascpo.replay.poses import poses_of
from ascpo.replay.serve import Replay, free_port
from ascpo.runs.directory import NoRun
from ascpo.runs.serialization import BadSetting
from tests.browser import messages, opened, requests
from tests.replay.straight import GHOST, HAZARD, OWN, straight
from tests.slow import always, slow


def made(*, cost, limits=(0.0,), names=("hazard",), reward=None) -> Episode:
    cost = np.asarray(cost, float).reshape(-1, len(names))
    over = cost > np.array(limits)
    first = tuple(int(column.argmax()) if column.any() else -1 for column in over.T)
    reward = np.zeros(len(cost)) if reward is None else np.asarray(reward, float)
    actions = np.zeros((len(cost), 1), np.float32)
    record = Record("Point-1-Hazard", names, limits, 7, 0, actions, float(reward.sum()), tuple(cost.max(axis=0)), first)
    return Episode(record, reward, cost)


TWO = made(
    cost=[[0.0, 0.0], [0.3, 0.0], [0.0, 0.0], [0.0, 1.0]], limits=(0.5, 0.0), names=("hazard", "pillar"), reward=[1] * 4
)


def test_a_cost_at_its_limit_is_no_violation_and_one_above_is():
    assert made(cost=[0.1, 0.2, 0.1], limits=(0.2,)).first_violation is None
    assert made(cost=[0.1, 0.2, 0.3, 0.3], limits=(0.2,)).first_violation == 2


def test_the_first_violation_is_of_the_constraint_whose_own_limit_is_violated():
    assert TWO.first_violation == 3
    assert TWO.violated_constraints(3) == ("pillar",)
    assert TWO.first_violation_text() == "First violation: pillar, in step 3."
    assert made(cost=[0.0]).first_violation_text() == "Every step keeps all limits."


def test_the_text_of_a_step_has_its_number_the_return_so_far_and_the_violated_limits():
    head, hazard, pillar = TWO.step_text(1)
    assert head.text == "Step 1 of 0 to 3. Return so far: 2.000."
    assert hazard.text == "hazard: cost 0.300, limit 0.5, largest so far 0.300."
    assert not hazard.alarm
    assert not pillar.alarm
    _, hazard, pillar = TWO.step_text(3)
    assert hazard.text == "hazard: cost 0.000, limit 0.5, largest so far 0.300."
    assert pillar.text.endswith("VIOLATED in step 3.")
    assert pillar.alarm


def test_a_title_names_the_largest_cost_the_violated_constraint_and_the_seed():
    assert title(TWO.record, 0) == "0: cost 1.000, pillar, seed 7"
    assert title(made(cost=[0.0]).record, 3) == "3: cost 0.000, within limits, seed 7"


def test_curves_show_costs_with_limits_and_the_return_with_the_present_step_marked():
    hazard, pillar, returns = curves(TWO)
    assert [curve.name for curve in (hazard, pillar, returns)] == ["cost: hazard", "cost: pillar", "return so far"]
    assert hazard.title == "cost: hazard, by step", "nobody knows the unit of an environment that is not a suite"
    steps, value, mark, limit = hazard.columns(1)
    np.testing.assert_array_equal(steps, [0, 1, 2, 3])
    np.testing.assert_array_equal(value, [0.0, 0.3, 0.0, 0.0])
    np.testing.assert_array_equal(mark, [np.nan, 0.3, np.nan, np.nan])
    np.testing.assert_array_equal(limit, [0.5] * 4)
    assert hazard.range[0] < min(value)
    assert hazard.range[1] > 0.5, "the plot shows the limit too"
    np.testing.assert_array_equal(returns.columns(0)[1], [1, 2, 3, 4])
    assert len(returns.columns(0)) == 3


def test_limits_on_sums_of_costs_are_shown_with_the_sums_so_far():
    summed = made(cost=[0.5, 0.5, 1.0], limits=(1.0,))
    summed = replace(summed, record=replace(summed.record, limits_on="episode"))
    assert summed.first_violation == 2
    cost, _ = curves(summed)
    assert cost.name == "cost so far: hazard"
    np.testing.assert_array_equal(cost.columns(1)[1], [0.5, 1.0, 2.0])
    assert [summed.captions(step)[1].text for step in (1, 2)] == [
        "hazard: cost so far 1.000, limit 1",
        "hazard: cost so far 2.000, limit 1",
    ]


def test_a_sum_that_is_within_its_limit_at_the_end_is_no_violation():
    for last, first in ((-1.5, None), (-0.5, 2)):
        summed = made(cost=[0.5, 0.5, 1.0, last], limits=(1.0,))
        assert replace(summed, record=replace(summed.record, limits_on="episode")).first_violation == first


def test_a_32_bit_cost_that_equals_its_limit_is_no_violation():
    equal = made(cost=[0.1, 0.1], limits=(0.1,))
    assert replace(equal, cost=equal.cost.astype(np.float32)).first_violation is None


def test_steps_to_come_are_pale_and_violations_are_red():
    colours = step_colours(np.array([False, True, False, True]), np.array([True, True, False, False])).astype(int)
    red = colours[:, 0] - colours[:, 1:].max(axis=1)
    np.testing.assert_array_equal(red > 50, [False, True, False, True])
    assert colours[0].sum() < colours[2].sum()
    assert colours[1].sum() < colours[3].sum()


def test_a_player_plays_thirty_steps_a_second_times_the_speed_and_stops_at_the_end():
    head = Playhead(last=100, speed=2.0).toggled()
    assert head.after(0.5).step == STEPS_PER_SECOND
    for _ in range(30):
        head = head.after(1 / 90)  # two thirds of a step each
    assert head.step == pytest.approx(20, abs=1)
    end = head.after(10.0)
    assert (end.step, end.playing) == (100, False)
    assert (end.toggled().step, end.toggled().playing) == (0, True)


def test_a_paused_player_stays_and_seeking_pauses_and_stays_within_the_episode():
    head = Playhead(last=9)
    assert head.after(5.0) == head
    assert (head.toggled().at(4).step, head.toggled().at(4).playing) == (4, False)
    assert [head.at(step).step for step in (-3, 12)] == [0, 9]


def test_a_player_keeps_the_speed_and_finds_the_first_violation():
    player = Player([TWO, made(cost=[0.0, 0.0])].__getitem__)
    player.set_speed(4.0)
    player.seek_violation()
    assert player.head.step == 3
    player.choose(1)
    assert (player.head.step, player.head.last, player.head.speed) == (0, 1, 4.0)
    player.seek(1)
    player.seek_violation()
    assert player.head.step == 1, "there is no violation to go to"


@pytest.mark.parametrize(
    ("recorded", "kind"), always([(HAZARD, HAZARD_KIND), (GHOST, GHOST_KIND)], (GHOST, GHOST_KIND))
)
def test_poses_of_robot_and_obstacles_explain_the_cost_of_the_same_step(recorded, kind):
    """c = max(0, R − distance to the nearest centre): any error of frame or of time would show."""
    episode = play_again(straight(*recorded))
    robot = episode.poses.position[:, episode.task.model.body("robot").id]
    nearest = np.linalg.norm(episode.poses.obstacles[..., :2] - robot[:, None, :2], axis=-1).min(axis=1)
    expected = np.maximum(kind.radius - nearest, 0.0)
    assert episode.violated.sum() > 5
    # After the last step the ghosts' places are not known.
    np.testing.assert_allclose(expected[:-1], episode.cost[:-1, 0], atol=1e-5)
    assert episode.first_violation == straight(*recorded).first_violation[0]


def test_the_trajectory_has_the_robots_positions_from_its_start_on():
    episode = play_again(straight(*HAZARD))
    robot = episode.poses.position[:, episode.task.model.body("robot").id]
    assert len(episode.poses.trajectory) == len(episode) + 1
    np.testing.assert_allclose(episode.poses.trajectory[1:, :2], robot[:, :2])
    np.testing.assert_allclose(episode.poses.segments[5], episode.poses.trajectory[5:7])
    # Straight on: the robot's nose points along its way.
    ahead = episode.poses.rotation[30, episode.task.model.body("robot").id][:2, 0]
    way = episode.poses.trajectory[31, :2] - episode.poses.trajectory[0, :2]
    assert math.isclose(float(ahead @ way), float(np.linalg.norm(way)), rel_tol=1e-6)
    assert np.linalg.norm(episode.poses.goal[:2] - robot[-1, :2]) <= 0.5 + 1e-5, "the goal was reached"


def test_ghosts_move_with_the_episode():
    path = retrace(straight(*GHOST)).path
    shown = poses_of(path).obstacles
    assert np.abs(shown[-1] - shown[0]).max() > 0.01, "some ghost moves"
    np.testing.assert_array_equal(shown, [layout.obstacles for layout in path.layouts[1:]])


def test_pillars_have_the_positions_of_the_layout():
    task = make_task("Point-2-Pillar", "paper", "closest", MAX_EPISODE_STEPS)
    pillars = [[1.0, 0.5], [-1.0, 1.0]]
    layout = read_scene(task, {"robot": [0.3, -0.4, 2.0], "goal": [-1.2, -1.2], "obstacles": pillars})
    seen = np.asarray(task.pillars_from_start(layout))
    poses = poses_of(Path3D(task, np.zeros((3, task.model.nq)), np.tile(seen, (3, 1, 1)), (layout,) * 3))
    for i, place in enumerate(pillars):
        np.testing.assert_allclose(poses.position[0, task.model.body(f"pillar_{i}").id, :2], place, atol=1e-6)
    np.testing.assert_allclose(poses.position[0, task.model.body("robot").id, :2], [0.3, -0.4], atol=1e-6)


def test_a_users_environment_is_shown_by_its_frames_or_by_plots_alone():
    episode = play_again(straight(OWN, 3), OWN)
    assert len(episode.frames) == len(episode) == 20
    # The frame of step t is rendered after it, and ten times as light as the number of steps.
    assert [round(float(episode.frame(step).mean())) for step in (0, 7, 19)] == pytest.approx([10, 80, 200], abs=2)
    own = [straight(env, 3) for env in ("tests.own:Cart", "tests.replay.straight:Broken")]
    blind, broken = (play_again(record, trust_env=True) for record in own)
    assert blind.frames == broken.frames == ()
    assert "has no render_mode" in blind.note
    assert "no screen" in broken.note
    np.testing.assert_array_equal(blind.cost, episode.cost)


def test_an_error_names_what_is_missing_and_how_to_get_it(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(NoRun, match=f"ascpo evaluate {tmp_path}"):
        worst_records(tmp_path, "sampled")
    with pytest.raises(NoRun, match=f"ascpo evaluate {tmp_path} --actions mean"):
        worst_records(tmp_path, "mean")
    (tmp_path / "worst-mean.safetensors").write_bytes(records_content([]))
    with pytest.raises(NoRun, match=f"kept no episodes. `ascpo evaluate {tmp_path} --actions mean`"):
        worst_records(tmp_path, "mean")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(BadSetting, match=r"pip install 'ascpo\[viewer\]'"):
        Replay([straight("tests.own:Cart", 3)], port=0, trust_env=True)


def test_the_next_free_port_replaces_a_taken_one():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port
    with pytest.raises(BadSetting, match="from 1024 to 65535"):
        free_port(70000)


@pytest.fixture(scope="module")
def served():
    """A replay of two episodes in the background."""
    pytest.importorskip("viser", reason="viser is not installed: pip install 'ascpo[viewer]'.")
    with running(Replay([straight(*HAZARD), straight(HAZARD[0], 919)], port=0)) as replay:
        yield replay


@contextlib.contextmanager
def running(replay):
    stop = threading.Event()
    thread = threading.Thread(target=replay.run, args=(stop,))
    thread.start()
    yield replay
    stop.set()
    thread.join()
    replay.close()


def test_the_server_accepts_only_this_machine(served):
    address = urlsplit(served.address)
    host, port = address.hostname, address.port
    assert (host, port) == ("127.0.0.1", served.port)
    with socket.create_connection((host, port), timeout=5):
        pass
    # A server on all interfaces would answer at the other addresses of this machine too.
    with pytest.raises(OSError, match=r"."):
        socket.create_connection(("127.0.0.2", port), timeout=5).close()


def test_the_server_opens_no_public_tunnel(served, monkeypatch):
    requested = []
    monkeypatch.setattr(type(served._server), "request_share_url", lambda *_: requested.append("a tunnel"))
    assert served._server.request_share_url() is None
    assert requested == []


def test_the_command_prints_the_address_and_an_interrupt_ends_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "worst-sampled.safetensors").write_bytes(records_content([straight("tests.own:Cart", 3)]))

    def interrupted(self, stop=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Replay, "run", interrupted)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(KeyboardInterrupt):
            verb.main([str(tmp_path), "--no-open", "--port", str(port), "--env", "tests.own:Cart"])
    printed = capsys.readouterr()
    assert f"Port {port} is taken" in printed.out
    assert re.search(r"http://127\.0\.0\.1:\d+/[\w-]{22}/ shows", printed.out), "the address holds the token"
    assert printed.err == ""


def served_player(served):
    """The player of the browser that connected last."""
    return list(served.sessions.values())[-1].player


def wait_for(what, seconds=120.0):
    """Wait until there is a result."""
    end = time.monotonic() + seconds
    while (found := what()) is None or found is False:
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found


HOSTILE = '<img src="//evil.example/x" onerror="document.title=1">'


@pytest.fixture(scope="module")
def marked():
    """A page about an episode whose names are markup."""
    pytest.importorskip("viser", reason="viser is not installed: pip install 'ascpo[viewer]'.")
    record = replace(straight("tests.own:Cart", 3), cost_names=(HOSTILE,))
    with running(Replay([record], port=0, trust_env=True)) as replay:
        yield replay


def test_names_in_a_record_are_no_markup_on_the_page(marked):
    page = Page(marked._server, HOSTILE, ["0"], lambda command: None)
    page.show(Player(marked._load))
    page.show_error(f"{HOSTILE} and **text**")
    for part in (page._violation, page._text, page._note):
        assert type(part).__name__ == "GuiHtmlHandle", "Markdown may hold HTML, too"
        assert "<img" not in part.content
        assert "&lt;img" in part.content


@slow("a browser draws it without a graphics card")
def test_a_browser_shows_names_in_a_record_as_text(marked):
    from selenium.webdriver.common.by import By

    with opened(marked.address, size=(800, 900)) as page:
        wait_for(lambda: "evil.example" in page.find_element(By.TAG_NAME, "body").text)
        wait_for(lambda: len(page.find_elements(By.CSS_SELECTOR, ".uplot canvas")) == 2)
        assert "evil.example" not in " ".join(requests(page))
        assert page.find_elements(By.CSS_SELECTOR, "img[onerror]") == []


@slow("a browser draws it without a graphics card")
def test_on_a_narrow_page_the_panel_is_as_wide_as_the_page_and_covers_half_of_it(marked):
    from selenium.webdriver.common.by import By

    with opened(marked.address, size=(400, 800)) as page:
        wait_for(lambda: "Go to the first violation" in page.find_element(By.TAG_NAME, "body").text)
        panel = page.find_element(By.CSS_SELECTOR, '.mantine-Paper-root[style*="bottom: 0"]')
        assert (panel.rect["x"], panel.rect["width"]) == (0, 400)
        wait_for(lambda: 380 < panel.rect["y"] <= 420)


@slow("a browser draws it without a graphics card")
def test_the_page_shows_the_robot_and_handles_keys_and_buttons(served):
    from PIL import Image
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    def pixels():
        return np.asarray(Image.open(io.BytesIO(page.find_element(By.TAG_NAME, "canvas").screenshot_as_png)), int)

    def robot():
        """The robot's place in the picture, once the scene has faded in and rests."""
        before = pixels()
        time.sleep(0.5)
        after = pixels()
        red = (after[..., 0] - after[..., 1] > 90) & (after[..., 0] - after[..., 2] > 90)
        return np.argwhere(red).mean(axis=0) if red.sum() > 20 and np.array_equal(before, after) else None

    software = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    with opened(served.address, size=(800, 480), arguments=software) as page:
        wait_for(lambda: bool(page.find_elements(By.CSS_SELECTOR, '[role="slider"]')))
        slider = page.find_element(By.CSS_SELECTOR, '[role="slider"]')
        start = wait_for(robot)
        slider.send_keys(Keys.ARROW_RIGHT * 30)
        wait_for(lambda: served_player(served).head.step == 30)
        assert np.linalg.norm(wait_for(robot) - start) > 5
        seek = next(one for one in page.find_elements(By.TAG_NAME, "button") if "first violation" in one.text)
        seek.click()
        first = straight(*HAZARD).first_violation[0]
        wait_for(lambda: served_player(served).head.step == first)
        wait_for(lambda: f"VIOLATED in step {first}" in page.find_element(By.TAG_NAME, "body").text)
        wait_for(lambda: slider.get_attribute("aria-valuenow") == str(first))
        assert len(page.find_elements(By.CSS_SELECTOR, ".uplot canvas")) == 2, "the cost, and the return"
        page.find_element(By.XPATH, "//button[contains(., 'Play')]").click()
        wait_for(lambda: served_player(served).head.step > first)
        page.find_element(By.CSS_SELECTOR, 'input[value^="0: cost"]').click()
        second = page.find_element(By.XPATH, "//*[@role='option'][starts-with(normalize-space(.), '1: cost')]")
        wait_for(second.is_displayed)
        second.click()
        wait_for(lambda: served_player(served).index == 1)
        other = straight(HAZARD[0], 919).first_violation[0]
        wait_for(lambda: f"First violation: hazard, in step {other}" in page.find_element(By.TAG_NAME, "body").text)
        assert messages(page) == []
        assert all("//127.0.0.1" in url or url.startswith(("data:", "blob:")) for url in requests(page))
