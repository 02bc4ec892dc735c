import json
from dataclasses import replace

import numpy as np
import pytest

from ascpo.evaluation.binding import RunBinding
from ascpo.evaluation.bound import lower_bound
from ascpo.evaluation.certificate import BadCertificate, Certificate, certificate_of, theory_of
from ascpo.evaluation.plan import CertificatePlan
from ascpo.runs.serialization import BadSetting
from ascpo.seeding import Purpose, seed_of
from tests.evaluation.test_metrics import episodes

FIRST = 6 / np.pi**2
"""The share of the error that the first look spends."""
PLAN = CertificatePlan(
    env="Point-1-Hazard",
    policy="aa",
    family=("aa",),
    cost_names=("hazard",),
    limits=(0.0,),
    probability=0.9,
    episodes=100,
)


def made(violations=3, plan=PLAN):
    return certificate_of(plan, episodes([[0.5]] * violations + [[0.0]] * (plan.episodes - violations)))


def test_a_certificate_counts_episodes_and_bounds_their_probability():
    found = made(3)
    assert found.violations == 3
    assert found.bound == lower_bound(3, 100, 1 - 0.05 * FIRST)
    assert found.certified
    assert not made(20).certified


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"actions": "means"}, "actions='means' is not known. Did you mean mean"),
        ({"limits_on": "states"}, "limits_on='states' is not known. Did you mean state"),
        ({"episodes": 100.5}, "episodes=100.5 must be a whole number"),
    ],
)
def test_a_plan_that_no_check_could_read_again_is_refused(wrong, sentence):
    with pytest.raises(BadSetting, match=sentence):
        replace(PLAN, **wrong)


def test_348_clean_episodes_certify_99_percent():
    """0.99^348 is just below 0.05·6/π²."""
    plan = CertificatePlan(**{**vars(PLAN), "probability": 0.99, "episodes": 348})
    assert made(0, plan).certified
    assert not made(1, plan).certified
    with pytest.raises(BadSetting, match="at least 348"):
        CertificatePlan(**{**vars(PLAN), "probability": 0.99, "episodes": 347})


def test_the_plan_says_how_many_violations_it_allows():
    assert made(PLAN.allowed).certified
    assert not made(PLAN.allowed + 1).certified


def test_the_seed_depends_on_the_plan_but_not_on_the_requested_probability():
    assert CertificatePlan(**{**vars(PLAN), "probability": 0.8}).seed == PLAN.seed
    assert CertificatePlan(**{**vars(PLAN), "episodes": 101}).seed != PLAN.seed
    assert CertificatePlan(**{**vars(PLAN), "family": ("ab",)}).seed != PLAN.seed
    assert {seed for seed, _ in PLAN.origins} == {seed_of(Purpose.CERTIFICATE, PLAN.seed)}


def test_policies_that_are_certified_together_share_seeds_and_error():
    both = [CertificatePlan(**{**vars(PLAN), "policy": name, "family": ("aa", "bb")}) for name in ("aa", "bb")]
    assert both[0].seed == both[1].seed
    assert both[0].each == pytest.approx(1 - 0.025 * FIRST)
    assert made(3, both[0]).bound < made(3).bound


def test_a_later_look_costs_more():
    assert replace(PLAN, look=5).each == pytest.approx(1 - 0.05 * FIRST / 25)


def test_format_1_divides_the_error_by_the_number_of_looks():
    assert replace(PLAN, look=5, format=1).each == pytest.approx(0.99)


def test_the_seed_depends_only_on_what_decides_the_episodes():
    """The seed contains what decides the episodes. The check derives the model and the environments itself."""
    decides = {"env": "Point-2-Hazard", "family": ("aa", "bb"), "cost_names": ("ghost",), "limits": (0.1,)}
    decides |= {"actions": "mean", "episodes": 101, "limits_on": "episode"}
    for name, value in decides.items():
        assert replace(PLAN, **{name: value}).seed != PLAN.seed, name
    free = {"world": "  ", "num_envs": 7, "k": 1.0, "probability": 0.8, "confidence": 0.8, "look": 2}
    for name, value in free.items():
        assert replace(PLAN, **{name: value}).seed == PLAN.seed, name
    assert vars(PLAN).keys() - decides.keys() - free.keys() == {"policy", "seeding", "format"}


@pytest.mark.parametrize("name", ["probability", "confidence", "k", "limits"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_arguments_that_are_not_finite_numbers_are_refused(name, value):
    with pytest.raises(BadSetting, match=name):
        replace(PLAN, **{name: (value,) if name == "limits" else value})


def test_costs_that_are_not_finite_numbers_are_not_certified():
    with pytest.raises(ValueError, match="not finite"):
        certificate_of(PLAN, episodes([[np.nan]] + [[0.0]] * 99))


def test_constraints_are_bounded_together():
    plan = CertificatePlan(**{**vars(PLAN), "cost_names": ("hazard", "pillar"), "limits": (0.0, 0.0)})
    found = certificate_of(plan, episodes([[0.5, 0.0]] * 2 + [[0.0, 0.5]] * 3 + [[0.0, 0.0]] * 95))
    assert found.violations == 5
    assert [one.violations for one in found.constraints] == [2, 3]
    assert found.constraints[0].bound == lower_bound(2, 100, 1 - 0.025 * FIRST)


def test_episodes_that_were_not_planned_are_refused():
    with pytest.raises(ValueError, match="planned"):
        certificate_of(PLAN, episodes([[0.0]] * 99))


def test_a_certificate_is_the_same_after_writing_and_reading():
    assert Certificate.from_json(made(3).to_json()) == made(3)
    assert "policy" not in json.loads(made(3).to_json())["run"], "so that those of earlier versions stay valid"


def test_the_statement_names_a_foreign_policy_and_how_to_repeat_its_certificate():
    found = replace(made(3), run=RunBinding(policy="sb3:ppo.zip"))
    assert Certificate.from_json(found.to_json()) == found
    words = " ".join(found.statement)
    assert "with actions given by sb3:ppo.zip" in words
    assert "This was look 1 at sb3:ppo.zip" in words
    assert "`ascpo certify --check` cannot find it" in words
    assert "config" not in words, "it has none"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("violations",), 2),
        (("bound",), 0.99),
        (("certified",), False),
        (("plan", "episodes"), 200),
        (("plan", "limits"), [0.1]),
        (("plan", "confidence"), 0.9),
        (("plan", "policy"), "bb"),
        (("seed",), 1),
        (("constraints", 0, "violations"), 0),
        (("constraints", 0, "name"), "ghost"),
        (("constraints", 0, "limit"), 0.5),
        (("look",), 2),
        (("plan", "look"), 2),
        (("run", "chain"), "beef"),
        (("statement", 0), "All is well."),
    ],
)
@pytest.mark.parametrize("with_new_digest", [False, True])
def test_a_changed_certificate_is_refused(path, value, with_new_digest):
    """Even with a new checksum its parts are inconsistent, and its run is compared."""
    if with_new_digest and path[0] == "run":
        return
    from ascpo.evaluation.certificate import _digest

    plain = json.loads(made(3).to_json())
    at = plain
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    if with_new_digest:
        plain["digest"] = _digest({name: item for name, item in plain.items() if name != "digest"})
    with pytest.raises(BadCertificate):
        Certificate.from_json(json.dumps(plain))


@pytest.mark.parametrize(("error", "is_read"), [(1e-15, True), (1e-6, False)])
def test_a_certificate_of_another_processor_may_differ_in_the_last_digits_of_its_bounds(error, is_read):
    from ascpo.evaluation.certificate import _digest

    plain = made(3).plain()
    plain["bound"] *= 1 + error
    plain["constraints"][0]["bound"] *= 1 - error
    text = json.dumps(plain | {"digest": _digest(plain)})
    if is_read:
        assert Certificate.from_json(text).bound == made(3).bound
        return
    with pytest.raises(BadCertificate, match="do not agree"):
        Certificate.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other", "digest": ""}'])
def test_a_file_that_is_no_certificate_is_refused(text):
    with pytest.raises(BadCertificate, match="not a certificate"):
        Certificate.from_json(text)


def test_the_statement_says_what_was_shown_and_never_rounds_up():
    words = " ".join(made(3).statement)
    assert f"{made(3).bound:.6f}"[:6] in words
    assert "CERTIFIED" in words
    assert "NOT certified" in " ".join(made(20).statement)
    assert "does not mean" in words


def test_the_theoretical_bound_is_fitted_on_one_half_and_tested_on_the_other():
    """0 and 1 alternate: the half that the bound is fitted on has mean 0 and no variance, so the bound is 0."""
    found = theory_of(np.array([0.0, 1.0] * 50), 0.0, PLAN)
    assert (found.mean, found.variance, found.bound, found.promised) == (0.0, 0.0, 0.0, 1.0)
    assert found.within == 0.0
    assert not found.held


def test_the_theoretical_bound_holds_if_both_halves_are_alike():
    """Of ones and zeros with even chances: ℰ = ½, 𝒱 = ¼, ℬ₇ = 2¼, p = 1 − 1/(1 + 49/4)."""
    found = theory_of(np.array([0.0, 0.0, 1.0, 1.0] * 50), 0.0, PLAN)
    assert found.bound == pytest.approx(2.25)
    assert found.promised == pytest.approx(1 - 1 / (1 + 49 / 4))
    assert found.within == 1.0
    assert found.held
    assert found.at_the_limit == 0.0


def test_cantelli_says_something_of_a_limit_above_the_mean():
    """w − ℰ = 1, 𝒱 = ¼: p = 1/(1 + ¼)."""
    assert theory_of(np.array([0.0, 0.0, 1.0, 1.0] * 50), 1.5, PLAN).at_the_limit == pytest.approx(0.8)


def test_a_limit_on_the_sum_of_costs_has_its_own_statement_and_scenes():
    of_sum = replace(PLAN, limits=(25.0,), limits_on="episode")
    of_states = replace(PLAN, limits=(25.0,))
    words = " ".join(made(3, of_sum).statement)
    assert "the sum of the costs broke hazard ≤ 25" in words
    assert "keeps hazard ≤ 25 in the sum of its costs" in words
    assert "in every state" in " ".join(made(3, of_states).statement)
    assert of_sum.experiment != of_states.experiment
    assert Certificate.from_json(made(3, of_sum).to_json()) == made(3, of_sum)


def test_certificates_of_format_1_keep_their_checksum_and_statement():
    first = replace(PLAN, format=1)
    assert "limits_on" not in first.plain()
    assert first.plain()["looks"] == 1
    old = made(3, first)
    assert Certificate.from_json(old.to_json()) == old
    assert "look" not in json.loads(old.to_json())
    assert not any("look" in line.split() for line in old.statement)


def test_the_statement_names_the_look_and_what_the_confidence_covers():
    words = " ".join(replace(made(3, replace(PLAN, look=3)), run=RunBinding(earlier=1)).statement)
    assert "This was look 3 of this run" in words
    assert "hold together with confidence 0.95; this one by itself has 0.9966" in words
    assert "1 certificate of the earlier format" in words
    assert "at most 5 of 100 runs would ever get a bound above the truth" in words
    assert "deleted the list of looks" in words
