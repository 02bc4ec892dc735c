"""Grids of runs, from flags and from TOML."""

import pytest

from ascpo.runs.serialization import BadSetting
from ascpo.sweep.grid import Grid, grids_in

ENVS = ("Point-1-Hazard", "Point-4-Hazard")


def names(grid):
    return [name for name, _ in grid.configs()]


def test_a_grid_has_every_combination():
    grid = Grid(env=ENVS, algo=("scpo", "trpo"), preset=("ours", "published"), seeds="0..2")
    found = dict(grid.configs())
    assert len(found) == 2 * 2 * 2 * 3
    one = found["Point-4-Hazard-scpo-published-seed2"]
    assert (one.env, one.algo, one.preset, one.seed) == ("Point-4-Hazard", "scpo", "published", 2)


def test_a_setting_that_varies_is_in_the_name_of_the_run():
    grid = Grid(env=ENVS[:1], vary=(("trust_region.delta", "0.01", "0.02"), ("horizon", "500", "900")))
    assert names(grid) == [
        f"Point-1-Hazard-ascpo-delta{delta}-horizon{horizon}-seed0" for delta in (0.01, 0.02) for horizon in (500, 900)
    ]
    assert {config.settings.trust_region.delta for _, config in grid.configs()} == {0.01, 0.02}


def test_a_setting_varies_only_where_it_has_an_effect():
    grid = Grid(env=ENVS[:1], algo=("scpo", "trpo"), vary=(("cost_fit.window", "3", "5"),))
    assert names(grid) == [
        "Point-1-Hazard-scpo-window3-seed0",
        "Point-1-Hazard-scpo-window5-seed0",
        "Point-1-Hazard-trpo-seed0",
    ]


def test_a_setting_without_effect_leaves_the_others_of_its_group_alone():
    vary = (("trust_region.delta", "0.01", "0.02"),)
    grid = Grid(env=ENVS[:1], algo=("ascpo", "trpo"), vary=vary, set=("trust_region.signal_every=0",))
    assert {name: config.settings.trust_region.delta for name, config in grid.configs()} == {
        f"Point-1-Hazard-{algo}-delta{delta}-seed0": delta for algo in ("ascpo", "trpo") for delta in (0.01, 0.02)
    }


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        ({"set": ("cost_fit.window=3",), "algo": ("trpo",)}, r"cost_fit\.window=3 changes nothing: trpo has no"),
        ({"set": ("nothing=3",)}, "ascpo has no setting 'nothing'"),
        ({"vary": (("horizon",),)}, "--vary takes the name of a setting and its values"),
        ({"vary": (("hidden", "8,8", "8-8"),)}, "hidden"),
        ({"seeds": "a"}, "not a list of seeds"),
        ({"algo": ()}, "at least one"),
        ({"env": ("Nowhere",)}, "Nowhere"),
    ],
)
def test_impossible_grids_are_refused_with_a_message(wrong, answer):
    with pytest.raises(ValueError, match=answer):
        Grid(**wrong).configs()


def test_a_file_and_flags_mean_the_same_grid(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text("""
        env = ["Point-1-Hazard", "Point-4-Hazard"]
        algo = "scpo"
        seeds = [0, 3]
        total_steps = 1e6
        set = {horizon = 500, hidden = [8, 8]}
        vary = {"trust_region.delta" = [0.01, 0.02]}
    """)
    typed = Grid(
        env=ENVS,
        algo=("scpo",),
        seeds="0,3",
        total_steps=1e6,
        set=("horizon=500", "hidden=8,8"),
        vary=(("trust_region.delta", "0.01", "0.02"),),
    )
    assert grids_in(file) == [typed]


def test_a_file_may_have_several_grids(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text('[[grid]]\nalgo = "trpo"\n[[grid]]\nalgo = "cpo"\nengine = "mjx-jax"\n')
    assert [(grid.algo, grid.engine) for grid in grids_in(file)] == [(("trpo",), "native"), (("cpo",), "mjx-jax")]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("env = ", "is not valid TOML"),
        ('environment = "x"', "no setting environment"),
        ("seeds = 3\n[[grid]]\n", "seeds beside"),
        ("[grid]\n", "two brackets"),
        ("set = 3", "set is a table"),
        ("total_steps = -1", "total_steps"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path, text, answer):
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    with pytest.raises((BadSetting, ValueError), match=answer) as error:
        grids_in(file)
    assert str(file) in str(error.value)
