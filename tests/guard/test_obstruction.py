"""Scenes in which an obstacle is in the way."""

import numpy as np
import pytest

from ascpo.environments.spaces import make_task
from ascpo.guard.draws import keys_for
from ascpo.guard.layout import Layout, draw_many
from ascpo.guard.obstruction import obstructed
from ascpo.sweep.evaluation import FixedStarts

RULES = make_task("Point-1-Hazard", "paper", "closest", None).rules


@pytest.mark.parametrize(
    ("hazard", "expected"),
    [
        ((1.0, 0.0), True),
        ((1.0, 0.29), True),
        ((1.0, 0.31), False),
        ((-0.29, 0.0), True),
        ((-0.31, 0.0), False),
        ((2.31, 0.0), False),
    ],
)
def test_an_obstacle_is_in_the_way_if_the_line_to_the_goal_meets_it(hazard, expected):
    layout = Layout(np.zeros((1, 2)), np.zeros(1), np.array([[2.0, 0.0, 0.1]]), np.array([[[*hazard, 0.0]]]))
    assert obstructed(RULES, layout).tolist() == [expected]


def test_fixed_starts_of_a_suite_are_the_first_scenes_with_an_obstacle_in_the_way():
    starts = FixedStarts(starts=3, episodes=3).origins(rules=RULES)
    candidates = FixedStarts(starts=200, episodes=200).origins()
    seeds, numbers = np.array(candidates).T
    blocked = obstructed(RULES, draw_many(RULES, keys_for(seeds, numbers)))
    assert starts == [candidates[i] for i in np.flatnonzero(blocked)[:3]]
    assert 0.01 < blocked.mean() < 0.2
