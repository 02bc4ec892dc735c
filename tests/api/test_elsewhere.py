"""The Python interface: evaluate and certify functions and other policies that no run has trained."""

import json
import sys
import types
import zipfile

import numpy as np
import pytest

import ascpo
from ascpo.evaluation.bound import lower_bound
from ascpo.evaluation.certificate import BadCertificate, read_certificate
from ascpo.evaluation.certify import check
from ascpo.runs.serialization import BadSetting
from tests.own import Cart
from tests.slow import slow

QUIET = {"progress": False}
CERTIFIED = {"env": Cart, "episodes": 3, "probability": 0.2, **QUIET}
STILL = f"python:{__name__}:still"


def still(observation):
    return 0.0


class Model:
    """As in Stable-Baselines3: it takes several observations and returns several actions and a state."""

    def predict(self, observations, deterministic=False):
        return np.zeros((len(observations), 1)), None


def pushing(force):
    """Functions that differ and have the same name. Twenty steps with a force of 2 lead to 4; beyond 1 it costs."""
    return lambda observation: [force]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_function_that_never_violates_is_certified_with_the_bound_of_no_violation():
    found = ascpo.certify(still, **CERTIFIED)
    (certificate,) = found.certificates
    assert found.policies == (STILL,)
    assert found.table["run"] == [STILL]
    assert (found.certified, certificate.violations) == (True, 0)
    assert certificate.bound == lower_bound(0, 3, certificate.plan.each)
    assert f"with actions given by {STILL}" in found._repr_html_()
    written = found.directories[0] / "certificate.json"
    assert read_certificate(written) == certificate
    with pytest.raises(BadCertificate, match=f"To repeat it, certify {STILL} on tests.own:Cart again"):
        check(written)
    assert ascpo.certify(STILL, **CERTIFIED) == found, "by its name it is the same function, and the same look"


@slow("compiles")
def test_another_function_under_the_same_name_is_another_look():
    first, other = (ascpo.certify(pushing(force), **CERTIFIED | {"episodes": 4}).table for force in (0.0, 2.0))
    assert (first["look"], first["violations"]) == ([1], [0])
    assert (other["look"], other["violations"]) == ([2], [4])


@slow("compiles")
def test_functions_that_cannot_be_distinguished_are_refused():
    with pytest.raises(BadSetting, match="Rename the functions"):
        ascpo.certify(pushing(0.0), pushing(2.0), **CERTIFIED)
    with pytest.raises(BadSetting, match="same policy is named twice"):
        ascpo.certify(still, pushing(0.0), **CERTIFIED)


@slow("plays")
def test_functions_are_compared_on_the_same_scenes():
    found = ascpo.certify(still, pushing(2.0), **CERTIFIED | {"episodes": 4})
    (compared,) = found.comparisons
    assert (compared.first, compared.only_first, compared.only_second) == (STILL, 0, 4)


def test_an_evaluation_says_which_function_it_is_about():
    found = ascpo.evaluate(pushing(2.0), 4, env=Cart, **QUIET)
    assert found.policy == f"python:{__name__}:pushing.<locals>.<lambda>"
    assert found.figures["SafeRate"] == 0.0
    assert found.figures["EpRet"] == pytest.approx(4.0, abs=0.2), "twenty steps of 0.2, and some noise"
    assert len(found.episodes["EpRet"]) == 4
    assert found.policy.replace("<", "&lt;").replace(">", "&gt;") in found._repr_html_()


@slow("compiles")
def test_a_file_of_stable_baselines_is_evaluated_by_its_name(monkeypatch):
    loads = types.SimpleNamespace(load=lambda path, device: Model())
    monkeypatch.setitem(sys.modules, "stable_baselines3", types.SimpleNamespace(PPO=loads, A2C=loads))
    with zipfile.ZipFile("ppo.zip", "w") as file:
        file.writestr("data", json.dumps({"policy_class": {"__module__": "stable_baselines3.ppo.policies"}}))
    found = ascpo.evaluate("sb3:ppo.zip", 4, env=Cart, **QUIET)
    assert (found.policy, found.figures["SafeRate"]) == ("sb3:ppo.zip", 1.0)
    assert found.directory.name == "ppo.zip.tests-own-Cart"


@pytest.mark.parametrize(
    ("policy", "how", "answer"),
    [
        (still, {"env": None}, r'env="Point-8-Hazard"'),
        (still, {"env": Cart()}, "Give the class or function that makes it"),
        (still, {"trust_env": True}, "trust_env=True changes nothing"),
        (still, {"actions": "sampled"}, "take the actions that they return"),
        (lambda observation: [0.0, 0.0], {}, r"has the shape \(2,\), and the environment takes \(1,\)"),
        (lambda observation: np.nan, {}, "is not finite"),
        (lambda observation: observation[7], {}, "it raises IndexError"),
        (Model().predict, {}, r"lambda observation: model\.predict\(observation\)\[0\]"),
        (Model(), {}, r"This Model is not a run\. .* lambda observation: model\.predict"),
        (f"python:{__name__}:nothing", {}, "is no function"),
    ],
)
def test_a_policy_that_does_not_fit_its_environment_is_refused_before_a_look_is_spent(policy, how, answer, tmp_path):
    with pytest.raises(BadSetting, match=answer):
        ascpo.certify(policy, **CERTIFIED | how)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("how", [{}, {"env": Cart, "trust_env": True}, {"env": Cart, "actions": "sampled"}])
def test_an_evaluation_refuses_the_same_policies(how):
    with pytest.raises(BadSetting, match=r"does not say its environment|changes nothing"):
        ascpo.evaluate(still, **how, **QUIET)


def test_runs_and_functions_are_certified_apart():
    for both in ((still, "runs/one"), ("runs/one", still)):
        with pytest.raises(BadSetting, match="runs/one is a run"):
            ascpo.certify(*both, **CERTIFIED)


def test_the_policy_of_a_run_is_certified_by_its_run():
    with pytest.raises(BadSetting, match="Name its run instead"):
        ascpo.evaluate(ascpo.load("zoo:Point-1-Hazard").act, env="Point-1-Hazard", **QUIET)


@slow("simulates")
def test_a_function_that_stands_still_in_a_suite_is_safe_and_never_arrives():
    found = ascpo.evaluate(lambda observation: np.zeros(2), 4, env="Point-1-Hazard", **QUIET)
    assert (found.figures["SafeRate"], found.figures["EpRet"], found.figures["EpLen"]) == (1.0, 0.0, 1000.0)
