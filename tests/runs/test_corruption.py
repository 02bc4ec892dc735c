"""Every file of a run is damaged in many ways and read by every command, which must report it or be unaffected."""

import contextlib
import io
import shutil
from datetime import UTC, datetime

import numpy as np
import pytest

import ascpo
from ascpo.cli import journal
from ascpo.cli import list as listing
from ascpo.cli.main import main
from ascpo.evaluation.certificate import read_certificate
from ascpo.report.data import one_run
from ascpo.report.document import write_report
from ascpo.runs.directory import find
from ascpo.runs.errors import MENDABLE
from ascpo.runs.files import BadFile
from ascpo.runs.trained_policy import read_policy
from tests.runs.helpers import EPOCH, POINT, TINY
from tests.shapes import unchecked
from tests.slow import slow

NOW = datetime(2024, 2, 3, 4, 5, tzinfo=UTC)
NAME = "Point-1-Hazard-ascpo-seed0"
LOGS = ("metrics.csv", "metrics.csv.sha256")
EVALUATED = ("evaluation.json", "episodes-sampled.csv", "worst-sampled.safetensors")
POLICIES = ("policy-last.safetensors", "policy-average.safetensors")
SELECTION = ("selection.csv", "selection.csv.sha256")
FILES = (
    *LOGS, *EVALUATED, "config.json", "description.json", "versions.json", "timing.csv", "timing.csv.sha256",
    "policy.safetensors", *POLICIES, *SELECTION, "certificate.json",
)  # fmt: skip


def certified(run):
    words = ["certify", run, "--probability", "0.5", "--confidence", "0.5", "--episodes", "4"]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setattr("sys.argv", ["ascpo", *map(str, words)])
        with contextlib.suppress(SystemExit):  # Its status says whether four episodes were enough.
            main()
    assert (run / "certificate.json").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two runs of a few epochs, with policies that were selected, evaluated and certified."""
    from ascpo.evaluation.evaluate import evaluate_run

    out = tmp_path_factory.mktemp("runs")
    for seed, steps in ((0, 2 * EPOCH), (1, EPOCH)):
        how = {"seed": seed, "total_steps": steps, "final_policy": "selected", "validation_episodes": 4}
        with unchecked():
            run = ascpo.train(POINT, out=out / str(seed), progress=False, **how, **TINY).directory
            evaluate_run(run, 4, keep=2)
            certified(run)
    return out


def listed(run):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        listing.main(["runs", str(run.parent)])
    return out.getvalue(), "BAD" in out.getvalue() or "unverified" in out.getvalue()


def reported(run):
    page = write_report([run], run.parent.parent / "page", NOW).read_text()
    return page, 'role="alert"' in page


def journalled(run):
    found = one_run(run)
    out = journal.lines(found, [], 100) + journal.lines(found, [0], 100)
    return out, any("WARNING" in line for line in out)


def policy(run):
    file = read_policy(run)
    return (file.digest, file.epochs, np.asarray(file.theta).tobytes(), file.observation_size), not file.verified


def config(run):
    return find(run).config(), False


def replayed(run):
    from ascpo.replay.episode import worst_records

    return [{**vars(one), "actions": one.actions.tobytes()} for one in worst_records(run, "sampled")], False


VERBS = {one.__name__: one for one in (listed, reported, journalled, policy, config, replayed)}


READ = {}


def remembered(path):
    """The certificate, whose bounds take a tenth of a second, unless the file is as it was."""
    content = path.read_bytes()
    if content not in READ:
        READ[content] = read_certificate(path)
    return READ[content]


@pytest.fixture(scope="module")
def whole(place):
    """The output of the commands for intact files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ascpo.report.document.draw", lambda groups: [])
        patch.setattr("ascpo.evaluation.certificate.read_certificate", remembered)
        run = place / "copy" / NAME
        shutil.copytree(place / "0" / NAME, run, ignore=shutil.ignore_patterns("checkpoints"))
        yield run, {name: verb(run) for name, verb in VERBS.items()}


def test_intact_files_are_not_doubtful(whole):
    assert [name for name, (_, doubtful) in whole[1].items() if doubtful] == []


def flipped(content, part):
    changed = bytearray(content)
    changed[int(part * (len(content) - 1))] ^= 1 << int(97 * part) % 7
    return bytes(changed)


DAMAGE = {
    **{f"flipped at {part:.0%}": lambda c, part=part: flipped(c, part) for part in (0.0, 0.37, 0.61, 0.97)},
    "cut in half": lambda c: c[: len(c) // 2],
    "a line lost": lambda c: c[: c.rstrip(b"\n").rfind(b"\n") + 1],
    "emptied": lambda c: b"",
    "binary": lambda c: b"\xff\xfe\x00" * 20,
    "nested": lambda c: b'{"a":' * 5000,
    "null": lambda c: b"null",
    "odd": lambda c: b'{"env": 5, "settings": [], "method": null, "sampled": 3, "format": {}}',
}


def answer(verb, run):
    """The output of a command, whether it reports a doubtful file, and its error."""
    try:
        return *verb(run), ""
    except MENDABLE as error:
        return None, True, str(error)


def judge(run, expected, allowed_to_differ=()):
    """Every command has the same output as before, or reports an error. Returns how many reported one."""
    complaints = 0
    for name, verb in VERBS.items():
        found, doubtful, error = answer(verb, run)
        assert not error or str(run.parent) in error, f"{name} names no file: {error}"
        assert len(error) < 1000, f"{name} says too much: {error}"
        assert doubtful or found == expected[name][0] or name in allowed_to_differ, f"{name} is silently different"
        complaints += doubtful
    return complaints


@contextlib.contextmanager
def replaced(run, contents):
    """Replace the contents of some files; None removes one."""
    kept = {name: (run / name).read_bytes() for name in contents}
    for name, content in contents.items():
        (run / name).unlink()
        if content is not None:
            (run / name).write_bytes(content)
    try:
        yield
    finally:
        for name, content in kept.items():
            if (run / name).is_dir():
                (run / name).rmdir()
            (run / name).write_bytes(content)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named_or_makes_no_difference(whole, name):
    run, expected = whole
    content = (run / name).read_bytes()
    for how, damaged in DAMAGE.items():
        with replaced(run, {name: damaged(content)}):
            complaints = judge(run, expected)
        assert complaints or how.startswith("flipped"), f"{name}, {how}, and nobody noticed"


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_or_one_of_another_kind_or_run_is_named(whole, place, name):
    run, expected = whole
    with replaced(run, {name: None}):
        # A run of an earlier version has but one policy.
        judge(run, expected, ("reported",) if name in POLICIES else ())
        (run / name).mkdir()
        assert judge(run, expected)
    other = FILES[FILES.index(name) - 1]
    with replaced(run, {name: (run / other).read_bytes()}):
        assert judge(run, expected)
    with replaced(run, {name: (place / "1" / NAME.replace("seed0", "seed1") / name).read_bytes()}):
        # A whole config.json of another run is a config. All else then belongs to another run.
        assert judge(run, expected, ("config",)) >= (4 if name == "config.json" else 1)


@pytest.mark.parametrize("names", [LOGS, EVALUATED])
def test_consistent_files_of_another_run_are_named(whole, place, names):
    run, expected = whole
    other = place / "1" / NAME.replace("seed0", "seed1")
    with replaced(run, {name: (other / name).read_bytes() for name in names}):
        assert judge(run, expected)


def test_a_damaged_log_is_shown_up_to_the_damage(whole):
    run, _ = whole
    lines = (run / "metrics.csv").read_bytes().splitlines(keepends=True)
    with replaced(run, {"metrics.csv": b"".join([*lines[:2], lines[2].replace(b"1", b"2")])}):
        page, doubtful = reported(run)
        assert one_run(run).epochs == 1
    assert doubtful
    assert "row 1 does not fit its checksum" in page
    assert "Only its first 1 rows are shown" in page


def test_a_bad_run_among_good_ones_is_listed_with_its_reason(place, whole):
    run, _ = whole
    bad = run.parent / "bad"
    shutil.copytree(run, bad)
    (bad / "config.json").write_text("{")
    try:
        out = listed(run)[0].splitlines()
        page, doubtful = reported(run.parent)
    finally:
        shutil.rmtree(bad)
    assert any(line.split() == ["bad", "?/?", "BAD"] for line in out), "a mark in the table"
    (sentence,) = (line for line in out if line.startswith("BAD: "))
    assert sentence.startswith(f"BAD: {bad / 'config.json'} is damaged"), "the sentence below it, in whole words"
    assert any(line.split()[1:2] == ["2/2"] for line in out), "the good one is listed as ever"
    assert doubtful
    assert "bad/config.json is damaged" in page


def test_files_of_an_earlier_version_are_read_and_called_unverified(whole):
    import json

    run, _ = whole
    plain = json.loads((run / "config.json").read_text())
    del plain["checksum"]
    with replaced(run, {"config.json": json.dumps(plain).encode(), "metrics.csv.sha256": None}):
        assert "unverified" in listed(run)[0]
        page, _ = reported(run)
    assert "config.json, metrics.csv: unverified (written by an earlier version)." in page


@pytest.fixture
def resumable(place, tmp_path):
    return shutil.copytree(place / "0" / NAME, tmp_path / NAME)


def test_a_flipped_bit_in_an_old_row_is_found_when_the_run_continues(resumable):
    content = (resumable / "metrics.csv").read_bytes()
    at = content.index(b"\n") + 10
    (resumable / "metrics.csv").write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(BadFile, match=r"metrics.csv is damaged.*row 0 does not fit"):
        ascpo.resume(resumable, progress=False)


@slow("trains")
def test_files_that_the_checkpoint_proves_are_repaired_when_the_run_continues(resumable, place):
    """The checkpoint knows the log, and times decide no number."""
    (resumable / "metrics.csv.sha256").write_text("nothing\n")
    with (resumable / "metrics.csv").open("ab") as file:
        file.write(b"2,300,0.1")
    (resumable / "timing.csv").write_bytes((resumable / "timing.csv").read_bytes()[:-20])
    ascpo.resume(resumable, total_steps=3 * EPOCH, progress=False)
    before = (place / "0" / NAME / "metrics.csv").read_bytes()
    assert (resumable / "metrics.csv").read_bytes().startswith(before)
    rows = (resumable / "timing.csv").read_text().splitlines()
    assert len(rows) == 1 + 3
    assert rows[2].startswith("1,nan,nan")
    assert listed(resumable)[1] is False
