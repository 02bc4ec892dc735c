import numpy as np
import pytest
from scipy import stats

from ascpo.evaluation.metrics import MEANINGS, measure, table
from ascpo.runs.episodes import Episodes


def episodes(maximum, cost=None, length=None, reward=None, interventions=None):
    maximum = np.asarray(maximum, float)
    n = len(maximum)
    return Episodes(
        reward=np.arange(n, dtype=float) if reward is None else np.asarray(reward, float),
        cost=maximum if cost is None else np.asarray(cost, float),
        maximum=maximum,
        length=np.full(n, 10) if length is None else np.asarray(length),
        time_limited=np.zeros(n, bool),
        first_violation=np.where(maximum > 0, 4, -1),
        violating=(maximum > 0).astype(int),
        interventions=np.zeros(n, int) if interventions is None else np.asarray(interventions),
    )


def test_figures_of_two_episodes_can_be_checked_by_hand():
    found = measure(episodes([[0.0], [2.0]], cost=[[0.0], [4.0]], length=[10, 30], reward=[1, 3]), ("hazard",))
    assert found["Episodes"] == 2
    assert found["EpRet"] == 2.0
    assert found["EpCost"] == 2.0
    assert found["EpLen"] == 20.0
    assert found["CostRate"] == pytest.approx(0.1)
    assert found["EpMaxCost"] == 1.0
    assert found["EpMaxCostWorst"] == 2.0
    assert found["SafeRate"] == 0.5
    assert found["FirstViolation"] == 4.0
    assert found["ViolatingSteps"] == 0.5


def test_without_a_violation_there_is_no_first_violation():
    assert measure(episodes([[0.0], [0.0]]), ("hazard",))["FirstViolation"] is None


def test_quantiles_are_observed_values():
    found = measure(episodes([[i / 100] for i in range(1, 101)]), ("hazard",))
    assert found["EpMaxCost95"] == 0.95
    assert found["EpMaxCost99"] == 0.99
    assert found["EpMaxCostMedian"] == pytest.approx(0.505)


def test_interventions_are_a_share_of_the_steps():
    assert measure(episodes([[0.0], [0.0]], length=[10, 30], interventions=[4, 0]), ("h",))["Interventions"] == 0.1


def test_an_interval_holds_the_mean_and_narrows_as_the_square_root_of_the_episodes():
    rng = np.random.default_rng(0)
    widths = []
    for n in (100, 1600):
        found = measure(episodes(np.zeros((n, 1)), reward=rng.normal(5, 1, n)), ("hazard",))
        low, high = found["intervals"]["EpRet"]
        assert low < found["EpRet"] < high
        widths.append(high - low)
    assert widths[0] / widths[1] == pytest.approx(4.0, rel=0.3)
    assert widths[1] == pytest.approx(2 * 1.96 / 40, rel=0.15)


def test_a_share_has_its_exact_interval():
    found = measure(episodes([[0.0]] * 90 + [[1.0]] * 10), ("hazard",))
    low, high = found["intervals"]["SafeRate"]
    # Clopper and Pearson's, as quantiles of beta distributions.
    assert low == pytest.approx(stats.beta.ppf(0.025, 90, 11))
    assert high == pytest.approx(stats.beta.ppf(0.975, 91, 10))


def test_each_of_several_constraints_has_its_own_figures():
    found = measure(episodes([[0.0, 0.5], [0.0, 0.0]]), ("hazard", "pillar"))
    assert found["SafeRate_hazard"] == 1.0
    assert found["SafeRate_pillar"] == 0.5
    assert found["SafeRate"] == 0.5
    assert found["EpMaxCost_pillar"] == found["EpMaxCost"] == 0.25


def test_every_figure_of_one_constraint_has_a_meaning():
    assert set(measure(episodes([[0.0], [1.0]]), ("hazard",))) == set(MEANINGS) | {"intervals"}


def test_the_table_has_a_row_for_every_episode():
    rows = table(episodes([[0.0], [2.0]]), ("hazard",), [(7, 0), (7, 1)])
    assert [row["Safe"] for row in rows] == [1, 0]
    assert rows[1]["Seed"] == 7
    assert rows[1]["Episode"] == 1
    assert rows[1]["EpMaxCost"] == 2.0
    assert rows[1]["FirstViolation"] == 4


def test_columns_of_several_constraints_end_in_their_names():
    (row,) = table(episodes([[0.0, 2.0]]), ("hazard", "pillar"), [(0, 0)])
    assert row["EpMaxCost_pillar"] == 2.0
    assert row["FirstViolation_hazard"] == -1
