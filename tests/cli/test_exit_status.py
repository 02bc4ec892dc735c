"""Exit statuses of every command, and what it prints: 0, 1, 2, 130 and 143 (docs/exit-status.md)."""

import gc
import importlib
import os
import signal
import subprocess
import sys
import time

import pytest

from ascpo.algorithms.suite_defaults import DECIDING
from ascpo.cli import main
from ascpo.cli.main import COMMANDS
from ascpo.engines.gymnasium.errors import Faulty
from ascpo.runs.directory import runs_in
from tests.evaluation.untrained import untrained
from tests.misbehaving import Misbehaving
from tests.runs.helpers import CART, EPOCH, tiny, words
from tests.slow import always, slow

VERBS = pytest.mark.parametrize("verb", COMMANDS)
FAULTY = "tests.misbehaving:make"


@pytest.fixture
def status(monkeypatch, capsys):
    """Run a command, and return its exit status, its output and its errors."""

    def run(*typed):
        monkeypatch.setattr("sys.argv", ["ascpo", *map(str, typed)])
        try:
            main.main()
            code = 0
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def verb_does(monkeypatch, verb, work):
    monkeypatch.setattr(importlib.import_module(f"ascpo.cli.{verb.replace('-', '_')}"), "main", lambda words: work())


@VERBS
def test_wrong_usage_exits_with_2_and_help_with_0(status, verb):
    assert status(verb, "--no-such-flag", "--nor-this")[0] == 2
    assert status(verb, "--help")[0] == 0


@pytest.mark.parametrize(
    "flag",
    ["algo", "config", "env", "preset", "final-policy", *(name.replace("_", "-") for name in DECIDING), "total-steps"],
)
@pytest.mark.parametrize("others", [[], ["--seed", "3"]])
def test_a_flag_without_its_value_is_named(status, flag, others):
    code, out, err = status("train", f"--{flag}", *others)
    assert (code, out) == (2, "")
    assert f"Missing value for argument '--{flag}'" in " ".join(err.split())
    assert "ascpo train --help" in err


@pytest.mark.parametrize("typed", [["trian"], ["list", "algoritms"], ["paper", "shwo"]])
def test_an_unknown_command_is_wrong_usage(status, typed):
    code, out, err = status(*typed)
    assert (code, out) == (2, "")
    assert "Did you mean" in err
    assert len(err.splitlines()) <= 2, "a sentence and a line of advice"


@VERBS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_prints_one_line_in_every_command(status, verb, number, monkeypatch):
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    verb_does(monkeypatch, verb, lambda: signal.raise_signal(number))
    code, out, err = status(verb)
    for one, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
        signal.signal(one, handler)
    assert code == 128 + number
    assert (out, err) == ("", f"ascpo {verb}: stopped by {signal.Signals(number).name}.\n")


def test_a_signal_during_an_import_prints_one_line(status, monkeypatch):
    """A C library turns it into an ImportError."""

    def imported(name):
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException as error:
            raise ImportError("initialization failed") from error

    monkeypatch.setattr(main, "import_module", imported)
    before = signal.getsignal(signal.SIGINT)
    code, _, err = status("evaluate")
    signal.signal(signal.SIGINT, before)
    assert (code, err) == (130, "ascpo evaluate: stopped by SIGINT.\n")


def test_a_signal_in_a_callback_of_the_garbage_collector_is_not_lost(status, monkeypatch):
    """Python drops exceptions there and prints a traceback. JAX has such a callback."""
    calls = []

    def callback(phase, info):
        if not calls:
            calls.append(phase)
            signal.raise_signal(signal.SIGTERM)

    def work():
        gc.callbacks.append(callback)
        gc.collect()
        time.sleep(30)

    verb_does(monkeypatch, "list", work)
    before = signal.getsignal(signal.SIGTERM)
    code, _, err = status("list")
    gc.callbacks.remove(callback)
    signal.signal(signal.SIGTERM, before)
    assert (code, err) == (143, "ascpo list: stopped by SIGTERM.\n")


def test_a_signal_in_a_generator_that_is_collected_is_not_lost(status, monkeypatch):
    """Python drops the exceptions of its finally clause, too."""

    def generator():
        try:
            yield
        finally:
            signal.raise_signal(signal.SIGTERM)

    def work():
        next(generator())
        time.sleep(30)

    verb_does(monkeypatch, "list", work)
    before, hook = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    code, _, err = status("list")
    signal.signal(signal.SIGTERM, before)
    sys.unraisablehook = hook
    assert (code, err) == (143, "ascpo list: stopped by SIGTERM.\n")


@VERBS
@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), Faulty("It broke."), ValueError("It is wrong.")])
def test_an_error_prints_a_message_and_exits_with_1_in_every_command(status, verb, error, monkeypatch):
    """This includes a broken pipe that is not our output."""

    def work():
        raise error

    verb_does(monkeypatch, verb, work)
    code, _, err = status(verb)
    assert (code, err) == (1, f"ascpo {verb}: {error}\n")


def test_an_exit_by_user_code_is_an_error(status, monkeypatch):
    verb_does(monkeypatch, "replay", lambda: sys.exit(0))
    code, _, err = status("replay")
    assert code == 1
    assert "test_exit_status ended the program by itself (SystemExit: 0)" in err


def test_a_traceback_is_shown_on_request(status, monkeypatch):
    def work():
        try:
            raise ZeroDivisionError("at home")
        except ZeroDivisionError as error:
            raise Faulty("It broke.") from error

    verb_does(monkeypatch, "check", work)
    assert "ASCPO_TRACEBACK=1 shows the traceback" in status("check")[2]
    monkeypatch.setenv("ASCPO_TRACEBACK", "1")
    err = status("check")[2]
    assert "ZeroDivisionError: at home" in err
    assert err.endswith("ascpo check: It broke.\n")


# Trainings on environments that fail.


def faulty(monkeypatch, fault, at=130, where="step"):
    for name, value in {"FAULT": fault, "AT": str(at), "WHERE": where}.items():
        monkeypatch.setenv(name, value)
    Misbehaving.made = 0


@pytest.mark.parametrize("fault", always(["sys.exit(0)", "BrokenPipeError", "EOFError"], "sys.exit(0)"))
def test_a_training_whose_environment_fails_exits_with_1_and_keeps_its_epochs(status, tmp_path, monkeypatch, fault):
    """The fault occurs after five epochs of 25 steps."""
    faulty(monkeypatch, fault)
    typed = ["--env", FAULTY, "--algo", "trpo", "--total-steps", 9 * EPOCH, "--out", tmp_path, "--evaluate", 0]
    code, _, err = status("train", *typed, *words(tiny("trpo")))
    assert code == 1
    assert f"Environment 0 of {FAULTY}, episode 6 (seed " in err
    assert "step 10: step raises " in err
    (run,) = runs_in(tmp_path)
    assert run.metrics.read_bytes().count(b"\n") == 1 + 5
    assert f"All finished epochs are saved. To continue: ascpo train --resume {run.path}" in err


def test_a_check_of_an_environment_that_exits_has_status_1(status, monkeypatch):
    faulty(monkeypatch, "sys.exit(0)", at=3)
    Misbehaving.made = 1
    code, out, err = status("check", FAULTY)
    assert (code, out) == (1, "")
    assert "step raises SystemExit: 0" in err


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["--restart-environments"], "restart_environments=True changes nothing: without --processes"),
        (["--step-timeout", "5"], "step_timeout=5.0 changes nothing: without --processes"),
        (["--processes", "--step-timeout", "nan"], "step_timeout=nan must be a number above 0"),
        (["--env", "Point-1-Hazard", "--processes", "--restart-environments"], "Point-1-Hazard is a suite"),
        (
            ["--env", "Point-1-Hazard", "--max-episode-steps", "5"],
            "a suite: its episodes have at most 1000 steps",
        ),
        (["--max-episode-steps", "0"], "max_episode_steps=0 must be a whole number from 1"),
    ],
)
def test_flags_without_effect_are_refused(status, tmp_path, typed, answer):
    code, out, err = status("train", "--env", CART, *typed, "--out", tmp_path / "out")
    assert code in (1, 2)
    assert answer in " ".join((out + err).replace("│", " ").split())
    assert not (tmp_path / "out").exists()


# Real processes.


def command(*typed, **more):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    typed = [sys.executable, "-m", "ascpo.cli.main", *map(str, typed)]
    return subprocess.Popen(typed, **pipes, start_new_session=True, **more)


@slow("a training with processes starts")
def test_ctrl_c_to_a_training_and_its_processes_prints_one_line(tmp_path):
    """As a terminal sends it: to all processes of the group."""
    typed = [
        "--env",
        "tests.own:make",
        "--processes",
        "--total-steps",
        "1e8",
        "--out",
        tmp_path,
        "--evaluate",
        0,
        *words(),
    ]
    training = command("train", *typed)
    for line in training.stdout:
        if "EpRet" in line:
            break
    os.killpg(training.pid, signal.SIGINT)
    out, err = training.communicate(timeout=60)
    assert (training.returncode, err) == (130, "")
    assert out.splitlines()[-1].startswith("Stopped by SIGINT. All finished epochs are saved. To continue: ascpo train")


@slow("starts processes")
def test_sigterm_to_an_evaluation_and_its_processes_prints_one_line(tmp_path):
    """As a batch system sends it. The episodes would never end."""
    env = "tests.misbehaving:Endless"
    run, mark = untrained(tmp_path, env=env), tmp_path / "mark"
    typed = [run, "--episodes", 20, "--processes", "--trust-env"]
    evaluation = command("evaluate", *typed, env=os.environ | {"MARK": str(mark)})
    while not mark.exists():
        assert evaluation.poll() is None
        time.sleep(0.05)
    os.killpg(evaluation.pid, signal.SIGTERM)
    out, err = evaluation.communicate(timeout=60)
    assert (evaluation.returncode, out, err) == (143, "", "ascpo evaluate: stopped by SIGTERM.\n")


def test_a_command_continues_when_its_output_pipe_is_closed(tmp_path):
    """Its exit status is that of its work: 2 here, and never 0 for the broken pipe."""
    listing = command("list", "suites")
    listing.stdout.close()
    assert (listing.wait(timeout=60), listing.stderr.read()) == (0, "")
    code = "from ascpo.cli.output import lasting_output\nimport sys\nwith lasting_output():\n"
    code += "  for i in range(9999): print('a line that nobody reads', flush=True)\n  open(sys.argv[1], 'w')"
    program = subprocess.Popen([sys.executable, "-c", code, tmp_path / "end"], stdout=subprocess.PIPE, stderr=-1)
    program.stdout.readline()
    program.stdout.close()
    assert (program.wait(timeout=60), program.stderr.read()) == (0, b"")
    assert (tmp_path / "end").exists()
