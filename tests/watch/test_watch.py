"""The page of `ascpo watch`: live curves, for a browser on this machine that knows the token."""

import contextlib
import math
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from ascpo.watch.drawing import Curve, svg, thinned, ticks
from ascpo.watch.logs import MOST, Logs
from ascpo.watch.page import content
from ascpo.watch.serve import Watch
from tests.browser import messages, opened, requests
from tests.replay.test_access import FOREIGN, ask
from tests.report.made import made
from tests.slow import slow


@contextlib.contextmanager
def watching(directory, every=0.2):
    watch = Watch(directory, 0, every)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.close()
        thread.join(5)
        assert not thread.is_alive()


def add_epoch(run, name="metrics.csv"):
    """Write another row, as a training does."""
    lines = (run / name).read_text().splitlines()
    head, last = lines[0].split(","), lines[-1].split(",")
    last[head.index("Epoch")] = str(len(lines) - 1)
    last[head.index("TotalEnvInteracts")] = str(100 * len(lines))
    last[head.index("EpRet")] = "9"
    with (run / name).open("a") as file:
        file.write(",".join(last) + "\r\n")


def test_axes_have_round_numbers():
    assert ticks(0.0, 1.0) == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(-3.2, 12.0) == [0.0, 5.0, 10.0]
    assert ticks(0.0, 6e6) == [0.0, 2e6, 4e6, 6e6]


def test_a_long_curve_is_drawn_by_means_and_keeps_its_end():
    x = np.arange(10_000.0)
    short = thinned(Curve("run", 0, x, 2 * x))
    assert len(short.x) == 300
    assert (short.x[-1], short.y[-1]) == (9999.0, 19998.0)
    np.testing.assert_allclose(short.y, 2 * short.x)


def test_points_are_drawn_at_their_coordinates():
    drawn = svg("Share", [Curve("run", 0, np.array([0.0, 10.0]), np.array([0.0, 1.0]))], share=True)
    # The panel is 480 × 250 with margins of 52, 20, 10 and 34.
    assert 'points="52.0,216.0 460.0,10.0"' in drawn
    assert svg("Nothing", [Curve("run", 0, np.zeros(0), np.zeros(0))]) == ""
    assert "<circle" in svg("One", [Curve("run", 0, np.ones(1), np.ones(1))])


def test_names_are_shown_as_text_and_execute_nothing(tmp_path):
    made(tmp_path / "<img src=x onerror=alert(1)>")
    shown = content(Logs(tmp_path).read())
    assert "<img" not in shown
    assert shown.count("&lt;img") == 7, "in the table, and as the title of six curves"


def test_the_table_says_how_far_every_run_is(tmp_path):
    made(tmp_path / "done", epochs=4)
    running = made(tmp_path / "running", epochs=4)
    lines = (running / "metrics.csv").read_text().splitlines(keepends=True)
    (running / "metrics.csv").write_text("".join(lines[:3]))
    (made(tmp_path / "new") / "metrics.csv").unlink()
    (made(tmp_path / "broken") / "config.json").write_text("{")
    runs = {run.name: run for run in Logs(tmp_path).read()}
    assert runs["done"].progress == "4 epochs, finished"
    assert re.fullmatch(r"2 of 4 epochs, the last one \d s ago", runs["running"].progress)
    assert runs["new"].progress == "no epoch yet"
    assert "config.json" in runs["broken"].trouble
    assert runs["broken"].trouble.split()[-1] in content(list(runs.values()))


def test_a_metric_without_a_number_has_no_curve_and_gaps_are_left_out(tmp_path):
    run = made(tmp_path / "run", EpRet=[1.0, math.nan, 3.0, 4.0], EpCost="nan")
    (found,) = Logs(run).read()
    assert [list(part) for part in found.curve("EpRet")] == [[100.0, 300.0, 400.0], [1.0, 3.0, 4.0]]
    assert "Cost of an episode" not in content([found]).replace("Largest cost of an episode", "")


def test_only_the_most_recently_written_runs_are_shown(tmp_path):
    for i in range(MOST + 2):
        made(tmp_path / f"run{i:02}", epochs=1)
    logs = Logs(tmp_path)
    assert len(logs.read()) == MOST
    assert "2 other runs" in content([], 0) + content(logs.read(), logs.left_out)


def test_a_new_epoch_and_a_new_run_are_found(tmp_path):
    logs = Logs(tmp_path)
    assert "There is no run here yet." in content(logs.read())
    run = made(tmp_path / "run")
    assert logs.read()[0].data.epochs == 4
    add_epoch(run)
    assert logs.read()[0].data.epochs == 5


def test_the_page_answers_only_at_its_own_address(tmp_path):
    made(tmp_path / "run")
    with watching(tmp_path) as watch:
        token = watch.address.rstrip("/").rpartition("/")[2]
        status, headers, text = ask(watch.port, f"/{token}/")
        assert status == 200
        assert text.startswith("<!doctype html>")
        assert "default-src 'none'; script-src 'nonce-" in headers["Content-Security-Policy"]
        assert "polyline" in ask(watch.port, f"/{token}/content")[2]
        assert ask(watch.port, f"/{token}/../../etc/passwd")[0] == 404
        for path in ("/", "/content", f"/{token}x/", f"/x/{token}/", "/%C3%A9/"):
            assert ask(watch.port, path)[::2] == (
                403,
                "This address is not complete. Use the one that `ascpo watch` printed.\n",
            )
        for sent in FOREIGN.values():
            foreign = {name: value.format(port=watch.port) for name, value in sent.items()}
            assert ask(watch.port, f"/{token}/content", **foreign)[0] == 403
        assert ask(watch.port, f"/{token}/", Host=[])[0] == 403


def curves(page):
    return page.execute_script("return [...document.querySelectorAll('polyline')].map(l => l.getAttribute('points'))")


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@slow("opens a browser")
def test_the_last_label_of_an_axis_is_inside_the_picture():
    steps = np.array([0.0, 1.25e6])
    drawn = svg("title", [Curve("run", 0, steps, steps)])
    labels = re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="middle">([^<]+)<', drawn)
    x, label = max((float(x), label) for x, label in labels if label != "steps")
    assert x + 4 * len(label) <= WIDTH, "a letter is some eight pixels wide"


@pytest.mark.parametrize(("size", "dark"), [((1280, 900), False), ((1280, 900), True), ((360, 740), False)])
def test_a_browser_shows_curves_that_grow(tmp_path, size, dark):
    run = made(tmp_path / "a-run-with-quite-a-long-name-of-its-own")
    made(tmp_path / "other", algo="trpo", EpRet=[0.0, 1.0, 2.0, 3.0])
    with watching(tmp_path) as watch, opened(watch.address, size=size, dark=dark) as page:
        wait_until(lambda: len(curves(page)) == 12)
        before = curves(page)[0]
        add_epoch(run)
        wait_until(lambda: curves(page)[0] != before)
        ground = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
        assert page.execute_script("return document.documentElement.scrollWidth") <= size[0], "nothing is cut off"
        strokes = page.execute_script(
            "return [...new Set([...document.querySelectorAll('polyline')].map(l => getComputedStyle(l).stroke))]"
        )
        assert len(strokes) == 2, "each run has a colour of its own"
        assert not messages(page)
        assert all(url.startswith((watch.address, "data:")) for url in requests(page))
        watch.close()
        wait_until(lambda: "has stopped" in page.execute_script("return document.querySelector('#status').textContent"))


def test_a_file_is_refused_where_a_directory_is_needed(tmp_path, monkeypatch):
    from ascpo.cli.watch import main

    Path(tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is not a directory"):
        main([str(tmp_path / "file")])
