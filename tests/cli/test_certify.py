import contextlib
import io
import shutil
from dataclasses import replace

import pytest

from ascpo.cli import certify
from ascpo.evaluation.certificate import read_certificate
from ascpo.evaluation.certify import Checked
from tests.evaluation.untrained import change_one_bit, untrained
from tests.slow import slow


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A run with a certificate, and the output of the command."""
    run = untrained(tmp_path_factory.mktemp("runs"))
    with contextlib.redirect_stdout(io.StringIO()) as said:
        certify.main([str(run), "--probability", "0.5", "--episodes", "40"])
    return run, " ".join(said.getvalue().split())


def test_a_certificate_is_explained_in_words_written_and_repeated(ascpo, certified):
    run, said = certified
    assert "40 episodes of tests/Cart-v0 were planned" in said
    assert "CERTIFIED" in said
    assert "It does not mean" in said
    assert "Cantelli's p" in said
    assert "This was look 1 of this run" in said
    checked = ascpo("certify", "--check", run / "certificate.json")
    assert "Confirmed" in checked
    assert "Not confirmed" not in checked


def test_certificates_of_several_policies_of_a_run_are_repeated_by_the_commands_that_are_printed(ascpo, tmp_path):
    run = untrained(tmp_path)
    policy = run / "policy-last.safetensors"
    shutil.copy(run / "policy.safetensors", policy)
    change_one_bit(run)
    said = ascpo("certify", policy, run, "--probability", "0.2", "--episodes", "8")
    places = [line.removeprefix("Certificate: ") for line in said.splitlines() if line.startswith("Certificate: ")]
    commands = [line.split()[3:] for line in said.splitlines() if line.startswith("Repeat it: ascpo ")]
    assert [command[:3] for command in commands] == [["certify", "--check", place] for place in places]
    assert [command[3:] for command in commands] == [["--policy", str(policy)], []]
    for command in commands:
        assert "Confirmed: the repeated episodes give the same figures." in " ".join(ascpo(*command).split())


@pytest.mark.parametrize("flag", ["--probability", "--limits_on", "--episodes=3000"])
def test_a_check_refuses_flags_of_a_new_certificate(ascpo, capsys, tmp_path, flag):
    with pytest.raises(SystemExit):
        ascpo(
            "certify", "--check", tmp_path, *([flag] if "=" in flag else [flag, "0.5" if "prob" in flag else "state"])
        )
    named = flag.partition("=")[0].replace("_", "-")
    assert f"Leave out {named}, or leave out --check." in capsys.readouterr().err


def test_a_check_of_a_mistyped_run_names_the_runs_that_there_are(ascpo, capsys, certified):
    run, _ = certified
    with pytest.raises(SystemExit):
        ascpo("certify", "--check", f"{run}x")
    assert f"{run}x holds no run. Did you mean {run}?" in capsys.readouterr().err


def test_a_check_without_the_run_says_what_it_could_not_see(ascpo, certified, tmp_path):
    run, _ = certified
    for name in ("certificate.json", "policy.safetensors"):
        shutil.copy(run / name, tmp_path)
    alone = "--check", tmp_path / "certificate.json", "--policy", tmp_path / "policy.safetensors"
    said = " ".join(ascpo("certify", *alone).split())
    assert "Not confirmed: The certificate says that this was look 1" in said
    assert "Confirmed: the repeated episodes give the same figures." in said


def test_a_check_on_another_kind_of_machine_says_both_counts(ascpo, certified, monkeypatch):
    run, _ = certified
    claimed = read_certificate(run / "certificate.json")
    differing = Checked(claimed, differs_from=replace(claimed, violations=claimed.violations + 1))
    monkeypatch.setattr("ascpo.cli.certified.check", lambda *_, **__: differing)
    said = " ".join(ascpo("certify", "--check", run).split())
    assert f"Here {claimed.violations} episodes violate a limit" in said
    assert f"The certificate says {claimed.violations + 1}" in said


def test_the_former_flag_looks_is_refused_with_a_message(ascpo, tmp_path):
    for words in (["--looks", "2"], ["--looks=2"]):
        with pytest.raises(SystemExit, match="Leave it out: every look at a run is counted"):
            ascpo("certify", tmp_path, *words)


@pytest.mark.parametrize("words", [("--limits", "nan"), ("--limits", "inf"), ("--confidence", "nan")])
def test_arguments_that_are_not_numbers_are_refused_with_a_message(ascpo, tmp_path, words):
    with pytest.raises(SystemExit, match=words[0].removeprefix("--")):
        ascpo("certify", untrained(tmp_path), *words)


def test_a_policy_that_is_not_safe_enough_has_its_own_exit_status(ascpo, tmp_path, capsys):
    run = untrained(tmp_path)
    with pytest.raises(SystemExit) as end:
        ascpo("certify", run, "--probability", 0.9, "--episodes", 40, "--limits", -1.0)
    assert end.value.code == 1
    assert "NOT certified" in capsys.readouterr().out


@slow("tests/evaluation/test_certify.py always compares them")
def test_two_policies_are_compared(ascpo, tmp_path):
    runs = untrained(tmp_path), untrained(tmp_path, seed=1)
    said = " ".join(ascpo("certify", *runs, "--probability", 0.5, "--episodes", 40).split())
    assert "No difference is shown" in said
    assert said.count("It means") == 1


def test_a_tampered_certificate_is_refused_with_a_message(ascpo, certified, tmp_path):
    run = shutil.copytree(certified[0], tmp_path / "run")
    place = run / "certificate.json"
    place.write_text(place.read_text().replace('"episodes": 40', '"episodes": 400'))
    with pytest.raises(SystemExit, match="was changed after it was made"):
        ascpo("certify", "--check", run)


def test_too_few_episodes_are_refused_with_the_number_that_is_enough(ascpo, tmp_path):
    with pytest.raises(SystemExit, match="at least 348"):
        ascpo("certify", untrained(tmp_path), "--probability", 0.99, "--episodes", 100)


def test_certify_without_a_run_is_refused(ascpo):
    with pytest.raises(SystemExit) as end:
        ascpo("certify")
    assert end.value.code
