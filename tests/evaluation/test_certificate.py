import json
from dataclasses import replace

import numpy as np
import pytest

from ascpo.evaluation.bound import lower_bound
from ascpo.evaluation.certificate import (
    BadCertificate,
    Certificate,
    CertificatePlan,
    certificate_of,
    statement,
    theory_of,
)
from ascpo.runs.serialization import BadSetting
from ascpo.seeding import Purpose, seed_of
from tests.evaluation.test_metrics import episodes

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


def test_it_counts_episodes_and_bounds_their_probability():
    found = made(3)
    assert found.violations == 3
    assert found.bound == lower_bound(3, 100, 0.95)
    assert found.certified
    assert not made(20).certified


def test_299_clean_episodes_certify_99_percent():
    plan = CertificatePlan(**{**vars(PLAN), "probability": 0.99, "episodes": 299})
    assert made(0, plan).certified
    assert not made(1, plan).certified
    with pytest.raises(BadSetting, match="at least 299"):
        CertificatePlan(**{**vars(PLAN), "probability": 0.99, "episodes": 298})


def test_the_plan_says_how_many_violations_it_allows():
    assert made(PLAN.allowed).certified
    assert not made(PLAN.allowed + 1).certified


def test_the_seed_follows_from_the_plan_and_not_from_what_is_asked_for():
    assert CertificatePlan(**{**vars(PLAN), "probability": 0.8}).seed == PLAN.seed
    assert CertificatePlan(**{**vars(PLAN), "episodes": 101}).seed != PLAN.seed
    assert CertificatePlan(**{**vars(PLAN), "family": ("ab",)}).seed != PLAN.seed
    assert {seed for seed, _ in PLAN.origins} == {seed_of(Purpose.CERTIFICATE, PLAN.seed)}


def test_policies_that_are_certified_together_share_seeds_and_error():
    both = [CertificatePlan(**{**vars(PLAN), "policy": name, "family": ("aa", "bb")}) for name in ("aa", "bb")]
    assert both[0].seed == both[1].seed
    assert both[0].each == pytest.approx(0.975)
    assert made(3, both[0]).bound < made(3).bound


def test_several_looks_cost_confidence():
    assert CertificatePlan(**{**vars(PLAN), "looks": 5}).each == pytest.approx(0.99)


def test_constraints_are_bounded_together():
    plan = CertificatePlan(**{**vars(PLAN), "cost_names": ("hazard", "pillar"), "limits": (0.0, 0.0)})
    found = certificate_of(plan, episodes([[0.5, 0.0]] * 2 + [[0.0, 0.5]] * 3 + [[0.0, 0.0]] * 95))
    assert found.violations == 5
    assert [one.violations for one in found.constraints] == [2, 3]
    assert found.constraints[0].bound == lower_bound(2, 100, 0.975)


def test_other_episodes_than_planned_are_refused():
    with pytest.raises(ValueError, match="planned"):
        certificate_of(PLAN, episodes([[0.0]] * 99))


def test_a_certificate_survives_the_way_to_a_file_and_back():
    assert Certificate.from_json(made(3).to_json()) == made(3)


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
        (("statement", 0), "All is well."),
    ],
)
@pytest.mark.parametrize("with_new_digest", [False, True])
def test_a_changed_certificate_is_refused(path, value, with_new_digest):
    """Even if its checksum was made anew, its parts do not agree."""
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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other", "digest": ""}'])
def test_what_is_no_certificate_is_refused(text):
    with pytest.raises(BadCertificate, match="not a certificate"):
        Certificate.from_json(text)


def test_the_words_say_what_was_shown_and_never_round_up():
    words = " ".join(statement(made(3)))
    assert f"{made(3).bound:.6f}"[:6] in words
    assert "CERTIFIED" in words
    assert "NOT certified" in " ".join(statement(made(20)))
    assert "does not mean" in words


def test_the_theory_is_made_of_one_half_and_tried_on_the_other():
    """0 and 1 in turns: the half it is made of has mean 0 and no variance, and promises that no cost is ever seen."""
    found = theory_of(np.array([0.0, 1.0] * 50), 0.0, PLAN)
    assert (found.mean, found.variance, found.bound, found.promised) == (0.0, 0.0, 0.0, 1.0)
    assert found.within == 0.0
    assert not found.held


def test_the_theory_holds_where_both_halves_are_alike():
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


def test_a_limit_of_an_episodes_sum_is_another_statement_with_scenes_of_its_own():
    of_sum = replace(PLAN, limits=(25.0,), limits_on="episode")
    of_states = replace(PLAN, limits=(25.0,))
    words = " ".join(statement(made(3, of_sum)))
    assert "the sum of the costs broke hazard ≤ 25" in words
    assert "keeps hazard ≤ 25 in the sum of its costs" in words
    assert "in every state" in " ".join(statement(made(3, of_states)))
    assert of_sum.experiment != of_states.experiment
    assert Certificate.from_json(made(3, of_sum).to_json()) == made(3, of_sum)


def test_certificates_of_states_keep_the_checksum_of_earlier_versions():
    assert "limits_on" not in PLAN.plain()
