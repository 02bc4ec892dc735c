"""A small part of the paper from the command line: killed halfway, resumed, and shown."""

import re
import signal
import subprocess
import sys
import time

import pytest

from ascpo.cli import paper
from ascpo.paper.plan import Request, plans
from ascpo.paper.results import PaperStore
from ascpo.sweep.jobs import run_batch
from tests.runs.helpers import EPOCH, TINY
from tests.slow import slow

EPOCHS = 12
SCALE = EPOCHS * EPOCH / 6e6
SUITES, ALGOS, COLUMNS = ("Point-1-Hazard",), ("scpo",), ("released", "ours")
SETTINGS = TINY | {"probability": 0.98}
"""As in other tests, so that it is compiled once."""
RUN = ["run", "q1", "--suites", *SUITES, "--algos", *ALGOS, "--seeds", "0"]
PAGE = f"q1-{SUITES[0]}"


def flat(settings, prefix=""):
    """Settings as `--set` takes them."""
    out = {}
    for name, value in settings.items():
        out |= flat(value, f"{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return out


def typed_settings():
    lists = {name: value if isinstance(value, tuple) else (value,) for name, value in flat(SETTINGS).items()}
    return tuple(f"{name}={','.join(map(str, values))}" for name, values in lists.items())


def command(out, *words):
    typed = [sys.executable, "-m", "ascpo.cli.main", "paper", *words, "--scale", str(SCALE), "--out", str(out)]
    if words[0] == "run":
        for setting in typed_settings():
            typed += ["--set", setting]
    return {"args": typed, "stdout": subprocess.PIPE, "text": True}


def rows(directory):
    table = directory / "metrics.csv"
    return max(table.read_bytes().count(b"\n") - 1, 0) if table.exists() else 0


def kill_when(process, reached):
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < 300:
        if reached():
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.01)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


@slow("trains, kills and trains again")
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
def test_a_killed_sweep_resumes_and_ends_with_the_same_bytes(tmp_path, capsys):
    store = PaperStore(tmp_path / "killed", SCALE)
    killed = store.path / "Point-1-Hazard-scpo-seed0"
    kill_when(subprocess.Popen(**command(store.out, *RUN, "--checkpoint-every", "0")), lambda: rows(killed) >= 2)
    assert 2 <= rows(killed) < EPOCHS

    again = subprocess.run(**command(store.out, *RUN, "--jobs", "2", "--as", *COLUMNS), check=True).stdout
    assert re.search(r"\[2 of 2\] Point-1-Hazard-scpo-seed0: 12 epochs, resumed after epoch \d+", again)
    assert "2 trained, 0 finished before, 0 failed." in again

    undisturbed = Request(("q1",), PaperStore(tmp_path / "whole", SCALE), SUITES, ALGOS, (0,), typed_settings())
    (job,) = plans(undisturbed)[0].jobs
    run_batch((job,))
    assert job.run.metrics.read_bytes() == (killed / "metrics.csv").read_bytes()

    # The results are shown from the run directories, and again from what was exported of them.
    changed = "Overridden settings: num_envs=4 instead of 30, horizon=25 instead of 1000", "num_envs=4 horizon=25"
    results = str(tmp_path / "results")
    for out, option, overridden in zip((store.out, tmp_path / "none"), ("--export", "--results"), changed, strict=True):
        paper.main(["show", PAGE, "--scale", str(SCALE), "--out", str(out), option, results])
        shown = capsys.readouterr().out
        tables = [line.split() for line in shown.splitlines() if line.startswith("scpo ") and " on " not in line]
        # The algorithm, what the paper prints, both columns, and the seeds of each.
        assert [len(row) for row in tables] == [6, 6, 6, 5, 5]
        assert not any("–" in row for row in tables)
        assert "23 of 24 runs with the released settings are missing" in shown
        assert overridden in shown
