"""The documentation is up to date, and every command in it runs."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import tyro

from ascpo.cli import main
from tests.runs.helpers import EPOCH, tiny, words
from tests.slow import slow

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
sys.path.insert(0, str(ROOT / "docs"))


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors of a page's headings."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(page):
    """The lines that call this program, each whole."""
    text = "".join(blocks(page, "sh")).replace("\\\n", " ")
    return [line.split("  #")[0] for line in text.splitlines() if line.startswith("ascpo ")]


def small(command):
    """The same command with a training of two epochs, and few episodes."""
    typed = shlex.split(command)[1:]
    if typed[0] == "evaluate":
        return [*typed, "--episodes", "2"]
    if typed[0] == "certify" and "--check" not in typed:
        return [*typed, "--episodes", "12", "--probability", "0.5"]
    if typed[0] != "train" or {"--help", "--show"} & set(typed):
        return typed
    if "--resume" in typed:
        few = ["--validation-episodes", "2"] if "selected" in typed else []
        return [*typed, *few, "--total-steps", str(2 * EPOCH), "--evaluate", "0"]
    algo = typed[typed.index("--algo") + 1] if "--algo" in typed else "ascpo"
    return [*typed, *words(tiny(algo)), "--total-steps", str(2 * EPOCH), "--evaluate", "0"]


WITH_COMMANDS = [page for page in PAGES if commands(page)]


TRAINS_MUCH = {
    "README",
    "deploy",
    "index",
    "certificate",
    "paper",
    "quick-start",
    "recipes",
    "resuming",
    "report",
    "training",
}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=slow("runs only in the long tests") if page.stem in TRAINS_MUCH else ())
        for page in WITH_COMMANDS
    ],
    ids=lambda page: page.stem,
)
def test_every_command_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if "--resume" in "".join(commands(page)):
        run("train --env Point-1-Hazard", monkeypatch)
    if page.stem in ASSUMES:
        for algo in ASSUMES[page.stem]:
            run(f"train --env Point-1-Hazard --algo {algo} --out runs", monkeypatch)
    for command in dict.fromkeys(commands(page)):
        if command not in DONE or " train " in command:
            run(command.removeprefix("ascpo "), monkeypatch)
            DONE.add(command)


DONE = set()
"""Commands that ran for another page and need not run again."""


ASSUMES = {"recipes": ("ascpo", "cpo"), "certificate": ("ascpo",)}
"""Pages that assume existing runs of Point-1-Hazard, and the algorithms of these runs."""


def run(command, monkeypatch):
    words = small(f"ascpo {command}")
    if words[0] in {"replay", "watch", "video", "sweep", "tune"} or (words[0] == "train" and UNUSUAL & set(words)):
        return understood(words)
    monkeypatch.setattr("sys.argv", ["ascpo", *words])
    try:
        main.main()
    except SystemExit as end:
        # A policy of two epochs cannot be certified, but the command must run.
        if end.code and (words[0], end.code) != ("certify", 1):
            raise AssertionError(f"ascpo {command}: {end.code}") from end


UNUSUAL = {"pascpo", "examples.pendulum:make", "released", "mjx", "--wandb"}
"""Trainings with these are only parsed: each would need its own compilation, and other tests train them."""


def understood(words):
    """Parse a command without running it: it would serve a page, draw or compile, which other tests do."""
    from ascpo.cli.parsing import parsed
    from ascpo.cli.replay import ReplayVerb
    from ascpo.cli.sweep import Directory, Sweep
    from ascpo.cli.train import parse
    from ascpo.cli.tune import Tune
    from ascpo.cli.video import Video
    from ascpo.cli.watch import WatchVerb

    if words[0] == "train":
        parse(words[1:])[0].as_configs()
    elif words[0] == "sweep" and words[1] in ("status", "stop", "resume"):
        parsed(Directory, words[2:], "ascpo")
    elif words[0] == "sweep":
        parsed(Sweep, words[1:], "ascpo").jobs()
    elif words[0] == "tune":
        parsed(Tune, words[1:], "ascpo").setup()
    else:
        tyro.cli({"replay": ReplayVerb, "watch": WatchVerb, "video": Video}[words[0]], args=words[1:])


@pytest.mark.parametrize("name", ["settings.md", "log.md", "reference/command-line.md", "reference/python.md"])
def test_the_pages_made_from_the_code_are_up_to_date(name):
    import generate

    assert (ROOT / "docs" / name).read_text() == generate.PAGES[name](), "run make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
        if not target.startswith("http"):
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not anchor or file.suffix != ".md" or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_python_block_compiles(page):
    for block in blocks(page, "python"):
        if ">>>" not in block:
            compile(block, str(page), "exec")
