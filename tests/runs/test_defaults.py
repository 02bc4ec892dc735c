"""Our defaults: those for any environment, and those for suites."""

import pytest

from ascpo.algorithms import ALGORITHMS, ASCPO
from ascpo.algorithms.suite_defaults import DECIDING, ROBOT_DEFAULTS, SUITE_DEFAULTS
from ascpo.cli.train import parse
from ascpo.guard.suites import PAPER_SUITES
from ascpo.runs.composition import defaults_for
from ascpo.runs.config import based_on, configure, configure_each
from ascpo.runs.serialization import flat, to_plain
from ascpo.training.settings import Settings
from tests.runs.helpers import CART

SUITE = "Point-8-Hazard"


def in_force(config):
    return flat(to_plain(config))


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_suite_has_its_own_defaults_and_no_other_environment_has_them(algo):
    found = in_force(configure(SUITE, algo))
    assert {name: found[name] for name in SUITE_DEFAULTS.get(algo, {})} == SUITE_DEFAULTS.get(algo, {})
    own = configure(CART, algo)
    assert (own.settings, own.method) == (Settings(), ALGORITHMS[algo]())


def test_suites_are_recognised_by_both_their_names():
    assert {defaults_for(name, "ascpo")[1].mode for name in (*PAPER_SUITES, "Goal_Point_8Hazards")} == {"chernoff"}


def test_a_robot_may_have_defaults_that_the_others_have_not():
    normalised = {env: configure(env).settings.normalise_observations for env in PAPER_SUITES}
    assert normalised == {env: env.partition("-")[0] in ROBOT_DEFAULTS for env in PAPER_SUITES}
    assert normalised["Walker-8-Hazard"]
    assert not normalised["Drone-8-3DHazard"]


def test_an_algorithm_may_have_defaults_for_one_robot():
    assert {env.partition("-")[0] for env in PAPER_SUITES if configure(env).method.union_bound} == {"Swimmer"}
    assert not configure("Swimmer-8-Hazard", mode="paper").method.union_bound
    assert not configure("Swimmer-8-Hazard", union_bound=False).method.union_bound


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_all_algorithms_see_a_robot_in_the_same_way(algo):
    assert configure(SUITE, algo).settings.normalise_observations
    assert not configure("Arm3-8-Hazard", algo).settings.normalise_observations


@pytest.mark.parametrize("preset", ["published", "released"])
def test_presets_have_no_defaults_of_suites(preset):
    assert configure(SUITE, preset=preset).settings == configure(CART, preset=preset).settings
    assert configure(SUITE, preset=preset).method == configure(CART, preset=preset).method


@pytest.mark.parametrize(
    ("given", "gone"),
    [
        ({"mode": "paper"}, {"mode", "near_miss", "near_miss_end", "cost_gae_lambda"}),
        ({"mode": "chernoff"}, set()),
        ({"near_miss": 0.2}, {"near_miss", "near_miss_end"}),
        ({"cost_gae_lambda": 0.8}, {"cost_gae_lambda"}),
        ({"target": {"kind": "own"}}, {"target.timeout_limit", "target.timeout_relief"}),
        ({"target": {"timeout_share": 0.5}}, set()),
        ({"target": {"share": 0.5}}, set()),
    ],
)
def test_a_given_setting_replaces_its_default_and_those_that_do_not_fit_it(given, gone):
    found, usual = in_force(configure(SUITE, **given)), SUITE_DEFAULTS["ascpo"]
    assert {name for name in usual if found[name] != usual[name]} == gone
    words = [word for name, value in flat(given).items() for word in (f"--{name.replace('_', '-')}", str(value))]
    assert parse(["--env", SUITE, *words])[0].as_configs() == [configure(SUITE, **given)]


def test_near_misses_can_be_turned_off():
    assert configure(SUITE, "cpo", near_miss=0.0).settings.near_miss == 0.0


def test_every_deciding_setting_is_a_setting():
    known = in_force(configure(SUITE, mode="paper"))
    assert set(DECIDING) <= known.keys()


def test_several_algorithms_each_have_their_defaults():
    configs = configure_each(SUITE, ["ascpo", "trpo", "cpo"], [0], {"horizon": 50})
    assert [config.settings.near_miss for config in configs] == [0.3, 0.0, 0.1]


def test_chosen_settings_are_kept_with_another_algorithm_or_environment():
    config = configure(SUITE, discount=0.9, tau=0.1)
    assert based_on(config, "Ant-8-Hazard", "ascpo") == configure("Ant-8-Hazard", discount=0.9, tau=0.1)
    assert based_on(config, SUITE, "trpo") == configure(SUITE, "trpo", discount=0.9)
    chosen = configure(SUITE, discount=0.9)
    assert based_on(chosen, CART, "ascpo") == configure(CART, discount=0.9)
    assert based_on(configure(CART, mode="paper"), SUITE, "ascpo").method.mode == "paper"


def test_the_name_of_a_run_has_a_mode_that_is_not_the_default_of_its_environment():
    assert configure(SUITE).name() == "Point-8-Hazard-ascpo-seed0"
    assert configure(SUITE, mode="chance").name() == "Point-8-Hazard-ascpo-chance-seed0"
    assert configure("own:env", mode="chance").name() == "own-env-ascpo-seed0"
    assert ASCPO().mode == "chance"


@pytest.mark.parametrize(
    ("average_epochs", "averaged"),
    [(None, {1: 1, 10: 1, 11: 2, 60: 6, 200: 20, 1000: 20}), (3, {1: 1, 2: 2, 10: 3, 200: 3}), (0, {10: 1})],
)
def test_the_mean_policy_is_over_the_last_tenth_or_the_given_number_of_epochs(average_epochs, averaged):
    settings = Settings(average_epochs=average_epochs)
    assert {epochs: settings.averaged_policies(epochs) for epochs in averaged} == averaged
