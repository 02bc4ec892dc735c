"""Settings that all algorithms share: the values that the benchmarks were measured with, and what is refused."""

import pytest

from ascpo.errors import BadSetting
from ascpo.runs.serialization import flat, to_plain
from ascpo.training.settings import Settings

USUAL = {
    "num_envs": 30,
    "horizon": 1000,
    "carry": True,
    "limits": [0.0],
    "probability": 0.98,
    "margin": 0.0,
    "near_miss": 0.0,
    "near_miss_end": 0.03,
    "discount": 0.99,
    "gae_lambda": 0.97,
    "hidden": [64, 64],
    "initial_log_std": -0.5,
    "value_fit.iterations": 80,
    "value_fit.batch_size": 4096,
    "value_fit.learning_rate": 1e-3,
    "cost_fit.iterations": 80,
    "cost_fit.batch_size": 4096,
    "cost_fit.learning_rate": 1e-3,
    "cost_fit.balance": "weighted",
    "cost_fit.monotone_weight": 0.0,
    "cost_fit.window": 10,
    "cost_fit.forget": 0.9,
    "cost_gae_lambda": None,
    "output_bias": -4.0,
    "trust_region.delta": 0.02,
    "trust_region.damping": 0.01,
    "trust_region.cg_iterations": 20,
    "trust_region.fisher_stride": 5,
    "trust_region.backtracking": 0.8,
    "trust_region.backtracks": 100,
    "trust_region.tolerance": 0.001,
    "trust_region.signal_every": 10,
    "replay.share": 0.0,
    "replay.pool": 64,
    "average_epochs": None,
    "timeout_waiver": 0.0,
    "normalise_observations": False,
}


def test_the_defaults_are_those_of_the_published_measurements():
    assert flat(to_plain(Settings())) == USUAL


@pytest.mark.parametrize(
    "edge",
    [
        {"num_envs": 1},
        {"horizon": 1},
        {"discount": 1.0},
        {"gae_lambda": 0.0},
        {"gae_lambda": 1.0},
        {"average_epochs": 0},
        {"hidden": (1,)},
        {"hidden": (8, 8, 8)},
        {"probability": 0.001},
        {"probability": 0.999},
    ],
)
def test_values_at_the_edge_of_their_range_are_accepted(edge):
    name, value = next(iter(edge.items()))
    assert getattr(Settings(**edge), name) == value


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_envs": 0},
        {"horizon": 0},
        {"discount": 0.0},
        {"discount": 1.001},
        {"gae_lambda": -0.001},
        {"gae_lambda": 1.001},
        {"hidden": ()},
        {"hidden": (0,)},
        {"hidden": (8, 9)},
        {"probability": 0.0},
        {"probability": 1.0},
    ],
)
def test_values_outside_their_range_are_refused_with_their_names(wrong):
    with pytest.raises(BadSetting, match=f"{next(iter(wrong))}="):
        Settings(**wrong)


def test_one_limit_holds_for_all_constraints_and_several_for_their_own():
    assert Settings(limits=(0.5,)).limits_for(("a", "b", "c")) == (0.5, 0.5, 0.5)
    assert Settings(limits=(0.5, 0.25)).limits_for(("a", "b")) == (0.5, 0.25)
    with pytest.raises(ValueError, match=r"2 limits for 3 constraints \(a, b, c\)"):
        Settings(limits=(0.5, 0.25)).limits_for(("a", "b", "c"))
