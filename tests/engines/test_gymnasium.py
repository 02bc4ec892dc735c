"""The Gymnasium engine: episodes of any environment in parallel, restored in the middle of episodes."""

import functools
import re
import warnings

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit
from numpy.testing import assert_allclose, assert_array_equal

import ascpo
from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import EpisodePlayer, RunBatch
from ascpo.engines.gymnasium.engine import GymnasiumEngine
from ascpo.engines.gymnasium.errors import Faulty, Unsuitable
from ascpo.seeding import Purpose, reset_seed, seed_of
from examples import pendulum
from tests.actors import ToyActor, running_maxima
from tests.slow import always

THETA = jnp.array([0.4, -0.7])


def act(theta, observation, noise):
    """Act by the first and the last number of the observation. The last is the augmentation, if there is one."""
    return theta[0] * observation[0] + theta[1] * observation[-1] + 0.8 * noise


def walk(theta, observation, noise):
    return jnp.tanh(theta[:2] + noise)


ONE, TWO, FORGETFUL = ToyActor(act, maxima=1), ToyActor(act, maxima=2), ToyActor(act)


class Walk(gymnasium.Env):
    """A random walk that the action pushes; beyond 3 it is over. The cost is how far from 0 it is, beyond 1.

    `faults` are what to spoil at a step: functions of the five values.
    """

    def __init__(self, action_space=None, faults=None, limit=12):
        self.observation_space = Box(-np.inf, np.inf, (2, 1), np.float64)
        self.action_space = action_space or Box(-0.5, 0.7, (1,), np.float32)
        self.faults, self.limit = faults or {}, limit
        self.taken = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seed, self.t, self.x = seed, 0, self.np_random.normal()
        return np.array([[self.x], [self.t]]), {"seed": seed}

    def step(self, action):
        assert action in self.action_space
        self.taken.append(action)
        self.t += 1
        self.x += float(np.sum(action)) + 0.3 * self.np_random.normal()
        # An integer zero, as max(0, ...) gives it: it must not make integers of the other environments' costs.
        step = (
            np.array([[self.x], [self.t]]),
            -abs(self.x),
            abs(self.x) > 3,
            self.t >= self.limit,
            {
                "cost": max(0, abs(self.x) - 1),
                "what": [None] * self.t,
            },
        )
        spoil = self.faults.get((self.seed, self.t), lambda *step: step)
        return spoil(*step)


def noise(steps, envs, act=1, seed=0):
    return np.random.default_rng(seed).standard_normal((steps, envs, act)).astype(np.float32)


def start(engine, actor=ONE, seed=5):
    engine.start([RunBatch(actor, (seed,))])


def collect(engine, noise):
    """The rollout of the only run, without its axis."""
    (rollout,) = engine.collect([THETA[None]], [noise[None]])
    assert all(isinstance(leaf, np.ndarray) and len(leaf) == 1 for leaf in jax.tree.leaves(rollout))
    return jax.tree.map(lambda x: x[0], rollout)


def collected(engine, actor=ONE, steps=100, seed=5):
    start(engine, actor, seed)
    return collect(engine, noise(steps, engine.envs_per_run, engine.action_size))


def snapshot_of(engine):
    return engine.snapshots()(0)


def seeds(seed, env, count):
    """The seeds of an environment's first episodes."""
    return [reset_seed(seed_of(Purpose.TRAINING, seed, env), episode) for episode in range(count)]


def same(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert_array_equal(x, y)


def test_a_gymnasium_engine_follows_the_protocol_for_one_run():
    engine = GymnasiumEngine(Walk, 2)
    start(engine)
    assert isinstance(engine, EpisodePlayer)
    assert (engine.max_runs, engine.envs_per_run) == (1, 2)
    with pytest.raises(ValueError, match="one run at a time, not 3"):
        engine.start([RunBatch(ONE, (0, 1)), RunBatch(TWO, (0,))])
    assert (engine.observation_size, engine.action_size, engine.cost_names) == (2, 1, ("cost",))
    engine.close()


def test_a_rollout_is_what_single_environments_do_one_by_one():
    r = collected(GymnasiumEngine(Walk, 3))
    assert r.terminated.any()
    assert r.truncated.any()
    for i in range(3):
        env, episodes, maximum = Walk(), iter(seeds(5, i, 100)), 0.0
        observation, _ = env.reset(seed=next(episodes))
        for t in range(100):
            assert_allclose(r.observation[t, i], [*observation.ravel(), maximum], rtol=1e-5, atol=1e-5)
            drawn = act(THETA, r.observation[t, i], noise(100, 3)[t, i])
            assert_allclose(r.action[t, i], drawn, rtol=1e-5, atol=1e-6)
            # [-1, 1] becomes [-0.5, 0.7].
            given = np.clip(0.1 + 0.6 * np.clip(r.action[t, i], -1.0, 1.0), -0.5, np.float32(0.7)).astype("f4")
            observation, reward, terminated, truncated, info = env.step(given)
            maximum = max(maximum, info["cost"])
            assert_allclose(r.next_observation[t, i], [*observation.ravel(), maximum], rtol=1e-5, atol=1e-5)
            assert_allclose(r.reward[t, i], reward, rtol=1e-5, atol=1e-5)
            assert_allclose(r.cost[t, i], [info["cost"]], rtol=1e-5, atol=1e-5)
            assert (r.terminated[t, i], r.truncated[t, i]) == (terminated, truncated and not terminated)
            # Rounding of the action may add up: the engine's own state is taken, and the next step compared.
            env.x = float(r.next_observation[t, i, 0])
            if terminated or truncated:
                (observation, _), maximum = env.reset(seed=next(episodes)), 0.0


def test_a_step_that_ends_in_both_ways_counts_as_terminated():
    r = collected(GymnasiumEngine(functools.partial(Walk, limit=1, action_space=Box(9.0, 9.5, (1,), np.float32)), 2))
    assert r.terminated.all()
    assert not r.truncated.any()


def test_the_augmentation_is_the_running_maximum_of_the_costs():
    r = collected(GymnasiumEngine(Walk, 3))
    M, M_next = running_maxima(r.cost, r.done)
    assert M_next.max() > 0
    assert_allclose(r.observation[..., -1:], M, atol=1e-6)
    assert_allclose(r.next_observation[..., -1:], M_next, atol=1e-6)


def test_a_policy_without_augmentation_observes_the_raw_observation():
    assert collected(GymnasiumEngine(Walk, 2), FORGETFUL, steps=3).observation.shape == (3, 2, 2)


def test_a_cut_begins_new_episodes_with_the_initial_augmentation():
    engine = GymnasiumEngine(Walk, 3)
    collected(engine)
    episodes = snapshot_of(engine)["episodes"]
    engine.cut()
    assert_array_equal(snapshot_of(engine)["episodes"], episodes + 1)
    assert_array_equal(collect(engine, noise(1, 3)).observation[0, :, 1:], 0.0)


def test_other_environments_do_not_change_an_episode():
    alone, together = collected(GymnasiumEngine(Walk, 1)), GymnasiumEngine(Walk, 4)
    start(together)
    others = np.concatenate([noise(100, 1), noise(100, 3, seed=1)], axis=1)
    r = collect(together, others)
    assert_allclose(r.observation[:, :1], alone.observation, rtol=1e-5, atol=1e-5)


def test_equal_seeds_give_equal_runs_and_other_seeds_do_not():
    engine = GymnasiumEngine(Walk, 2)
    first, other, again = collected(engine), collected(engine, seed=6), collected(engine)
    same(first, again)
    assert (first.observation[0] != other.observation[0]).any()


def taken(space, drawn):
    """The actions that an environment with this action space gets."""
    env = Walk(space)
    engine = GymnasiumEngine(lambda: env, 1)
    start(engine, ScriptedActor())
    env.taken.clear()
    collect(engine, np.array(drawn, np.float32).reshape(1, 1, -1))
    return env.taken[0]


def test_actions_are_stretched_to_the_bounds_and_clipped():
    space = Box(np.array([[0.1, -8.0]]), np.array([[0.7, -2.0]]), dtype=np.float64)
    assert_allclose(taken(space, [0.0, 0.5]), [[0.4, -3.5]], rtol=1e-6)
    assert_allclose(taken(space, [-5.0, 5.0]), [[0.1, -2.0]], rtol=1e-6)
    assert taken(space, [1.0, -1.0]).dtype == np.float64


def test_actions_without_bounds_are_not_changed():
    space = Box(np.array([-np.inf, -4.0, 0.0], "f4"), np.array([np.inf, 4.0, np.inf], "f4"))
    assert_allclose(taken(space, [3.0, 3.0, 3.0]), [3.0, 4.0, 3.0])


def test_integer_actions_are_rounded():
    given = taken(Box(0, 10, (2,), np.int64), [0.35, 2.0])
    assert given.dtype == np.int64
    assert_array_equal(given, [7, 10])  # 5 + 5 · 0.35 = 6.75


# Stops and resumptions.


@pytest.mark.parametrize("stop", always([0, 1, 37, 100], 37))
def test_a_restored_engine_continues_bit_for_bit(stop):
    engine = GymnasiumEngine(Walk, 5)
    collected(engine, steps=stop) if stop else start(engine)
    snapshot = snapshot_of(engine)
    kept = {name: array.copy() for name, array in snapshot.items()}
    rest = noise(80, 5, seed=1)
    whole = collect(engine, rest)
    same(snapshot, kept)
    other = GymnasiumEngine(Walk, 5)
    start(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.restore([snapshot])
    same(snapshot_of(other), snapshot)
    same(collect(other, rest), whole)
    same(snapshot_of(other), snapshot_of(engine))


def test_long_episodes_are_restored_too():
    make = functools.partial(TimeLimit, pendulum.Pendulum(), 10_000)
    engine, other = GymnasiumEngine(make, 1), GymnasiumEngine(pendulum.Pendulum, 1)
    collected(engine, TWO, steps=200)
    start(other, TWO)
    other.restore([snapshot_of(engine)])
    assert snapshot_of(other)["lengths"] == [200]
    same(collect(other, noise(9, 1)), collect(engine, noise(9, 1)))


class Forgetful(Walk):
    """Ignores its seed."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None)


def test_an_environment_that_does_not_repeat_itself_is_restored_with_a_warning():
    engine = GymnasiumEngine(Forgetful, 2)
    collected(engine, steps=10)
    with pytest.warns(UserWarning, match="does not repeat itself.*resumed run will differ"):
        engine.restore([snapshot_of(engine)])
    assert np.isfinite(collect(engine, noise(3, 2)).observation).all()


def test_a_snapshot_of_more_environments_is_refused():
    engine, other = GymnasiumEngine(Walk, 2), GymnasiumEngine(Walk, 3)
    start(engine)
    start(other)
    with pytest.raises(ValueError, match="has 2 environments, but a run has 3 here"):
        other.restore([snapshot_of(engine)])


# Faults.


def spoilt(fault):
    """The third step of the third episode of environment 1 is faulty."""
    seed = seeds(5, 1, 3)[2]
    engine = GymnasiumEngine(functools.partial(Walk, faults={(seed, 3): fault}, limit=5), 3)
    with pytest.raises(Faulty) as caught:
        collected(engine)
    where, _, what = str(caught.value).partition(", step 3: ")
    where += ", step 3"
    assert where == f"Environment 1 of {__name__}:Walk, episode 2 (seed {seed}), step 3"
    return what


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda o, r, end, late, info: (o, np.nan, end, late, info), "The reward is nan"),
        (lambda o, r, end, late, info: (o, 1e39, end, late, info), "The reward is inf"),
        (
            lambda o, r, end, late, info: (o + np.array([[0], [np.inf]]), r, end, late, info),
            "The observation (entry 1) is inf",
        ),
        (lambda o, r, end, late, info: (o, r, end, late, {"cost": np.nan}), 'info["cost"] is nan'),
        (lambda o, r, end, late, info: (o, r, end, late, {"cost": 1e39}), 'info["cost"] is 1e+39'),
        (lambda o, r, end, late, info: (o, r, end, late, {}), "The info of a step has no cost"),
        (
            lambda o, r, end, late, info: (o, r, end, late, {"costs": [0, 1]}),
            "There are 2 costs, where there were 1 before",
        ),
    ],
)
def test_a_fault_stops_the_run_and_says_where_it_was(fault, words):
    assert spoilt(fault).startswith(words)


def test_an_exception_of_the_environment_is_named_with_its_place_and_kept_as_the_cause():
    def fault(*step):
        raise ZeroDivisionError("at home")

    assert re.match(r"step raises ZeroDivisionError: at home \(test_gymnasium.py, line \d+\)\.", spoilt(fault))
    engine = GymnasiumEngine(functools.partial(Walk, faults={(seeds(5, 0, 1)[0], 3): fault}), 2)
    with pytest.raises(Faulty) as caught:
        collected(engine)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    "values", [(1, 0.75), (np.float32(1), 0.75), (True, 0.75), (np.array(1), np.array(0.75)), (np.bool_(True), 0.75)]
)
def test_costs_keep_their_values_whatever_the_types_of_the_other_costs(values):
    count = iter(range(100))

    class Costly(Walk):
        def __init__(self):
            super().__init__()
            self.cost = values[next(count) % 2]

        def step(self, action):
            return *super().step(action)[:4], {"cost": self.cost}

    # One more environment was made to be inspected.
    assert_array_equal(collected(GymnasiumEngine(Costly, 2), steps=1).cost[0, :, 0], [0.75, 1.0])


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda costs: np.array(costs, np.float32)])
def test_costs_may_be_any_kind_of_vector(kind):
    class Costly(Walk):
        def step(self, action):
            return *super().step(action)[:4], {"costs": kind([self.t, 0.5]), "cost": 9.0}

    r = collected(GymnasiumEngine(Costly, 2), TWO, steps=2)
    assert_array_equal(r.cost[:, 0], [[1.0, 0.5], [2.0, 0.5]])


@pytest.mark.parametrize("cost", [5e-324, 1e-60, 1e-40])
def test_a_positive_cost_that_is_too_small_for_32_bits_does_not_become_zero(cost):
    """Programs on a processor or a GPU count numbers below the smallest normal one as zero."""

    class Costly(Walk):
        def step(self, action):
            return *super().step(action)[:4], {"costs": [cost, 0.0]}

    r = collected(GymnasiumEngine(Costly, 2), TWO, steps=2)
    assert_array_equal(jax.jit(lambda costs: costs > 0)(r.cost), [[[True, False]] * 2] * 2)


def test_an_unfit_environment_is_refused_before_anything_runs():
    with pytest.raises(Unsuitable, match="Discrete"):
        GymnasiumEngine("CartPole-v1", 2)
    with pytest.raises(Unsuitable, match="No-Such is not an environment that Gymnasium knows"):
        GymnasiumEngine("No-Such", 2)
    with pytest.raises(ValueError, match="at least one environment"):
        GymnasiumEngine(Walk, 0)


# Names and processes.


def test_a_suite_by_its_id_has_its_own_costs_and_names():
    name = "Point-1-Hazard"
    engine = GymnasiumEngine(f"ascpo/{name}-v0", 2)
    r = collected(engine, ToyActor(walk, maxima=1), steps=40)
    assert engine.cost_names == ascpo.suite(name).cost_names
    env = ascpo.make(name)
    env.reset(seed=seeds(5, 1, 1)[0])
    for t in range(40):
        observation, *_, info = env.step(r.action[t, 1])
        assert_allclose(r.next_observation[t, 1, :-1], observation, atol=1e-4)
        assert_allclose(r.cost[t, 1], info["costs"], atol=1e-5)


def test_results_do_not_depend_on_the_number_of_processes():
    apart, here = GymnasiumEngine("examples.pendulum:make", 2, processes=True), GymnasiumEngine(pendulum.make, 2)
    same(collected(apart, TWO, steps=130), collected(here, TWO, steps=130))
    snapshot = snapshot_of(apart)
    start(apart, TWO)
    apart.restore([snapshot])
    same(collect(apart, noise(9, 2)), collect(here, noise(9, 2)))
    apart.close()


def make_here_alone():
    """It works only in the process of the tests."""
    import multiprocessing

    if multiprocessing.parent_process() is not None:
        raise SystemExit("no environment here")
    return Walk()


def test_an_environment_that_cannot_be_made_in_a_process_is_refused_with_a_message():
    with pytest.raises(Unsuitable, match="Making it raises SystemExit: no environment here"):
        GymnasiumEngine(make_here_alone, 1, processes=True)
