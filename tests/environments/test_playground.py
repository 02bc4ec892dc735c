"""Environments of MuJoCo Playground as worlds, with a toy in place of the package and with the package itself."""

import sys
from collections import namedtuple
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ascpo
from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import RunBatch
from ascpo.engines.functional import FunctionalEngine

State = namedtuple("State", "data obs reward done metrics info")
Data = namedtuple("Data", "qpos qvel")


class Fall:
    """A point that speeds up by its action. Its observations have two names, and NaN stands for far away."""

    action_size = 1

    def __init__(self, config):
        self.observation_size = {"state": (2,), "privileged_state": (3,)}
        self._config = SimpleNamespace(**{"episode_length": 10, "action_repeat": 2, "impl": "warp"} | config)

    def reset(self, rng):
        assert rng.dtype == jnp.uint32, "keys are of the older kind"
        return self._state(jax.random.uniform(rng, (1,)), jnp.zeros(1))

    def step(self, state, action):
        v = state.data.qvel + action
        x = state.data.qpos + v
        return self._state(jnp.where(jnp.abs(x) > 20.0, jnp.nan, x), v)

    def _state(self, x, v):
        obs = {"state": jnp.concatenate([jnp.nan_to_num(x), v]), "privileged_state": jnp.zeros(3)}
        return State(Data(x, v), obs, v[0], (x[0] < -5.0).astype(float), {}, {})


@pytest.fixture
def toy(monkeypatch):
    """A toy in place of the package."""
    registry = SimpleNamespace(ALL_ENVS=("Fall", "Rise"), load=lambda name, config_overrides: Fall(config_overrides))
    monkeypatch.setitem(sys.modules, "mujoco_playground", SimpleNamespace(registry=registry))


def speed(state):
    """The cost as a comparison, for which NaN would be safe."""
    return jnp.where(state.data.qpos[0] > 3.0, state.data.qvel[0], 0.0)


def collected(world, actions):
    engine = FunctionalEngine(world, 1)
    engine.start([RunBatch(ScriptedActor(), (0,))])
    (rollout,) = engine.collect([jnp.zeros((1, 0))], [np.array(actions, np.float32)[None, :, None, None]])
    return engine, jax.tree.map(lambda x: np.asarray(x)[0, :, 0], rollout)


def test_sizes_and_time_limit_are_those_of_the_environment(toy):
    engine = FunctionalEngine(ascpo.PlaygroundWorld("Fall", speed, ("speed",)), 1)
    assert (engine.observation_size, engine.action_size, engine.cost_names) == (2, 1, ("speed",))
    assert_array_equal(engine.action_bounds, [[-1.0], [1.0]])
    assert engine.notes == ()


def test_worlds_are_equal_by_value_so_that_their_programs_are_compiled_once(toy):
    one, same, other = (ascpo.PlaygroundWorld("Fall", speed, (name,)) for name in ("speed", "speed", "pace"))
    assert one == same != other
    assert hash(one) == hash(same)


def test_an_action_is_repeated_and_the_largest_cost_of_the_repetitions_counts(toy):
    """Two repetitions a step. The speeds are 1 and 2, 3 and 4, 4 and 4. From the second one on they cost."""
    _, r = collected(ascpo.PlaygroundWorld("Fall", speed), [7.0, 1.0, 0.0])
    assert_allclose(r.reward, [1 + 2, 3 + 4, 4 + 4])
    assert_allclose(r.cost[:, 0], [2.0, 4.0, 4.0])


def test_the_episode_length_of_the_configuration_is_a_time_limit_and_done_is_an_end(toy):
    _, r = collected(ascpo.PlaygroundWorld("Fall", speed), [0.0] * 5)
    assert r.truncated.tolist() == [False] * 4 + [True]
    _, r = collected(ascpo.PlaygroundWorld("Fall", speed, config={"episode_length": 4}), [0.0] * 2)
    assert r.truncated.tolist() == [False, True]
    _, r = collected(ascpo.PlaygroundWorld("Fall", speed), [-1.0] * 2)
    assert r.terminated.tolist() == [False, True]


def test_a_simulation_that_is_not_finite_violates_even_if_its_cost_is_zero(toy):
    engine, r = collected(ascpo.PlaygroundWorld("Fall", lambda state: speed(state) * 0.0), [1.0] * 4)
    assert_array_equal(r.cost[:, 0], [0.0, 0.0, 1.0, 0.0])
    assert r.terminated.tolist() == [False, False, True, False]
    assert [one.step for one in engine.divergences] == [3]


def test_the_part_that_is_observed_can_be_chosen(toy):
    assert ascpo.PlaygroundWorld("Fall", speed, observation="privileged_state").observation_size == 3
    with pytest.raises(ValueError, match=r"Fall has no observation 'states'\. Did you mean state"):
        ascpo.PlaygroundWorld("Fall", speed, observation="states")


def test_costs_that_do_not_fit_their_names_are_refused(toy, unchecked_shapes):
    with pytest.raises(ValueError, match=r"costs has the shape \(1,\) of float32\. It must be \(2,\)"):
        FunctionalEngine(ascpo.PlaygroundWorld("Fall", speed, ("speed", "height")), 1)


def test_a_misspelt_name_gets_the_nearest_one_suggested(toy):
    with pytest.raises(ValueError, match=r"Fal is not an environment of MuJoCo Playground\. Did you mean Fall"):
        ascpo.PlaygroundWorld("Fal", speed)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_playground", None)
    with pytest.raises(ValueError, match=r"not installed: pip install 'ascpo\[playground\]'"):
        ascpo.PlaygroundWorld("Fall", speed)


def test_an_environment_of_the_package_plays_with_a_cost():
    """The cart is pushed with full force, gets faster than 0.1 metres a second, and does so twice in the same way."""
    pytest.importorskip("mujoco_playground", reason="playground is not installed")
    config = {"episode_length": 4}
    world = ascpo.PlaygroundWorld("CartpoleBalance", lambda s: jnp.abs(s.data.qvel[0]), ("speed",), config=config)
    _, r = collected(world, [1.0] * 8)
    assert r.truncated.tolist() == [False, False, False, True] * 2
    assert (np.diff(r.cost[:4, 0]) > 0.0).all()
    assert r.cost[3, 0] > 0.1
    assert_array_equal(collected(world, [1.0] * 8)[1].cost, r.cost)
