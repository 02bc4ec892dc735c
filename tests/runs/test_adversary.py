"""Fault injection: how outcomes are classified, and a short campaign. `benchmarks.adversary` runs the long one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.adversary import corruptions, faults, hostile
from benchmarks.adversary.outcome import Answer, judge
from tests.slow import slow

WHOLE = Answer(0, "J_r 2.4\n", "", "figures")


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (WHOLE, "survived"),
        (Answer(0, "J_r 2.5\n", "", "figures"), "silent"),
        (Answer(0, "J_r 2.4\n", "", ""), "silent"),
        (Answer(0, "J_r 2.4\n", "", "figures\nmetrics.csv is damaged"), "sentence"),
        (Answer(0, "J_r 2.4\nWARNING: a.json is for another\n  policy.", "", "figures"), "sentence"),
        (Answer(0, "J_r 2.4\nWARNING: metrics.csv has lost rows.", "", "figures"), "sentence"),
        (Answer(0, "J_r 2.4\n\nBAD: metrics.csv has 3 rows.", "", "figures"), "sentence"),
        (Answer(0, "J_r 2.4\n", "", 'figures\n<div role="alert">metrics.csv has lost rows</div>'), "sentence"),
        (Answer(0, "J_r 2.5, NOT BAD: 3\n", "", "figures"), "silent"),
        (Answer(1, "", "ascpo report: config.json cannot be read.\n"), "sentence"),
        (Answer(1, "", ""), "silent"),
        (Answer(1, "", "Traceback (most recent call last):\n  …\nKeyError: 'a'\n"), "traceback"),
        (Answer(1, "", "a line of a library\n" * 40), "traceback"),
        (Answer(-11, "", ""), "traceback"),
    ],
)
def test_an_outcome_is_classified_by_its_message_and_its_files(found, outcome):
    assert judge(found, WHOLE)[0] == outcome


def test_every_file_is_damaged_in_every_way_and_every_job_interrupted(tmp_path):
    for name in ("config.json", "metrics.csv", "checkpoints/3/data"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1,2,3\n4,5,6\n")
    planned = corruptions.plan(1000, 0, tmp_path)
    for name in ("config.json", "metrics.csv", "checkpoints/3/data"):
        kinds = {one.kind for one in planned if one.file == name}
        assert len(kinds) == 11
        for one in planned:
            before = (tmp_path / name).read_bytes()
            if one.file == name and one.kind in ("bit flipped", "digit changed"):
                one.apply(tmp_path, tmp_path)
                assert (tmp_path / name).read_bytes() != before
    struck = faults.plan(400, 0, dict.fromkeys(faults.JOBS, 50))
    assert {one.job for one in struck if isinstance(one, faults.DiskFault)} == set(faults.JOBS)
    assert struck == faults.plan(400, 0, dict.fromkeys(faults.JOBS, 50)), "a seed decides the campaign"
    assert len(hostile.plan(200, 0)) == 200


def test_an_alert_that_existed_before_is_not_counted():
    before = Answer(0, "WARNING: a.csv has lost rows.\nJ_r 2.4\n", "")
    assert judge(Answer(0, "WARNING: a.csv has lost rows.\nJ_r 2.5\n", ""), before)[0] == "silent"


def test_sensible_arguments_and_servers_are_not_hostile_inputs():
    planned = [" ".join(words) for words in hostile.plan(10**6, 0)]
    assert not [words for words in planned if words.endswith("--output-bias -1") or "http.server" in words]
    assert [words for words in planned if words.endswith("--margin -1")]


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_fault_injection_library_compiles_without_a_warning(tmp_path):
    source = Path(hostile.__file__).with_name("shim.c")
    flags = ["-Wall", "-Wextra", "-Werror", "-O2", "-D_FORTIFY_SOURCE=2", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "shim.so", source, "-ldl"], check=True)


@slow("a campaign takes minutes")
def test_a_short_campaign_finds_nothing():
    typed = [sys.executable, "-m", "benchmarks.adversary", "--faults", "12", "--copies", "6", "--inputs", "40"]
    found = subprocess.run(typed, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
