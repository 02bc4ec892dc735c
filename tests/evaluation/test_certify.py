import json

import numpy as np
import pytest

from ascpo.evaluation.bound import lower_bound
from ascpo.evaluation.certificate import BadCertificate, _digest, read_certificate
from ascpo.evaluation.certify import Request, certify, check, compare, world_of
from ascpo.runs.serialization import BadSetting
from tests.evaluation.test_metrics import episodes
from tests.evaluation.untrained import change_one_bit, untrained

SOME = Request(probability=0.5, episodes=60)


def rewrite(path, change):
    """Change a certificate, and make its checksum anew, as a forger would."""
    plain = json.loads(path.read_text())
    change(plain)
    del plain["digest"]
    path.write_text(json.dumps(plain | {"digest": _digest(plain)}))


def test_a_policy_gets_a_certificate_that_can_be_repeated_from_scratch(tmp_path):
    """It walks to and fro about the start, and the limit is at 1."""
    run = untrained(tmp_path)
    (found,), comparisons = certify([run], SOME)
    assert comparisons == []
    assert found.plan.limits == (0.0,)
    assert found.bound == lower_bound(found.violations, 60, 0.95)
    assert read_certificate(run / "certificate.json") == found
    assert check(run) == found
    assert check(run / "certificate.json", run) == found


def test_the_same_command_gives_the_same_bytes(tmp_path):
    run = untrained(tmp_path)
    certify([run], SOME)
    first = (run / "certificate.json").read_bytes()
    certify([run], SOME)
    assert (run / "certificate.json").read_bytes() == first


def test_another_policy_is_refused(tmp_path):
    run, other = untrained(tmp_path), untrained(tmp_path, seed=1)
    certify([run], SOME)
    (other / "certificate.json").write_bytes((run / "certificate.json").read_bytes())
    with pytest.raises(BadCertificate, match="another policy"):
        check(other)
    with pytest.raises(BadCertificate, match="another policy"):
        check(run / "certificate.json", other)


def test_a_policy_that_was_changed_by_one_bit_is_refused(tmp_path):
    run = untrained(tmp_path)
    certify([run], SOME)
    change_one_bit(run)
    with pytest.raises(BadCertificate, match="another policy"):
        check(run)


def test_a_forged_count_is_found_by_playing_again(tmp_path):
    """Everything agrees, checksum and words and bounds; only, it did not happen."""
    run = untrained(tmp_path, shift=0.5)
    (found,), _ = certify([run], Request(probability=0.5, episodes=60, limits=(-1.0,)))
    assert found.violations == 60
    place = run / "certificate.json"
    forged = type(found)(found.plan, 0, tuple(type(one)(**{**vars(one), "violations": 0}) for one in found.constraints))
    forged = type(found)(
        found.plan,
        0,
        tuple(type(one)(**{**vars(one), "bound": lower_bound(0, 60, 0.95)}) for one in forged.constraints),
    )
    place.write_text(forged.to_json())
    assert read_certificate(place).certified
    with pytest.raises(BadCertificate, match="60 of 60 episodes"):
        check(run)


def test_a_chosen_seed_is_not_believed(tmp_path):
    run = untrained(tmp_path)
    certify([run], SOME)
    rewrite(run / "certificate.json", lambda plain: plain.update(seed=plain["seed"] + 1))
    with pytest.raises(BadCertificate):
        check(run)


def test_another_plan_for_the_same_policy_has_to_be_paid_for(tmp_path):
    run = untrained(tmp_path)
    certify([run], SOME)
    certify([run], Request(probability=0.4, confidence=0.9, episodes=60))
    with pytest.raises(BadSetting, match="--looks 2"):
        certify([run], Request(probability=0.5, episodes=61))
    (found,), _ = certify([run], Request(probability=0.5, episodes=61, looks=2))
    assert found.plan.each == pytest.approx(0.975)
    with pytest.raises(BadSetting, match="--looks 3"):
        certify([run], Request(probability=0.5, episodes=62, looks=2))
    assert len(list(run.glob("certificate*.json"))) == 2


def test_several_policies_are_certified_together_and_compared_on_the_same_scenes(tmp_path):
    runs = [untrained(tmp_path), untrained(tmp_path, seed=1, shift=0.3)]
    found, (comparison,) = certify(runs, SOME)
    assert found[0].plan.seed == found[1].plan.seed
    assert found[0].plan.each == pytest.approx(0.975)
    assert comparison.only_second - comparison.only_first == found[1].violations - found[0].violations
    assert check(runs[1]) == found[1]


def test_policies_of_different_limits_or_named_twice_are_refused(tmp_path):
    run, other = untrained(tmp_path), untrained(tmp_path, seed=1, limits=(0.5,))
    with pytest.raises(BadSetting, match="--limits"):
        certify([run, other], SOME)
    with pytest.raises(BadSetting, match="twice"):
        certify([run, run], SOME)


def test_too_few_episodes_are_refused_before_any_is_played(tmp_path):
    with pytest.raises(BadSetting, match="at least 299"):
        certify([untrained(tmp_path)], Request(probability=0.99, episodes=200))


def test_a_difference_is_shown_by_scenes_in_which_only_one_fails():
    """Ten against none: p = 2·2⁻¹⁰. Two against one shows nothing."""
    safe, ten = np.zeros((100, 1)), np.zeros((100, 1))
    ten[:10] = 1.0
    (found,) = compare(["a", "b"], [episodes(safe), episodes(ten)], 0.05)
    assert (found.only_first, found.only_second) == (0, 10)
    assert found.p_value == pytest.approx(2 * 0.5**10)
    assert found.safer == "a"
    one, two = np.zeros((100, 1)), np.zeros((100, 1))
    one[0], two[1:3] = 1.0, 1.0
    (found,) = compare(["a", "b"], [episodes(one), episodes(two)], 0.05)
    assert found.safer is None


def test_many_pairs_share_the_error():
    same = [episodes(np.zeros((10, 1)))] * 3
    found = compare(["a", "b", "c"], same, 0.06)
    assert [one.level for one in found] == pytest.approx([0.02] * 3)
    assert all(one.safer is None for one in found)


def test_a_world_is_known_by_its_model():
    assert world_of("Point-8-Hazard") != world_of("Point-8-Pillar")
    assert "mujoco" in world_of("Point-8-Hazard")
    assert "gymnasium" in world_of("Pendulum-v1")
