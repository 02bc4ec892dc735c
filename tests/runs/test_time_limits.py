"""A policy that stands still in your own environment gets a hint; in others the time limit is the usual end."""

import pytest

from ascpo.runs.config import configure
from ascpo.runs.time_limits import timeout_hint
from tests.runs.helpers import CART


def test_a_policy_that_has_learned_to_stand_still_gets_a_hint():
    hint = timeout_hint(configure(CART), [0.4, 0.8, 1.0, 1.0, 0.995])
    assert "the last 3 epochs ran into the time limit, and earlier ones did not" in hint
    assert "--target.timeout-limit 0.01" in hint


def test_episodes_that_always_end_by_time_are_no_failure():
    hint = timeout_hint(configure(CART), [1.0] * 5)
    assert hint.startswith("Every episode ended by its time limit. That is normal if nothing else")


@pytest.mark.parametrize("rates", [[], [1.0, 1.0], [0.5, 1.0, 1.0, 0.9], [0.0] * 9])
def test_other_trainings_get_no_hint(rates):
    assert timeout_hint(configure(CART), rates) == ""


def test_suites_have_defaults_against_standing_still():
    assert timeout_hint(configure("Point-8-Hazard"), [0.5, 1.0, 1.0, 1.0]) == ""


def test_a_hint_suggests_only_settings_of_the_algorithm():
    for config in (configure(CART, "trpo"), configure(CART, target={"timeout_limit": 0.05})):
        assert "--target" not in timeout_hint(config, [0.5, 1.0, 1.0, 1.0])
