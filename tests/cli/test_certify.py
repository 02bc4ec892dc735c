import pytest

from tests.evaluation.untrained import untrained


def test_a_certificate_is_said_in_words_written_and_repeated(ascpo, tmp_path):
    run = untrained(tmp_path)
    said = " ".join(ascpo("certify", run, "--probability", 0.5, "--episodes", 40).split())
    assert "40 episodes of tests/Cart-v0 were planned" in said
    assert "CERTIFIED" in said
    assert "It does not mean" in said
    assert "Cantelli's p" in said
    assert "Confirmed" in ascpo("certify", "--check", run / "certificate.json")


def test_a_policy_that_is_not_safe_enough_ends_with_a_status_of_its_own(ascpo, tmp_path, capsys):
    run = untrained(tmp_path)
    with pytest.raises(SystemExit) as end:
        ascpo("certify", run, "--probability", 0.9, "--episodes", 40, "--limits", -1.0)
    assert end.value.code == 1
    assert "NOT certified" in capsys.readouterr().out


def test_two_policies_are_compared(ascpo, tmp_path):
    runs = untrained(tmp_path), untrained(tmp_path, seed=1)
    said = " ".join(ascpo("certify", *runs, "--probability", 0.5, "--episodes", 40).split())
    assert "No difference is shown" in said
    assert said.count("It means") == 1


def test_a_tampered_certificate_is_answered_with_a_sentence(ascpo, tmp_path):
    run = untrained(tmp_path)
    ascpo("certify", run, "--probability", 0.5, "--episodes", 40)
    place = run / "certificate.json"
    place.write_text(place.read_text().replace('"episodes": 40', '"episodes": 400'))
    with pytest.raises(SystemExit, match="was changed after it was made"):
        ascpo("certify", "--check", run)


def test_too_few_episodes_are_answered_with_how_many_it_takes(ascpo, tmp_path):
    with pytest.raises(SystemExit, match="at least 299"):
        ascpo("certify", untrained(tmp_path), "--probability", 0.99, "--episodes", 100)


def test_no_run_at_all_is_answered_with_a_sentence(ascpo):
    with pytest.raises(SystemExit) as end:
        ascpo("certify")
    assert end.value.code
