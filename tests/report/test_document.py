import html
import json
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from ascpo.cli import report as verb
from ascpo.report import document
from ascpo.report.document import write_report
from ascpo.runs.serialization import BadSetting
from tests.browser import messages, opened, requests
from tests.report.made import NO_CONSTRAINTS, QUANTILES, evaluated, made, with_policy

NOW = datetime(2024, 2, 3, 4, 5, tzinfo=UTC)
EVIL = """</svg></title><script>alert(1)</script><img src=x onerror="alert(2)"> ' & $a_{b"""
RUN = """a"><script>alert(3)<b>&'$"""
CERTIFICATE = {
    "statement": ["Planned & played.", "With confidence 0.95, at least 0.9 <keep> it."],
    "certified": True,
    "probability": 0.9,
    "confidence": 0.95,
    "bound": 0.91239,
    "episodes": 500,
    "violations": 3,
}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A comparison of two runs: one with a harmful name, evaluated and certified, and an older one."""
    place = tmp_path_factory.mktemp("report")
    evil = evaluated(made(place / "runs" / RUN, env=EVIL))
    (evil / "certificate.json").write_text(json.dumps(CERTIFICATE))
    (evil / "versions.json").write_text(json.dumps({"numpy": "<i>2</i>"}))
    digest = with_policy(evil)
    made(place / "runs" / "old", env=EVIL, algo="trpo", **dict.fromkeys(QUANTILES), **NO_CONSTRAINTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ascpo.evaluation.certificate.read_certificate", lambda path: certificate_for(digest))
        return write_report([place / "runs"], place / "out", NOW)


def certificate_for(digest):
    """As much of a certificate as the page asks for. The tests of certificates make real ones."""
    return SimpleNamespace(plan=SimpleNamespace(policy=digest))


@pytest.fixture(scope="module")
def shown(page):
    with opened(page.as_uri()) as driver:
        yield driver


def test_every_figure_is_visible_in_a_browser(page, shown):
    sizes = shown.execute_script(
        "return [...document.querySelectorAll('figure')].map(f => { const b = (f.querySelector('canvas') || "
        "f.querySelector('svg')).getBoundingClientRect(); return [f.id, b.width, b.height]; })"
    )
    names = {name.removeprefix("figure-") for name, _, _ in sizes}
    assert {"epret-steps", "saferate-clock", "fan-" + _slug(page), "cost-sampled", "nu-epochs", "kl-epochs"} <= names
    assert all(width > 200 and height > 80 for _, width, height in sizes)
    files = {file.name for file in (page.parent / "figures").iterdir()}
    assert files == {f"{name}.{end}" for name in names for end in ("png", "svg")}


def test_the_browser_reports_no_error_and_requests_nothing_else(page, shown):
    assert messages(shown) == []
    asked = [url for url in requests(shown) if not url.startswith("data:")]
    assert set(asked) <= {page.as_uri()}


def test_no_address_is_in_the_page(page):
    assert re.findall(r"https?://|//[a-z]+\.[a-z]+", page.read_text()) == []


def test_names_are_shown_as_text_and_execute_nothing(page, shown):
    title = shown.execute_script("return document.title")
    assert title == f"{EVIL}: 2 settings side by side"
    assert shown.execute_script("return document.querySelector('h1').textContent") == title
    assert shown.execute_script("return document.querySelectorAll('img, b > b, i > i').length") == 0
    assert shown.execute_script("return document.querySelectorAll('script').length") == 2, "the page has two of its own"
    summaries = shown.execute_script(
        "return [...document.querySelectorAll('#journal summary')].map(s => s.textContent)"
    )
    assert summaries == [RUN, "old"]


def test_identifiers_on_the_page_are_distinct_and_resolve(shown):
    count, different = shown.execute_script(
        "const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return [ids.length, new Set(ids).size]"
    )
    assert count == different > 100
    broken = shown.execute_script(
        "return [...document.querySelectorAll('use')].filter(u => !document.querySelector("
        "'[id=\"' + u.getAttribute('href').slice(1) + '\"]')).length"
    )
    assert broken == 0


def test_parts_are_reached_by_anchors(shown):
    lost = shown.execute_script(
        "return [...document.querySelectorAll('nav a')]"
        ".filter(a => !document.querySelector(a.getAttribute('href'))).length"
    )
    assert lost == 0


def test_the_page_quotes_the_certificate_and_never_rounds_its_bound_up(shown):
    words = shown.execute_script("return document.querySelector('#certificate').innerText")
    assert "With confidence 0.95, at least 0.9 <keep> it." in words
    assert "0.9123" in words
    assert "0.9124" not in words
    assert shown.execute_script("return document.querySelector('#certificate .badge').textContent") == "certified"


def test_the_command_that_checks_a_certificate_is_quoted_for_the_shell(page):
    (said,) = re.findall("Check it again: <code>(.*?)</code>", page.read_text(encoding="utf-8"))
    assert shlex.split(html.unescape(said)) == ["ascpo", "certify", str(page.parents[1] / "runs" / RUN), "--check"]


def test_what_is_missing_says_which_command_makes_it(shown):
    words = shown.execute_script("return [...document.querySelectorAll('.missing')].map(m => m.innerText).join('|')")
    assert "EpMaxCost50" in words
    assert "ascpo train --config" in words
    assert "ascpo evaluate" in words


def test_the_date_and_the_journal_are_there(shown):
    assert "Made on 3 February 2024, 04:05 UTC" in shown.execute_script(
        "return document.querySelector('footer').innerText"
    )
    journal = shown.execute_script("return document.querySelector('#journal').textContent")
    assert "Recovering, with nearly all of the trust region" in journal
    assert "Reward only" in journal


def test_the_page_and_its_figures_follow_a_dark_theme(page):
    colour = (
        "return [document.body, document.querySelector('figure')].map(e => getComputedStyle(e).backgroundColor)"
        ".concat([...document.querySelectorAll('#largest svg.figure *')].map(e => getComputedStyle(e).fill)"
        ".filter(f => f === 'rgb(255, 255, 255)'))"
    )
    with opened(page.as_uri(), dark=True, size=(390, 800)) as driver:
        body, card, *white = driver.execute_script(colour)
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        image = "getComputedStyle(document.querySelector('.scroll')).backgroundImage"
        shadows = f"return {image}.split('gradient').length - 1"
        assert driver.execute_script(shadows) == 4, "a table that goes on beyond an edge has a shadow there"
    assert max(map(int, re.findall(r"\d+", body + card))) < 64
    assert white == [], "nothing in a drawing is as white as paper"
    assert wide <= 390


def test_the_report_of_one_run_is_in_its_directory(tmp_path, capsys, monkeypatch):
    path = made(tmp_path / "run", epochs=2)
    verb.main([str(tmp_path)])
    printed = capsys.readouterr().out
    assert (path / "report" / "index.html").exists()
    assert printed == f"Report: {path}/report/index.html\nFigures: {path}/report/figures\n"
    # A report is not a run, and does not get in the way of the next one.
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    page = write_report([tmp_path], tmp_path / "again", NOW).read_text()
    assert "<title>Point-1-Hazard: ascpo, seed 0</title>" in page
    assert "<details open>" in page


def test_the_page_names_unfinished_runs_and_leaves_out_runs_without_an_epoch(tmp_path, monkeypatch):
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    running = made(tmp_path / "running", epochs=2)
    config = json.loads((running / "config.json").read_text())
    (running / "config.json").write_text(json.dumps(config | {"total_steps": 1000}))
    (made(tmp_path / "begun", algo="cpo") / "metrics.csv").unlink()
    page = write_report([tmp_path], tmp_path / "out", NOW).read_text()
    assert "running has 2 of 10 epochs" in page
    assert "begun has no finished epoch" in page


@pytest.mark.parametrize("version", [1, 2])
def test_a_certificate_of_format_1_is_shown_as_such(version):
    certificate = CERTIFICATE | {"format": f"ascpo certificate {version}", "look": 3}
    run = SimpleNamespace(certificate=certificate, doubts={}, probability=0.9)
    shown = document._certificate(run)
    assert any("has the earlier format 1" in sentence for sentence in shown["sentences"]) == (version == 1)
    assert shown["figures"]["look"] == "3"


def test_a_certificate_for_less_than_the_target_is_not_shown_as_a_success():
    for target, reached, verdict in (
        (0.9, True, "certified"),
        (0.98, False, "certified for 0.9, below the target of 0.98"),
    ):
        shown = document._certificate(SimpleNamespace(certificate=CERTIFICATE, doubts={}, probability=target))
        assert (shown["reached"], shown["verdict"]) == (reached, verdict)


def test_the_page_says_if_certificate_and_evaluation_belong_to_different_policies(tmp_path, monkeypatch):
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    path = evaluated(made(tmp_path / "run"))
    evaluation = json.loads((path / "evaluation.json").read_text()) | {"policy": "abc"}
    (path / "evaluation.json").write_text(json.dumps(evaluation))
    for policy, differs in (("abc", False), ("def", True)):
        (path / "certificate.json").write_text(json.dumps(CERTIFICATE | {"plan": {"policy": policy}}))
        monkeypatch.setattr("ascpo.evaluation.certificate.read_certificate", lambda path: certificate_for("abc"))
        page = write_report([path], tmp_path / "out", NOW).read_text()
        assert ("belong to different policies" in page) == differs


def test_a_certificate_that_is_damaged_or_of_another_policy_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    path = made(tmp_path / "run")
    digest = with_policy(path)
    (path / "certificate.json").write_text(json.dumps(CERTIFICATE))
    page = write_report([path], tmp_path / "out", NOW).read_text()
    assert "certificate.json cannot be trusted" in page
    assert "not to be believed</span>" in page
    assert "Planned &amp; played." not in page, "what a damaged certificate says is not repeated"
    for policy, doubtful in ((digest, False), ("another", True)):
        monkeypatch.setattr("ascpo.evaluation.certificate.read_certificate", lambda _, p=policy: certificate_for(p))
        page = write_report([path], tmp_path / "out", NOW).read_text()
        assert ("is for another policy than policy.safetensors" in page) == doubtful
        assert ('<span class="badge yes">certified</span>' in page) != doubtful


def test_figures_of_another_policy_are_marked(tmp_path, monkeypatch):
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    path = evaluated(made(tmp_path / "run"))
    with_policy(path)
    page = write_report([path], tmp_path / "out", NOW).read_text()
    assert "evaluation.json is stale: it evaluated another policy than policy.safetensors." in page
    assert re.search(r"Fresh episodes, sampled actions <span class=.badge no.>doubtful, see above", page)
    assert "fresh episodes (doubtful, see above); the target is" in page


@pytest.mark.parametrize(
    ("ask", "target"),
    [
        ({}, "feedback from the measured episodes"),
        ({"closed": False}, "the bound, capped at a share of the trust region"),
        ({"closed": False, "share": None}, "the bound itself"),
    ],
)
def test_the_page_says_which_target_the_constraints_have(tmp_path, monkeypatch, ask, target):
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    made(tmp_path / "run", algo="cpo", settings={"ask": ask})
    page = write_report([tmp_path], tmp_path / "out", NOW).read_text()
    assert f"cpo bounds the mean cost of an episode. The target of a step is {target}." in page


def test_a_report_needs_a_run():
    with pytest.raises(BadSetting, match="Name the directory of a run"):
        verb.main([])


def test_a_report_does_not_import_the_learner():
    code = "import sys, ascpo.cli.report, ascpo.cli.journal; print({'jax', 'mujoco', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n", done.stdout


def _slug(page: Path) -> str:
    return next(file.stem.removeprefix("fan-") for file in (page.parent / "figures").glob("fan-*.svg"))


@pytest.mark.parametrize(
    ("algo", "limit", "words"),
    [
        ("cpo", 25.0, "cost ≤ 25 in the sum of an episode&#39;s costs"),
        ("scpo", 0.5, "cost ≤ 0.5"),
        ("cpo", 0.0, "cost ≤ 0"),
    ],
)
def test_the_page_says_what_its_limits_bound(tmp_path, monkeypatch, algo, limit, words):
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    made(tmp_path / "run", algo=algo, settings={"limits": [limit]})
    page = write_report([tmp_path], tmp_path / "out", NOW).read_text()
    assert words in page
    assert ("sum of an episode" in page) == (limit == 25.0)
