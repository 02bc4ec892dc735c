"""A run whose files name code. Reading it executes nothing unless the user allows it in the same command."""

import json
import shutil
import sys

import pytest

from ascpo.evaluation.certify import Request, certify, check
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.evaluation.records import read_records
from ascpo.evaluation.retrace import retrace
from ascpo.replay.episode import play_again
from ascpo.replay.video import write_video
from ascpo.runs.api import resume
from ascpo.runs.directory import find
from ascpo.runs.serialization import BadSetting
from tests.evaluation.untrained import untrained
from tests.own import Cart
from tests.report.made import COLUMNS, made, table

NAME = "canary_mod:make"
FORMS = (NAME, "canary_mod:E-v0", "canary_mod.a:mk")
"""A factory, the id that a module registers, and a module in a package. All have the same length."""
NAMED = ("algorithm", "description", "quantity", "target", "machine", "ascpo")
"""Texts in description.json and versions.json."""
MODULE = """
from pathlib import Path
Path("canary").touch()
from tests.own import Cart as make
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A run with all its files. Every one that can name an environment names the canary."""
    run = untrained(tmp_path_factory.mktemp("runs"), env=NAME, factory=Cart)
    evaluate_run(run, 10, env=Cart, keep=2)
    certify([run], Request(episodes=20, probability=0.5), env=Cart)
    config = find(run).config()
    rows = [{"Epoch": t, "TotalEnvInteracts": 100 * (t + 1)} | COLUMNS for t in range(config.epochs)]
    table(run / "metrics.csv", rows)
    table(run / "timing.csv", [{"Epoch": row["Epoch"], "WallClock": 1.0} for row in rows])
    for name in ("description.json", "versions.json"):
        file = run / name
        file.write_text(json.dumps({key: NAME if key in NAMED else value for key, value in _json(file).items()}))
    return run


def _json(file):
    """Its content without the checksum, which anybody who changes a file can remove."""
    return {key: value for key, value in json.loads(file.read_text()).items() if key != "checksum"}


@pytest.fixture
def canary(hostile, tmp_path, monkeypatch):
    """A copy of the run in a directory with the module that it names. Returns the run and whether it was executed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "canary_mod.py").write_text(MODULE)
    run = shutil.copytree(hostile, tmp_path / "run")
    yield run, lambda: (tmp_path / "canary").exists() or "canary_mod" in sys.modules
    sys.modules.pop("canary_mod", None)


@pytest.fixture
def refused(ascpo):
    def run(*words):
        with pytest.raises(SystemExit) as left:
            ascpo(*words)
        return str(left.value)

    return run


COMMANDS = {
    "evaluate": ["evaluate", "run", "--episodes", 2],
    "certify": ["certify", "run", "--episodes", 20, "--probability", 0.5],
    "check": ["certify", "--check", "run"],
    "replay": ["replay", "run", "--no-open"],
    "video": ["video", "run"],
    "resume": ["train", "--resume", "run"],
    "config": ["train", "--config", "run", "--out", "new"],
    "config shown": ["train", "--config", "run", "--show"],
    "config on an accelerator": ["train", "--config", "run", "--engine", "mjx"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_does_not_execute_code_that_a_run_names_and_says_what_to_type(canary, refused, words):
    _, executed = canary
    said = refused(*words)
    assert not executed()
    assert f"--env {NAME}" in said
    assert "--trust-env" in said
    assert "\n" not in said


@pytest.mark.parametrize("name", ["evaluate", "certify", "check", "replay", "video", "resume"])
def test_naming_another_environment_does_not_execute_the_one_of_the_run(canary, refused, name):
    _, executed = canary
    assert "Name the same one" in refused(*COMMANDS[name], "--env", "tests.own:WithoutCost")
    assert not executed()


INERT = [("report run", NAME), *((words, form) for words in ("journal run", "list runs .") for form in FORMS)]


@pytest.mark.parametrize(("words", "form"), INERT)
def test_reports_journals_and_lists_execute_no_code_of_a_run(canary, ascpo, words, form):
    run, executed = canary
    for file in filter(lambda file: file.is_file(), run.rglob("*")):
        file.write_bytes(file.read_bytes().replace(NAME.encode(), form.encode()))
    (run / "config.json").write_text(json.dumps(_json(run / "config.json")))
    ascpo(*words.split())
    assert not executed()
    assert form.partition(":")[0] not in sys.modules


@pytest.mark.parametrize("words", [["--env", NAME], ["--trust-env"]], ids=lambda words: words[0])
def test_the_user_may_name_the_environment_again_or_trust_the_run(canary, ascpo, words):
    _, executed = canary
    assert "2 fresh episodes" in ascpo("evaluate", "run", "--episodes", 2, *words)
    assert executed()


def test_python_functions_need_the_same_trust(canary):
    run, executed = canary
    record = read_records(run / "worst-sampled.safetensors")[0]
    calls = (
        lambda **env: evaluate_run(run, 2, **env),
        lambda **env: certify([run], Request(episodes=20, probability=0.5), **env),
        lambda **env: check(run, **env),
        lambda **env: retrace(record, **env),
        lambda **env: play_again(record, **env),
        lambda **env: write_video(record, run / "worst.mp4", **env),
        lambda **env: resume(run, **env),
    )
    for call in calls:
        for env in (None, "Pendulum-v1"):
            with pytest.raises(BadSetting, match=NAME):
                call(env=env)
    assert not executed()
    for call in calls[:5]:
        call(env=Cart)
    assert not executed(), "a factory takes the place of the name"
    retrace(record, trust_env=True)
    assert executed()


def test_names_are_quoted_for_the_shell(canary, refused):
    run, _ = canary
    worse = "os:$(touch x)\x1b[2J"
    file = run / "config.json"
    file.write_text(json.dumps(_json(file) | {"env": worse}))
    said = refused("train", "--resume", "run")
    assert "\x1b" not in said
    assert "--env '" in said


def test_trusting_without_a_run_is_refused(refused):
    assert "--trust-env is for --resume and --config" in refused("train", "--trust-env")


def test_a_new_training_with_the_settings_of_a_run_takes_the_environment_that_the_user_names(canary, ascpo):
    _, executed = canary
    ascpo("train", "--config", "run", "--env", "Point-1-Hazard", "--show")
    assert not executed()


def test_control_characters_in_names_do_not_reach_the_terminal(tmp_path, ascpo, refused):
    names = "[/bold]", "[red]", "e\x1b[2Jscape", "right\u202eleft"
    for name in names:
        made(tmp_path / name, env=name)
    listed = ascpo("list", "runs", tmp_path)
    assert "[/bold]" in listed
    assert "[red]" in listed
    for printed in (listed, ascpo("journal", tmp_path / names[2]), refused("journal", tmp_path / names[3], 99)):
        assert not {"\x1b", "\u202e"} & set(printed)
    assert r"e\x1b[2Jscape" in listed


def test_names_are_not_interpreted_as_latex_even_if_the_current_directory_turns_it_on(tmp_path, monkeypatch):
    import matplotlib

    from ascpo.report.style import look

    monkeypatch.chdir(tmp_path)
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    with matplotlib.rc_context(fname="matplotlibrc"), look():
        assert not matplotlib.rcParams["text.usetex"]
