"""A small part of the paper by the command line: killed halfway, run again, and shown."""

import re
import signal
import subprocess
import sys
import time

import pytest

from ascpo.paper.experiments import EXPERIMENTS
from ascpo.paper.plan import Request, plans
from ascpo.paper.results import PaperStore
from ascpo.sweep.jobs import run_batch
from tests.runs.helpers import EPOCH, TINY

EPOCHS = 12
SCALE = EPOCHS * EPOCH / 6e6
SUITES, ALGOS = ("Point-1-Hazard",), ("trpo", "scpo")
SETTINGS = TINY | {"probability": 0.98}
"""As in other tests, so that it is compiled once."""
RUN = ["run", "q1", "--suites", *SUITES, "--algos", *ALGOS, "--seeds", "0"]


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


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal here")
def test_a_killed_sweep_resumes_and_ends_with_the_same_bytes(tmp_path):
    store = PaperStore(tmp_path / "killed", SCALE)
    killed = store.path / "Point-1-Hazard-trpo-seed0"
    kill_when(subprocess.Popen(**command(store.out, *RUN, "--checkpoint-every", "0")), lambda: rows(killed) >= 2)
    assert 2 <= rows(killed) < EPOCHS

    again = subprocess.run(**command(store.out, *RUN, "--jobs", "2"), check=True).stdout
    assert re.search(r"\[1 of 2\] Point-1-Hazard-trpo-seed0: 12 epochs, resumed after epoch \d+", again)
    assert "2 trained, 0 finished before, 0 failed." in again

    undisturbed = Request("q1", PaperStore(tmp_path / "whole", SCALE), SUITES[:1], ALGOS[:1], (0,), typed_settings())
    (job,) = plans(undisturbed)[0].jobs
    run_batch((job,))
    assert job.run.metrics.read_bytes() == (killed / "metrics.csv").read_bytes()

    shown = subprocess.run(**command(store.out, "show", "q1"), check=True).stdout
    cells = [line.split() for line in shown.splitlines() if line.startswith(tuple(f"{algo} " for algo in ALGOS))]
    assert len(cells) == len(SUITES) * len(ALGOS)
    assert not any("–" in line for line in cells)
    assert f"{len(EXPERIMENTS['q1'].trainings()) - 2} of 456 runs are missing" in shown
    assert "Overridden settings: num_envs=4 instead of 30, horizon=25 instead of 1000" in shown
