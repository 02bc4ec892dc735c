"""The runs that each table and figure needs."""

import pytest

from ascpo.guard.suites import PAPER_SUITES, UnknownSuite
from ascpo.paper.experiments import EXPERIMENTS, FOUR_SUITES, MONOTONE, Training, experiments
from ascpo.paper.printed import STEPS
from ascpo.runs.serialization import BadSetting
from tests.paper.helpers import ASCPO


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("q1", 19 * 12 * 2),
        ("scores", 19 * 12 * 2),
        ("q1-Point-8-Hazard", 12 * 2),
        ("boxes", 4 * 7 * 3),
        ("pascpo", 4 * 2 * 3),
    ],
)
def test_the_experiments_have_as_many_runs_as_the_paper(name, runs):
    (experiment,) = experiments(name)
    trainings = experiment.trainings()
    assert len(trainings) == len({training.name for training in trainings}) == runs


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda experiment: experiment.name)
def test_every_training_has_settings_that_exist(experiment):
    for variant in experiment.variants:
        config = Training(experiment.suites[0], variant, 3).config(0.5)
        assert (config.seed, config.total_steps, config.algo) == (3, STEPS // 2, variant.algo)


def test_the_name_all_stands_for_every_experiment():
    assert [experiment.name for experiment in experiments("all")] == list(EXPERIMENTS)


def test_the_monotone_ablation_changes_one_setting_and_shares_its_other_half_with_the_tables():
    with_it, without = (
        Training(FOUR_SUITES[0], variant, 0).config(1.0) for variant in EXPERIMENTS["monotone"].variants
    )
    assert (with_it.settings.cost_fit.monotone_weight, without.settings.cost_fit.monotone_weight) == (1.0, 0.0)
    assert Training(FOUR_SUITES[0], ASCPO, 0).config(1.0) == without


def test_the_settings_of_a_variant_precede_typed_ones():
    config = Training(FOUR_SUITES[0], MONOTONE, 0).config(1.0, {"cost_fit.monotone_weight": 0.0, "cost_fit.window": 2})
    assert (config.settings.cost_fit.monotone_weight, config.settings.cost_fit.window) == (1.0, 2)


def test_a_subset_may_use_any_spelling_of_a_suite():
    found = EXPERIMENTS["q1"].trainings(["Goal_Point_8Hazards"], ["cpo", "scpo"], [5])
    assert [training.name for training in found] == ["Point-8-Hazard-cpo-seed5", "Point-8-Hazard-scpo-seed5"]


def test_an_algorithm_name_selects_the_algorithm_and_not_its_variants():
    names = [t.variant.name for t in EXPERIMENTS["lagrangian"].trainings(algos=["trpo-lagrangian"], seeds=[0])]
    assert names == ["trpo-lagrangian"]
    names = [t.variant.name for t in EXPERIMENTS["monotone"].trainings(PAPER_SUITES[2:3], ["ascpo-monotone"], [0])]
    assert names == ["ascpo-monotone"]


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        ({"suites": ["Point-1-Hazard"]}, "boxes has no suite Point-1-Hazard. Did you mean Point-8-Hazard"),
        ({"algos": ["scpp"]}, "Did you mean scpo"),
    ],
)
def test_an_impossible_subset_is_refused_with_what_is_possible(wanted, answer):
    with pytest.raises(BadSetting, match=answer):
        EXPERIMENTS["boxes"].trainings(**wanted)


def test_an_unknown_suite_is_refused():
    with pytest.raises(UnknownSuite):
        EXPERIMENTS["boxes"].trainings(["Point8"])


def test_a_mistyped_name_gets_the_nearest_one_suggested():
    with pytest.raises(BadSetting, match="Did you mean boxes"):
        experiments("boxs")


def test_the_smallest_training_is_one_epoch():
    assert Training(FOUR_SUITES[0], MONOTONE, 0).config(1e-12).epochs == 1
