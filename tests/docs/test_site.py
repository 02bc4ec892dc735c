"""The documentation as a site: every page is in the navigation and can be reached."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ascpo.cli.main import COMMANDS
from tests.slow import slow

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import assemble  # noqa: E402
import check_site  # noqa: E402
import execute_notebooks  # noqa: E402

NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
PARTS = ["Home", "Tutorials", "How-to", "Reference", "Explanation"]


class Loader(yaml.SafeLoader):
    """Reads the site's settings and ignores their functions."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
NAVIGATION = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)["nav"]


def pages(navigation):
    """The pages of a navigation, in its order."""
    if isinstance(navigation, str):
        return [navigation]
    entries = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for entry in entries for page in pages(entry)]


def test_the_navigation_has_the_four_parts():
    assert [next(iter(part)) for part in NAVIGATION] == PARTS


def test_every_page_is_in_the_navigation_once():
    assert sorted(pages(NAVIGATION)) == sorted(assemble.sources().values())


def test_every_picture_of_the_documentation_is_of_a_kind_that_is_copied():
    kinds = {file.suffix for file in (ROOT / "docs" / "pictures").iterdir()}
    assert kinds <= assemble.COPIED


def test_links_lead_to_where_the_site_has_a_page():
    known = {"docs/a.md": "a.md", "docs/tutorials/b.ipynb": "tutorials/b.md", "SECURITY.md": "security.md"}
    text = (
        "[b](tutorials/b.ipynb) [s](../SECURITY.md#forgery) [m](../Makefile) [w](https://a.b/c.md) ![p](pictures/p.png)"
    )
    changed, attached = assemble.relinked(text, "docs/a.md", known)
    assert changed == (
        "[b](tutorials/b.md) [s](security.md#forgery) [m](files/Makefile) [w](https://a.b/c.md) ![p](pictures/p.png)"
    )
    assert attached == {"Makefile"}


def test_links_from_a_folder_lead_to_its_parent():
    known = {"docs/tutorials/b.ipynb": "tutorials/b.md", "docs/a.md": "a.md"}
    assert assemble.relinked("[a](../a.md)", "docs/tutorials/b.ipynb", known)[0] == "[a](../a.md)"


def site(tmp_path, **texts):
    for name, text in texts.items():
        (tmp_path / f"{name}.html").write_text(text)
    return tmp_path


def test_a_broken_link_and_a_missing_anchor_are_found(tmp_path):
    place = site(tmp_path, index='<a href="a.html#here">', a='<p id="there"><a href="b.html"><a href="https://x.y">')
    assert check_site.broken_links(place) == ["a.html: b.html", "index.html: a.html#here"]


def test_a_page_three_clicks_away_is_found(tmp_path):
    place = site(tmp_path, index='<a href="a.html">', a='<a href="b.html">', b='<a href="c.html">', c="")
    assert check_site.far_pages(place) == ["c.html"]


def test_every_command_is_on_the_reference_page():
    text = (ROOT / "docs/reference/command-line.md").read_text()
    assert [command for command in COMMANDS if f"## ascpo {command}\n" not in text] == []


def test_there_are_three_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["first-policy", "own-environment", "safe-enough"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_was_executed_without_an_error_and_matches_its_source(path):
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    text = path.with_name(path.stem.replace("-", "_") + ".py").read_text()
    assert text.count("# %%") == len(cells)
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(output["output_type"] != "error" for cell in code for output in cell["outputs"])
    for cell in code:
        assert "".join(cell["source"]) in text, "run make notebooks"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_link_of_a_notebook_leads_somewhere(path):
    for cell in json.loads(path.read_text())["cells"]:
        for found in assemble._LINK.finditer("".join(cell["source"]) if cell["cell_type"] == "markdown" else ""):
            assert (path.parent / found[2]).exists(), found[2]


@slow("builds the site")
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("zensical", reason="the extra docs is not installed")
    pytest.importorskip("nbconvert", reason="the extra docs is not installed")
    assemble.assemble()
    build = [
        sys.executable,
        "-m",
        "zensical",
        "build",
        "--clean",
        "--strict",
        "--config-file",
        str(ROOT / "mkdocs.yml"),
    ]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert check_site.broken_links(check_site.SITE) == []
    assert check_site.far_pages(check_site.SITE) == []


def test_frames_of_progress_bars_and_colours_are_removed():
    frames = "\x1b[?25l\n\r\x1b[2Kepisodes 0/5\r\x1b[2Kepisodes 5/5\n\x1b[?25h\r\x1b[1A\x1b[2Kexit status 0"
    assert execute_notebooks.printed(f"\x1b[1mrun\x1b[0m\n{frames}") == "run\nexit status 0"
