"""Claims: no two machines train the same run, even if their file system has no locks."""

import json
import os
import subprocess
import time

import pytest

from ascpo.runs.directory import NoRun
from ascpo.sweep import claim
from ascpo.sweep.claim import STALE, Claim, claimed


def claim_by(host, directory, age=0.0, **more):
    file = directory / ".claim"
    file.write_text(json.dumps({"host": host, "token": "theirs", **more}))
    then = time.time() - age
    os.utime(file, (then, then))


def test_a_claim_exists_while_a_run_is_trained_and_is_gone_afterwards(tmp_path):
    run = tmp_path / "run"
    with claimed([run]):
        assert Claim.of(run).host == claim.socket.gethostname()
        assert [path.name for path in run.iterdir()] == [".claim"]
    assert list(run.iterdir()) == []


def test_a_run_that_another_machine_trains_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "_CLAIM_TIMEOUT", 0.0)
    claim_by("elsewhere", tmp_path)
    with pytest.raises(NoRun, match="is being trained on elsewhere"), claimed([tmp_path]):
        pass
    assert json.loads((tmp_path / ".claim").read_text())["token"] == "theirs"


@pytest.mark.parametrize(("host", "age"), [("elsewhere", STALE + 1), (claim.socket.gethostname(), 0.0)])
def test_a_claim_without_a_heartbeat_or_of_this_machine_is_ignored(tmp_path, monkeypatch, host, age):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    claim_by(host, tmp_path, age)
    with claimed([tmp_path]):
        assert Claim.of(tmp_path).token != "theirs"


def test_a_claim_of_this_machine_is_valid_while_its_process_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "_CLAIM_TIMEOUT", 0.0)
    here = claim.socket.gethostname()
    claim_by(here, tmp_path, process=os.getppid())
    with pytest.raises(NoRun, match=f"is being trained on {here}"), claimed([tmp_path]):
        pass
    with subprocess.Popen(["true"]) as ended:
        pass
    claim_by(here, tmp_path, process=ended.pid)
    with claimed([tmp_path]):
        assert Claim.of(tmp_path).token != "theirs"


def test_a_worker_whose_claim_is_taken_ends_at_once(tmp_path, monkeypatch):
    ends = []
    monkeypatch.setattr(claim, "_HEARTBEAT", 0.01)
    monkeypatch.setattr(claim.os, "_exit", ends.append)
    with claimed([tmp_path]):
        claim_by("elsewhere", tmp_path)
        end = time.monotonic() + 5
        while not ends and time.monotonic() < end:
            time.sleep(0.01)
    assert ends[0] == claim.LOST_CLAIM


def test_a_worker_that_was_suspended_goes_on_if_nobody_has_taken_its_claim(tmp_path, monkeypatch):
    ends, clock = [], time.monotonic
    monkeypatch.setattr(claim, "_HEARTBEAT", 0.01)
    monkeypatch.setattr(claim.os, "_exit", ends.append)
    with claimed([tmp_path]):
        monkeypatch.setattr(claim.time, "monotonic", lambda: clock() + 2 * STALE)
        long_ago = time.time() - 2 * STALE
        os.utime(tmp_path / ".claim", (long_ago, long_ago))
        end = clock() + 5
        while Claim.of(tmp_path) is None and clock() < end:
            time.sleep(0.01)
        assert Claim.of(tmp_path) is not None
    assert not ends


def test_a_worker_that_cannot_reach_its_claim_for_a_minute_ends(tmp_path, monkeypatch):
    ends, clock = [], time.monotonic
    monkeypatch.setattr(claim, "_HEARTBEAT", 0.01)
    monkeypatch.setattr(claim.os, "_exit", ends.append)
    with claimed([tmp_path]):
        monkeypatch.setattr(claim, "_holds", unreachable)
        time.sleep(0.2)
        assert not ends
        monkeypatch.setattr(claim.time, "monotonic", lambda: clock() + STALE)
        end = clock() + 5
        while not ends and clock() < end:
            time.sleep(0.01)
    assert ends[0] == claim.LOST_CLAIM


def unreachable(*_):
    raise OSError("stale file handle")
