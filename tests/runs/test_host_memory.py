import pytest

from ascpo.runs import host_memory
from ascpo.runs.api import train, train_many
from ascpo.runs.config import configure
from ascpo.runs.host_memory import check_host_memory, least_bytes
from ascpo.runs.serialization import BadSetting
from ascpo.training.state import Sizes

POINT = "Point-1-Hazard"


def test_the_estimate_counts_rollout_window_networks_and_minibatches():
    config = configure("corridor", num_envs=2, horizon=5, hidden=(3, 3), cost_fit={"window": 4, "batch_size": 7})
    # Ten steps of 2·11 + 2 + 1 + 1 numbers, and 40 steps of 11 + 2·1 in the window.
    rollout, window = 10 * (2 * 11 + 2 + 1 + 1), 40 * (11 + 2)
    # A policy, and two critics with the moments of Adam, each of 11·3 + 3·3 weights. The larger fit draws 80·4096.
    networks, draws = 7 * (11 * 3 + 3 * 3), 80 * 4096
    assert least_bytes(config, Sizes(2, 11, 2, 1)) == 4 * (rollout + window + networks + draws)


def test_without_cost_critics_there_is_no_window():
    small, large = (configure("corridor", "trpo", num_envs=n) for n in (10, 20))
    sizes = Sizes(10, 11, 2, 1)
    assert least_bytes(large, sizes) - least_bytes(small, sizes) == 4 * 10 * 1000 * (2 * 11 + 2 + 1 + 1)


def test_the_default_settings_fit_into_a_small_machine(monkeypatch):
    monkeypatch.setattr(host_memory, "_total", lambda: 2**30)
    check_host_memory([configure("Humanoid-8-Hazard")], "Humanoid-8-Hazard")


@pytest.mark.parametrize(
    "large",
    [
        {"num_envs": 100_000},
        {"horizon": 10**7},
        {"hidden": (16384,) * 20},
        {"cost_fit": {"window": 10_000}},
        {"value_fit": {"iterations": 10**6, "batch_size": 10**6}},
    ],
)
def test_a_training_that_needs_too_much_memory_is_refused_before_a_directory_exists(large, tmp_path, monkeypatch):
    monkeypatch.setattr(host_memory, "_total", lambda: 16 * 2**30)
    with pytest.raises(BadSetting, match=r"need at least [\d,.]+ GB of memory, and this machine has 16\.0 GB"):
        train(POINT, out=tmp_path / "out", **large)
    assert not (tmp_path / "out").exists()


def test_with_an_accelerator_networks_count_and_rollouts_do_not(monkeypatch):
    monkeypatch.setattr(host_memory, "_total", lambda: 2**30)
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    check_host_memory([configure(POINT, num_envs=2**18)], POINT)
    with pytest.raises(BadSetting, match="hidden layers of 16384"):
        check_host_memory([configure(POINT, hidden=(16384, 16384))], POINT)


def test_runs_at_the_same_time_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr(host_memory, "_total", lambda: 2**28)
    with pytest.raises(BadSetting, match=r"^20 runs with"):
        train_many(POINT, seeds=range(20), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_system_with_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(host_memory, "_total", lambda: None)
    check_host_memory([configure(POINT, num_envs=2**18)], POINT)


def test_the_memory_of_this_machine_is_known():
    assert host_memory._total() > 2**28
