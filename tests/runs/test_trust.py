import pytest

from ascpo.guard.suites import UnknownSuite
from ascpo.runs.environment import name_of
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trust import flag_for, trusted
from tests.own import Cart

OWN = "tests.own:make"


@pytest.mark.parametrize("named", ["Point-8-Hazard", "ascpo/Point-8-Hazard-v0", "Pendulum-v1", "tests/Cart-v0"])
def test_suites_and_registered_ids_need_no_trust(named):
    assert trusted(named) == named
    assert flag_for(named) == ""


def test_user_code_needs_the_same_name_a_factory_or_trust():
    with pytest.raises(BadSetting, match=f"--env {OWN} or --trust-env"):
        trusted(OWN)
    assert trusted(OWN, OWN) == OWN
    assert trusted(OWN, Cart) is Cart
    assert trusted(OWN, trust_env=True) == OWN
    assert flag_for(OWN) == f" --env {OWN}"


def test_a_suite_has_two_names_and_no_other_environment_is_taken_for_it():
    assert trusted("Point-8-Hazard", "ascpo/Point-8-Hazard-v0") == "Point-8-Hazard"
    for other in ("Point-4-Hazard", OWN):
        with pytest.raises(BadSetting, match="you named"):
            trusted("Point-8-Hazard", other)
    with pytest.raises(BadSetting, match=r"the suite Point-8-Hazard as its environment, and you gave tests\.own:Cart"):
        trusted("Point-8-Hazard", Cart)


@pytest.mark.parametrize("named", [["tests.own", "make"], None, 3])
def test_an_environment_name_that_is_no_text_is_refused(named):
    with pytest.raises(BadSetting, match="not a string"):
        trusted(named, trust_env=True)


def test_a_factory_without_an_importable_name_must_be_passed_in_python():
    for trust in (False, True):
        with pytest.raises(BadSetting, match=r"ascpo\.resume\(run, env="):
            trusted("tests.own:test.<locals>.make", trust_env=trust)
    assert trusted("tests.own:test.<locals>.make", Cart) is Cart


def test_environments_of_scripts_and_notebooks_are_found_in_a_module_or_passed_again():
    for env in (None, "__main__:Cart", "tests.own:Other"):
        with pytest.raises(BadSetting, match=r"--env MODULE:Cart.*ascpo\.resume, evaluate and certify take env=Cart"):
            trusted("__main__:Cart", env, trust_env=True)
    assert trusted("__main__:Cart", "tests.own:Cart") == "tests.own:Cart"
    assert trusted("__main__:Cart", Cart) is Cart


def test_the_error_for_safety_gymnasium_says_to_use_another_python():
    with pytest.raises(UnknownSuite, match=r"does not import beside this one.*examples/other_python\.py"):
        name_of("SafetyPointGoal1-v0")
