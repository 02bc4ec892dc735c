"""Suites by name: valid names, their meaning, and the errors for invalid ones."""

import pytest

from ascpo.guard.kinds import GHOST, HAZARD, HAZARD3D, PILLAR
from ascpo.guard.robots import ROBOTS
from ascpo.guard.suites import PAPER_SUITES, Obstacles, Suite, UnknownSuite, all_suites, suite

NINETEEN = """
    Point-1-Hazard Point-4-Hazard Point-8-Hazard Point-1-Pillar Point-4-Pillar Point-8-Pillar
    Point-1-Ghost Point-4-Ghost Point-8-Ghost Swimmer-1-Hazard Swimmer-4-Hazard Swimmer-8-Hazard
    Drone-1-3DHazard Drone-4-3DHazard Drone-8-3DHazard
    Arm3-8-Hazard Humanoid-8-Hazard Ant-8-Hazard Walker-8-Hazard
"""


def test_the_paper_has_nineteen_suites():
    assert set(PAPER_SUITES) == set(NINETEEN.split())
    assert len(PAPER_SUITES) == 19


@pytest.mark.parametrize("name", PAPER_SUITES)
def test_a_suite_is_called_by_its_name(name):
    robot, count, _ = name.split("-")
    found = suite(name)
    assert found.name == name
    assert found.robot is ROBOTS[robot]
    assert found.count == int(count)
    assert suite(found) is found


def test_a_name_consists_of_the_robot_the_number_and_the_kind():
    assert suite("Point-8-Pillar") == Suite(ROBOTS["Point"], (Obstacles(8, PILLAR),))
    assert suite("Ant-3-Ghost") == Suite(ROBOTS["Ant"], (Obstacles(3, GHOST),))
    assert suite("Arm3-8-Hazard") == Suite(ROBOTS["Arm3"], (Obstacles(8, HAZARD3D),))


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("Point-8-Hazards", "Point-8-Hazard"),
        ("Drone-8-3DHazards", "Drone-8-3DHazard"),
        (" Point-1-Ghost ", "Point-1-Ghost"),
        ("Goal_Point_8Hazards_noconti", "Point-8-Hazard"),
        ("Goal_Point_4Ghosts", "Point-4-Ghost"),
        ("Goal_Drone_4Hazards_noconti", "Drone-4-3DHazard"),
        ("Goal_Arm3_8Hazards_noconti", "Arm3-8-Hazard"),
        ("Drone-8-Hazard", "Drone-8-3DHazard"),
        ("Drone-2-Ghost", "Drone-2-3DGhost"),
        ("Arm3-8-3DHazard", "Arm3-8-Hazard"),
        ("Point-4-Hazards+2-Pillars", "Point-4-Hazard+2-Pillar"),
    ],
)
def test_other_spellings_mean_the_same_suite(alias, name):
    assert suite(alias) == suite(name)
    assert suite(alias).name == name


def test_every_kind_of_a_combination_has_its_own_cost_in_the_order_of_the_name():
    both = suite("Point-4-Hazard+2-Pillar")
    assert both.cost_names == ("hazard", "pillar")
    assert both.slices() == ((HAZARD, slice(0, 4)), (PILLAR, slice(4, 6)))
    assert (both.count, both.pillars, both.moves) == (6, 2, False)
    assert suite("Point-2-Pillar+4-Ghost").cost_names == ("pillar", "ghost")
    assert suite("Point-2-Pillar+4-Ghost").moves


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("Point8Hazard", "Point-8-Hazard"),
        ("Pont-8-Hazard", "Point-8-Hazard"),
        ("Point-8-Hazrd", "Point-8-Hazard"),
        ("Ant-8-Gost", "Ant-8-Ghost"),
        ("point-5-hazard", "Point-5-Hazard"),
        ("Drone-83DHazard", "Drone-8-3DHazard"),
        ("Arm3-8-Hazrd", "Arm3-8-Hazard"),
    ],
)
def test_a_wrong_name_gets_the_nearest_ones_suggested(wrong, nearest):
    with pytest.raises(UnknownSuite, match=f"'{wrong}' is not a suite. Did you mean {nearest} or "):
        suite(wrong)


@pytest.mark.parametrize("wrong", ["", "xyzzy"])
def test_a_name_without_similar_ones_gets_the_grammar_explained(wrong):
    with pytest.raises(UnknownSuite, match=r"robot-number-kind.*Point, Swimmer, Arm3, Drone.*Hazard, 3DHazard, Pillar"):
        suite(wrong)


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("Point-0-Hazard", "has 0 obstacles of kind Hazard. Use at least one"),
        ("Point--3-Ghost", "has -3 obstacles of kind Ghost. Use at least one"),
        ("Goal_Point_0Hazards", "Use at least one"),
        ("Point-4-3DHazard", "Point stays on the ground.*Try 'Point-4-Hazard'"),
        ("Walker-1-3DGhost", "Walker stays on the ground.*Try 'Walker-1-Ghost'"),
        ("Drone-4-Pillar", "Drone moves in the air.*pillars are for robots on the ground"),
        ("Arm3-4-Pillar", "Arm3 moves in the air.*pillars are for robots on the ground"),
        ("Point-2-Hazard+1-Hazard", "names a kind of obstacle twice"),
        ("Drone-2-Hazard+1-3DHazard", "names a kind of obstacle twice"),
        ("Point-10-Ghost", "more obstacles than the arena of 4 m by 4 m has room for. Use fewer"),
        ("Point-20-Hazard+10-Ghost", "Use fewer"),
        ("Point-999999999-Hazard", "more obstacles than"),
        (f"Point-{'9' * 5000}-Hazard", "more obstacles than"),
        ("Point-8-Hazard+999999-Pillar", "more obstacles than"),
        ("x" * 10**6, r"xxx\.\.\. is not a suite"),
    ],
)
def test_an_impossible_suite_is_refused_with_advice(wrong, advice):
    with pytest.raises(UnknownSuite, match=advice):
        suite(wrong)


@pytest.mark.parametrize(
    "wrong", ["Point-4-Hazard+", "Point-1.5-Hazard", "Point-8-", "Point-Hazard-8", "Push_Point_8Hazards"]
)
def test_names_outside_the_grammar_are_refused(wrong):
    with pytest.raises(UnknownSuite):
        suite(wrong)


def test_an_unknown_suite_raises_a_value_error():
    assert issubclass(UnknownSuite, ValueError)


def test_every_robot_can_be_combined_with_every_kind_that_fits_it():
    names = all_suites([2])
    assert len(names) == 5 * 3 + 2 * 2  # five on the ground: hazards, pillars, ghosts; two in the air: balls
    assert [suite(name).name for name in names] == names


def test_an_indicator_suite_is_another_suite_with_the_same_obstacles():
    counted, plain = suite("Point-4-Hazard+2-Pillar-Indicator"), suite("Point-4-Hazard+2-Pillar")
    assert counted.name == "Point-4-Hazard+2-Pillar-Indicator"
    assert counted.obstacles == plain.obstacles
    assert counted != plain
