import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ascpo.evaluation import certify as certify_module
from ascpo.evaluation.bound import lower_bound
from ascpo.evaluation.certificate import BadCertificate, _digest, certificate_of, read_certificate
from ascpo.evaluation.certify import Checked, Request, certify, check, compare, world_of
from ascpo.evaluation.ledger import BadLedger
from ascpo.evaluation.looks import refuse_other_plan
from ascpo.evaluation.plan import CertificatePlan
from ascpo.runs.files import BadFile
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import Table
from ascpo.runs.trained_policy import read_policy
from tests.evaluation.test_metrics import episodes
from tests.evaluation.untrained import change_one_bit, untrained
from tests.slow import slow

EVIDENCE = sorted((Path(__file__).parents[2] / "benchmarks/results/evidence").glob("*-seed*"))
SOME = Request(probability=0.5, episodes=60)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return untrained(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def run(original, tmp_path):
    """A run without a certificate."""
    return shutil.copytree(original, tmp_path / original.name)


@pytest.fixture
def drawn(monkeypatch):
    """Episodes are drawn instead of played, one in ten of them violating: enough to count looks."""

    def draw(policy, plan, env, threads, on_progress=lambda _: None):
        on_progress(0)
        return episodes((np.random.default_rng(plan.seed).random((plan.episodes, 1)) < 0.1).astype(float))

    monkeypatch.setattr("ascpo.evaluation.certify._episodes", draw)


def rewrite(path, change):
    """Change a certificate and update its checksum, as a forger would."""
    plain = json.loads(path.read_text())
    change(plain)
    del plain["digest"]
    path.write_text(json.dumps(plain | {"digest": _digest(plain)}))


def test_a_policy_gets_a_certificate_that_can_be_repeated_from_scratch(run):
    """The point walks to and fro around the start, and the limit is at 1."""
    (found,), comparisons = certify([run], SOME)
    assert comparisons == []
    assert found.plan.limits == (0.0,)
    assert found.bound == lower_bound(found.violations, 60, found.plan.each)
    assert read_certificate(run / "certificate.json") == found
    assert check(run) == Checked(found)
    assert check(run / "certificate.json", run) == Checked(found)


def test_the_same_command_gives_the_same_bytes(run, drawn):
    certify([run], SOME)
    first = (run / "certificate.json").read_bytes()
    certify([run], SOME)
    assert (run / "certificate.json").read_bytes() == first


def test_another_policy_is_refused(tmp_path, drawn):
    run, other = untrained(tmp_path), untrained(tmp_path, seed=1)
    certify([run], SOME)
    (other / "certificate.json").write_bytes((run / "certificate.json").read_bytes())
    with pytest.raises(BadCertificate, match="another policy"):
        check(other)
    with pytest.raises(BadCertificate, match="another policy"):
        check(run / "certificate.json", other)


def test_a_policy_that_was_changed_by_one_bit_is_refused(run, drawn):
    certify([run], SOME)
    change_one_bit(run)
    with pytest.raises(BadCertificate, match="another policy"):
        check(run)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_forged_count_is_found_by_playing_again(tmp_path):
    """Checksum, statement and bounds are consistent, but the count is wrong."""
    run = untrained(tmp_path, shift=0.5)
    (found,), _ = certify([run], Request(probability=0.5, episodes=60, limits=(-1.0,)))
    assert found.violations == 60
    place = run / "certificate.json"
    kept = [replace(one, violations=0, bound=lower_bound(0, 60, found.plan.each)) for one in found.constraints]
    place.write_text(replace(found, violations=0, constraints=tuple(kept)).to_json())
    assert read_certificate(place).certified
    with pytest.raises(BadCertificate, match="60 of 60 episodes"):
        check(run)


def retold(found, violations, machine):
    """The certificate with another count, as if it had been made on that machine."""
    kept = [
        replace(one, violations=violations, bound=lower_bound(violations, found.plan.episodes, found.plan.each))
        for one in found.constraints
    ]
    run = replace(found.run, machine=machine)
    return replace(found, violations=violations, constraints=tuple(kept), run=run)


@pytest.mark.parametrize("machine", ["", "abacus"])
def test_a_machine_that_rounds_differently_accepts_counts_that_differ_by_chance(run, drawn, machine):
    (found,), _ = certify([run], SOME)
    other = retold(found, found.violations + 2, machine)
    (run / "certificate.json").write_text(other.to_json())
    checked = check(run)
    assert checked.differs_from == other
    assert checked.certificate.violations == found.violations, "what the repetition shows"


def test_the_machine_that_made_a_certificate_must_repeat_every_figure(run, drawn):
    (found,), _ = certify([run], SOME)
    assert found.run.machine
    (run / "certificate.json").write_text(retold(found, found.violations + 2, found.run.machine).to_json())
    with pytest.raises(BadCertificate, match="not confirmed"):
        check(run)


def test_a_count_that_differs_by_more_than_chance_is_refused_on_any_machine(run, drawn):
    (found,), _ = certify([run], replace(SOME, episodes=600))
    assert found.violations > 30
    (run / "certificate.json").write_text(retold(found, 0, "abacus").to_json())
    with pytest.raises(BadCertificate, match="not confirmed"):
        check(run)


def test_a_certificate_with_a_chosen_seed_is_refused(run, drawn):
    certify([run], SOME)
    rewrite(run / "certificate.json", lambda plain: plain.update(seed=plain["seed"] + 1))
    with pytest.raises(BadCertificate):
        check(run)


def test_every_look_at_a_run_spends_its_share_of_the_error(run, drawn):
    """Another probability or confidence plays the same episodes: that is the same look."""
    found = [certify([run], request)[0][0] for request in (SOME, replace(SOME, probability=0.4, confidence=0.9))]
    assert [one.plan.look for one in found] == [1, 1]
    found = [certify([run], replace(SOME, episodes=episodes))[0][0] for episodes in (61, 62, 60)]
    assert [one.plan.look for one in found] == [2, 3, 1]
    assert found[1].plan.each == pytest.approx(1 - 0.05 * 6 / (np.pi**2 * 9))
    assert {read_certificate(path).plan.look for path in run.glob("certificate*.json")} == {1, 2, 3}
    assert check(run / "certificate.json") == Checked(found[2])


def test_a_policy_that_differs_in_one_bit_is_another_look_at_the_same_run(run, drawn):
    (first,), _ = certify([run], SOME)
    change_one_bit(run)
    (second,), _ = certify([run], SOME)
    assert first.plan.seed != second.plan.seed
    assert (first.plan.look, second.plan.look) == (1, 2)


def test_an_interrupted_look_counts(run, drawn):

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        certify([run], SOME, on_progress=stop)
    assert certify([run], replace(SOME, episodes=61))[0][0].plan.look == 2
    assert certify([run], SOME)[0][0].plan.look == 1, "the same episodes, at last played to their end"


def test_a_repeated_look_with_other_results_does_not_replace_the_first_count(run, monkeypatch):
    """An environment with its own randomness could be tried until it is lucky."""
    rng = np.random.default_rng(0)
    draw = lambda *_: episodes((rng.random((60, 1)) < 0.1).astype(float))  # noqa: E731
    monkeypatch.setattr("ascpo.evaluation.certify._episodes", draw)
    certify([run], SOME)
    first = (run / "certificate.json").read_bytes()
    with pytest.raises(BadLedger, match="The first count stands"):
        certify([run], SOME)
    assert (run / "certificate.json").read_bytes() == first


def test_certificates_of_format_1_count_as_looks(run, drawn):
    (found,), _ = certify([run], SOME)
    (run / "certificates.jsonl").unlink()
    as_format_1(run / "certificate.json", found)
    (second,), _ = certify([run], SOME)
    assert (second.plan.look, second.run.earlier) == (2, 1)
    assert len(list(run.glob("certificate*.json"))) == 2
    assert check(run) == Checked(second)


def as_format_1(place, found, **changes):
    """The certificate that an earlier version would have written, or a forger."""
    plan = replace(found.plan, format=1, **changes)
    again = certificate_of(plan, certify_module._episodes(read_policy(place.parent), plan, plan.env, 0))
    place.write_text(again.to_json())
    return again


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_certificate_of_format_1_is_repeated_by_its_own_rules(run):
    (found,), _ = certify([run], SOME)
    first = as_format_1(run / "certificate.json", found, look=2)
    assert first.plan.each == pytest.approx(0.975)
    assert check(run) == Checked(first)


def test_certificates_of_format_1_need_no_more_episodes_than_format_1_did(run, drawn):
    """0.95^59 is below 0.05, and above what the first look of format 2 may spend."""
    (found,), _ = certify([run], SOME)
    with pytest.raises(BadSetting, match="at least 69"):
        certify([run], replace(SOME, probability=0.95, episodes=59))
    first = as_format_1(run / "certificate.json", found, probability=0.95, episodes=59, num_envs=5)
    assert check(run) == Checked(first)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("name", "value"), [("world", "gymnasium 1.0  "), ("num_envs", 5), ("k", 3.0), ("env", "x")])
def test_a_plan_that_cannot_be_derived_is_refused_before_an_episode_is_played(run, drawn, version, name, value):
    """If the seed followed from such values, one could try them until the scenes are lucky."""
    (found,), _ = certify([run], SOME)
    forged = replace(found, plan=replace(found.plan, **{name: value, "format": version}))
    kept = [replace(one, bound=lower_bound(one.violations, 60, forged.plan.each)) for one in found.constraints]
    (run / "certificate.json").write_text(replace(forged, constraints=tuple(kept)).to_json())
    with pytest.raises(
        BadCertificate,
        match=r"another world: gymnasium 1\.0  \. Here it is gymnasium" if name == "world" else f"plan has {name} = ",
    ):
        check(run)


def test_a_limit_of_minus_zero_has_the_same_scenes_as_zero(run, drawn):
    (found,), _ = certify([run], replace(SOME, limits=(-0.0,)))
    assert certify([run], replace(SOME, limits=(0,)))[0] == [found]


@pytest.mark.parametrize("change", [{"limits": (np.nan,)}, {"limits": (np.inf,)}, {"probability": np.nan}])
def test_arguments_that_are_not_finite_are_refused_and_cost_no_look(run, drawn, change):
    with pytest.raises(ValueError, match=next(iter(change))):
        certify([run], replace(SOME, **change))
    assert not (run / "certificates.jsonl").exists()


def test_the_run_is_part_of_the_certificate(run, drawn):
    (run / "metrics.csv").write_text("Epoch,EpRet\n0,1.5\n1,2.5\n")
    (found,), _ = certify([run], SOME)
    (run / "metrics.csv").write_text("Epoch,EpRet\n0,1.5\n1,9.5\n")
    assert check(run) == Checked(found), "the policy is that of the first epoch"
    (run / "metrics.csv").write_text("Epoch,EpRet\n0,1.6\n1,2.5\n")
    with pytest.raises(BadCertificate, match="its log is"):
        check(run)
    (run / "metrics.csv").write_text("Epoch,EpRet\n")
    with pytest.raises(ValueError, match=r"metrics\.csv has fewer rows"):
        check(run)


def test_a_damaged_log_is_refused_before_a_look_is_spent(run, drawn):
    table = Table(run / "metrics.csv")
    for epoch in range(2):
        table.write({"Epoch": epoch, "EpRet": 1.5})
    table.close()
    log = (run / "metrics.csv").read_text()
    (run / "metrics.csv").write_text(log.replace("1.5", "1.6", 1))
    with pytest.raises(BadFile, match=r"metrics\.csv is damaged"):
        certify([run], Request(0.5, 0.9, 20))
    assert not (run / "certificates.jsonl").exists()


def test_a_policy_with_another_config_than_its_run_is_refused(tmp_path, drawn):
    run, other = untrained(tmp_path), untrained(tmp_path, seed=1)
    (run / "policy.safetensors").write_bytes((other / "policy.safetensors").read_bytes())
    with pytest.raises(ValueError, match="belongs to another run"):
        certify([run], SOME)


def test_without_the_runs_directory_the_number_of_looks_cannot_be_checked(tmp_path, drawn):
    run, alone = untrained(tmp_path / "a"), tmp_path / "alone"
    (found,), _ = certify([run], SOME)
    alone.mkdir()
    for name in ("certificate.json", "policy.safetensors"):
        (alone / name).write_bytes((run / name).read_bytes())
    checked = check(alone / "certificate.json", alone / "policy.safetensors")
    assert checked.certificate == found
    assert "The certificate says that this was look 1" in checked.unseen[0]


def test_a_certificate_without_an_entry_in_the_ledger_is_refused(run, drawn):
    certify([run], SOME)
    first = (run / "certificates.jsonl").read_text()
    certify([run], replace(SOME, episodes=61))
    (run / "certificates.jsonl").write_text(first)
    for again in (lambda: check(run), lambda: certify([run], replace(SOME, episodes=62))):
        with pytest.raises(BadLedger, match=r"certificates\.jsonl does not have look 2"):
            again()
    (run / "certificates.jsonl").unlink()
    for again in (lambda: check(run), lambda: certify([run], replace(SOME, episodes=62))):
        with pytest.raises(BadLedger, match=r"certificates\.jsonl is missing"):
            again()


def test_a_certificate_that_claims_an_earlier_look_is_refused(run, drawn):
    """All its figures are right for look 1."""
    certify([run], SOME)
    (second,), _ = certify([run], replace(SOME, episodes=61))
    plan = replace(second.plan, look=1)
    kept = [replace(one, bound=lower_bound(one.violations, 61, plan.each)) for one in second.constraints]
    (run / "certificate.json").write_text(replace(second, plan=plan, constraints=tuple(kept)).to_json())
    with pytest.raises(BadLedger, match="does not have look 1"):
        check(run)


@slow("plays")
def test_several_policies_are_certified_together_and_compared_on_the_same_scenes(tmp_path):
    runs = [untrained(tmp_path), untrained(tmp_path, seed=1, shift=0.3)]
    found, (comparison,) = certify(runs, SOME)
    assert found[0].plan.seed == found[1].plan.seed
    assert found[0].plan.each == pytest.approx(1 - 0.025 * 6 / np.pi**2)
    assert comparison.only_second - comparison.only_first == found[1].violations - found[0].violations
    assert comparison.level == pytest.approx(0.05 * 6 / np.pi**2)
    assert check(runs[1], together=runs) == Checked(found[1])
    assert "1 other policy was certified with it" in check(runs[1]).unseen[0]


def test_policies_with_different_limits_or_named_twice_are_refused(tmp_path, drawn):
    run, other = untrained(tmp_path), untrained(tmp_path, seed=1, limits=(0.5,))
    with pytest.raises(BadSetting, match="--limits"):
        certify([run, other], SOME)
    with pytest.raises(BadSetting, match="twice"):
        certify([run, run], SOME)


def test_too_few_episodes_are_refused_before_any_is_played(tmp_path, drawn):
    with pytest.raises(BadSetting, match="at least 348"):
        certify([untrained(tmp_path)], Request(probability=0.99, episodes=200))


def test_a_difference_is_shown_by_scenes_in_which_only_one_fails():
    """Ten against none: p = 2·2⁻¹⁰. Two against one shows nothing."""
    safe, ten = np.zeros((100, 1)), np.zeros((100, 1))
    ten[:10] = 1.0
    (found,) = compare(["a", "b"], [episodes(safe), episodes(ten)], [0.05] * 2)
    assert (found.only_first, found.only_second) == (0, 10)
    assert found.p_value == pytest.approx(2 * 0.5**10)
    assert found.safer == "a"
    one, two = np.zeros((100, 1)), np.zeros((100, 1))
    one[0], two[1:3] = 1.0, 1.0
    (found,) = compare(["a", "b"], [episodes(one), episodes(two)], [0.05] * 2)
    assert found.safer is None


def test_many_pairs_share_the_error():
    same = [episodes(np.zeros((10, 1)))] * 3
    found = compare(["a", "b", "c"], same, [0.06] * 3)
    assert [one.level for one in found] == pytest.approx([0.02] * 3)
    assert all(one.safer is None for one in found)


def test_a_world_is_identified_by_its_model():
    assert world_of("Point-8-Hazard") != world_of("Point-8-Pillar")
    assert "mujoco" in world_of("Point-8-Hazard")
    assert "gymnasium" in world_of("Pendulum-v1")


def test_the_model_of_stored_certificates_is_unchanged():
    """How fast a robot is simulated, and how suites spell its obstacles, is no part of the world."""
    assert world_of("Point-8-Hazard").endswith("model f989f5c0de96")


@pytest.mark.parametrize("run", EVIDENCE, ids=lambda path: path.name)
def test_the_plans_of_stored_certificates_can_be_derived_again(run):
    """They have format 1. Their episodes are not played here."""
    plan = read_certificate(run / "certificate.json").plan
    assert plan.format == 1
    assert certify_module._derived(plan, read_policy(run)) == plan
    with pytest.raises(BadCertificate, match="num_envs = 99, but its request gives 100"):
        refuse_other_plan(run, replace(plan, num_envs=99), certify_module._derived(plan, read_policy(run)))


def test_a_plan_of_format_2_keeps_its_scenes():
    """Numbers of the first version that had it."""
    plan = CertificatePlan(env="Point-8-Hazard", policy="a", family=("a",), cost_names=("hazard",), limits=(0.0,))
    assert plan.experiment == "035671ebd9da65085af29e2e832ea8e7daaa1a324b42615a2611f782a56b433a"
    assert plan.seed == int(plan.experiment[:8], 16)
