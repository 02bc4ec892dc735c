"""Training with scene replay: what uses the replays, what does not, and that it resumes."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from ascpo.algorithms import ASCPO
from ascpo.engines.contract import RunBatch
from ascpo.engines.functional import FunctionalEngine
from ascpo.engines.native.engine import NativeEngine
from ascpo.engines.replay import FRESH, Scene
from ascpo.engines.settings import ReplaySettings
from ascpo.environments.spaces import make_task
from ascpo.errors import InertSetting
from ascpo.networks.settings import CostFitSettings, FitSettings
from ascpo.runs.config import Config, configure
from ascpo.surrogates.settings import TargetSettings
from ascpo.surrogates.weights import Weights
from ascpo.training.agent import agent_for
from ascpo.training.estimate import estimate
from ascpo.training.fit import fit_critics
from ascpo.training.loop import TrainingRun, continue_training, start
from ascpo.training.metrics import measure
from ascpo.training.runs import HostMap, RunGroup, VectorMap
from ascpo.training.settings import Settings
from ascpo.training.update import update
from tests.slow import slow
from tests.toys import Corridor
from tests.training.made import ENVS, TIME, agent_of, rollout_of

REPLAY = ReplaySettings(share=0.5, pool=4)
AGENT = agent_of("ascpo", replay=REPLAY)


def replayed_beside(agent, seed=0):
    """A rollout whose last environment plays two scenes again, and the same with other rewards and costs there."""
    rollout = rollout_of(agent, seed)
    done = np.asarray(rollout.done).copy()
    done[3, 2] = True
    number = np.cumsum(done, axis=0) - done
    scene = Scene(*(np.zeros((TIME, ENVS), np.int32) for _ in range(3)))
    scene.env[:], scene.number[:], scene.slot[:] = np.arange(ENVS), number + 5, FRESH
    scene.env[:, 2], scene.number[:, 2], scene.slot[:, 2] = 0, number[:, 2] % 2, number[:, 2] % 2
    scene = jax.tree.map(jnp.asarray, scene)
    one = replace(rollout, terminated=jnp.asarray(done), truncated=jnp.zeros((TIME, ENVS), bool), scene=scene)
    other = replace(one, reward=one.reward.at[:, 2].add(7.0), cost=one.cost.at[:, 2].add(2.0))
    return one, other


def state_with_pool(agent):
    state = agent.init(0)
    scene = jnp.array([[0, 0], [0, 1], [1, 0], [FRESH] * 2], jnp.int32)
    return replace(state, pool=replace(state.pool, scene=scene))


def epoch_of(agent, state, rollout):
    estimates = estimate(agent, state, rollout)
    after, step, cap = update(agent, state, rollout, estimates)
    after, losses = fit_critics(agent, after, estimates)
    return after, estimates, measure(agent, state, after, rollout, estimates, step, cap, losses)


@slow("trains")
def test_measurements_and_reward_learning_use_only_fresh_scenes():
    state = state_with_pool(AGENT)
    (_, one, measured), (_, other, measured_other) = (epoch_of(AGENT, state, r) for r in replayed_beside(AGENT))
    for a, b in zip(jax.tree.leaves(one.episodes), jax.tree.leaves(other.episodes), strict=True):
        assert_array_equal(a, b)
    for a, b in zip(jax.tree.leaves(one.evidence.trend.sums), jax.tree.leaves(other.evidence.trend.sums), strict=True):
        assert_array_equal(a, b)
    fresh = [0, 1]
    assert_array_equal(one.evidence.advantage[:, fresh], other.evidence.advantage[:, fresh])
    assert_array_equal(one.evidence.step_weights.reward[:, 2], 0.0)
    assert_array_equal(one.value_batch.known, np.tile(np.arange(ENVS) < 2, (TIME, 1)))
    assert_array_equal(one.window.known[-TIME:], one.value_batch.known)
    for name in ("total_cost", "worst_cost"):
        assert_array_equal(getattr(measured, name), getattr(measured_other, name))
    assert_array_equal(one.quality.value, other.quality.value)
    assert_array_equal(measured.losses["value"], measured_other.losses["value"])


@slow("the measurements are always tested")
def test_statistics_with_replays_are_those_of_the_fresh_environments_alone():
    rollout, _ = replayed_beside(AGENT)
    found = estimate(AGENT, state_with_pool(AGENT), rollout)
    alone = agent_of("ascpo", sizes=replace(AGENT.sizes, num_envs=2), num_envs=2)
    two = jax.tree.map(lambda x: x[:, :2], replace(rollout, scene=None))
    expected = estimate(alone, alone.init(0), two)
    assert_allclose(found.evidence.advantage[:, :2], expected.evidence.advantage, rtol=1e-4, atol=1e-5)
    for a, b in zip(jax.tree.leaves(found.episodes), jax.tree.leaves(expected.episodes), strict=True):
        assert_allclose(a, b, rtol=1e-5)
    sums, those = found.evidence.trend.sums, expected.evidence.trend.sums
    for a, b in zip(jax.tree.leaves(sums), jax.tree.leaves(those), strict=True):
        assert_allclose(a, b, rtol=1e-5)
    assert_allclose(found.quality.value, expected.quality.value, rtol=1e-3, atol=1e-5)


@slow("replay is off by default")
def test_without_finished_fresh_episodes_the_running_fresh_ones_are_used():
    rollout, _ = replayed_beside(AGENT)
    ends = jnp.zeros((TIME, ENVS), bool).at[2, 2].set(True)
    found = estimate(AGENT, state_with_pool(AGENT), replace(rollout, terminated=ends)).episodes
    assert (int(found.finished), float(found.count)) == (0, 2.0)
    assert_allclose(found.reward, np.asarray(rollout.reward)[:, :2].sum(axis=0).mean(), rtol=1e-5)
    largest = np.asarray(rollout.cost)[:, :2].max(axis=0)
    assert_allclose(found.max_cost, largest.mean(axis=0), rtol=1e-5)
    assert_allclose(found.quantiles[-1], largest.max(axis=0), rtol=1e-5)


def test_learning_from_costs_weights_replays():
    """The surrogate's gradient at the start is the sum of weighted advantages, over steps by mean length."""
    state, (rollout, _) = state_with_pool(AGENT), replayed_beside(AGENT)
    evidence = estimate(AGENT, state, rollout).evidence
    weight = np.asarray(evidence.step_weights.cost)
    assert (weight[:, 2] > 0).all()
    assert_allclose(np.tensordot(weight, evidence.cost_advantage, 2), 0.0, atol=1e-5)

    def surrogate(ratio):
        return AGENT.algorithm.constraint.surrogate(evidence, Weights(ratio, scale=evidence.step_weights.cost))[0]

    found = jax.grad(surrogate)(jnp.ones((TIME, ENVS)))
    expected = weight * np.asarray(evidence.cost_advantage)[..., 0] / float(evidence.episodes.count)
    assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


@slow("replay is off by default")
def test_scenes_enter_the_pool_by_the_limits_of_learning():
    agent = agent_of("ascpo", replay=REPLAY, limits=(10.0, 10.0))
    rollout, _ = replayed_beside(agent)
    assert not bool(estimate(agent, agent.init(0), rollout).pool.live.any())
    near = agent_of("ascpo", replay=REPLAY, limits=(10.0, 10.0), margin=9.9)
    found = estimate(near, near.init(0), rollout).pool
    assert bool(found.live.any())
    assert set(np.asarray(found.scene)[np.asarray(found.live), 0]) <= {0, 1}


def test_scene_replay_is_refused_without_cost_critics():
    with pytest.raises(InertSetting, match=r"replay\.share=0\.3 changes nothing: trpo has no cost critics"):
        configure("corridor", "trpo", replay={"share": 0.3})
    with pytest.raises(ValueError, match=r"replay\.share"):
        Settings(replay=ReplaySettings(share=0.95))


def test_a_config_without_scene_replay_is_as_before():
    plain = configure("corridor").plain()
    assert "replay" not in plain["settings"]
    chosen = configure("corridor", replay={"share": 0.25})
    assert chosen.plain()["settings"]["replay"] == {"share": 0.25, "pool": 64}
    assert Config.from_plain(chosen.plain()) == chosen
    assert Config.from_plain(plain).settings.replay == ReplaySettings()


TASK = make_task("Point-1-Hazard", "paper", "closest", 9)
SMALL = Settings(
    num_envs=2,
    horizon=30,
    hidden=(4,),
    # Every episode goes over these, so that all scenes enter the pool.
    limits=(-1.0,),
    value_fit=FitSettings(2, 8),
    cost_fit=CostFitSettings(2, 8, window=2),
    replay=REPLAY,
)


def trained(seeds, epochs, states=None):
    """The epochs of runs side by side, from the start or from these states."""
    engine = NativeEngine(TASK, 2 * len(seeds), 1)
    agent = agent_for(engine, ASCPO().build(0.98), SMALL)
    runs = [TrainingRun(agent, seed) for seed in seeds]
    begun = start(engine, runs, epochs)
    if states is not None:
        engine.restore([state.engine for state in states])
    return list(continue_training(engine, runs, states or begun, epochs))


def assert_same_state(one, two):
    for pair in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        keys = [jnp.issubdtype(x.dtype, jax.dtypes.prng_key) for x in pair]
        assert_array_equal(*(jax.random.key_data(x) if key else x for x, key in zip(pair, keys, strict=True)))


@slow("the test that engines continue from snapshots with their pools always runs")
def test_a_training_with_replays_resumes_bit_for_bit_and_is_the_same_alone():
    whole = trained((3, 8), 4)
    rows = [epoch.row for epoch in whole[-1]]
    assert all(row["ReplayShare"] > 0.2 and row["ReplayScenes"] == 4 for row in rows)
    (alone,) = trained((8,), 4)[-1]
    assert_equal(alone.row, rows[1])
    resumed = trained((3, 8), 4, [epoch.state for epoch in whole[1]])
    for expected, found in zip(whole[2:], resumed, strict=True):
        for one, two in zip(expected, found, strict=True):
            assert_equal(one.row, two.row)
            assert_same_state(one.state.learner, two.state.learner)
            assert_same_state(one.state.engine, two.state.engine)


@slow("compiles its own program")
@pytest.mark.usefixtures("unchecked_shapes")
def test_runs_in_one_program_have_their_own_pools_of_scenes():
    engine = NativeEngine(TASK, 4, 1)
    agent = agent_for(engine, ASCPO().build(0.98), SMALL)
    states = [agent.init(seed) for seed in (0, 1)]
    pool = replace(states[1].pool, scene=jnp.array([[1, 3], *[[FRESH] * 2] * 3], jnp.int32))
    states[1] = replace(states[1], pool=pool)
    together, apart = (RunGroup(agent, states, over_runs) for over_runs in (VectorMap(), HostMap()))
    assert_array_equal(together.scenes(), apart.scenes())
    assert_array_equal(together.scenes()[1, 0], [1, 3])
    engine.start([RunBatch(agent.actor, (0, 1), replay=REPLAY)])
    engine.offer([together.scenes()])
    theta, noise = together.act()
    (rollout,) = engine.collect([theta], [noise])
    expected = together.compile_jobs()[0][1][1]
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), rollout)
    assert shapes == jax.tree.map(lambda x: (x.shape, x.dtype), expected)
    plain = RunGroup(agent_of("ascpo"), [agent_of("ascpo").init(0)], HostMap())
    assert plain.scenes() is None


def test_an_engine_without_scene_replay_refuses_it_before_training():
    engine = FunctionalEngine(Corridor(), 2)
    agent = agent_for(engine, ASCPO().build(0.98), SMALL)
    with pytest.raises(ValueError, match="cannot replay scenes"):
        start(engine, [TrainingRun(agent, 0)])


@slow("replay is off by default")
def test_with_near_misses_their_scenes_enter_the_pool():
    sizes = replace(AGENT.sizes, margins=True)
    agent = agent_of("ascpo", sizes=sizes, replay=REPLAY, limits=(0.0, 0.0), near_miss=0.2)
    rollout, _ = replayed_beside(agent)
    quiet = jnp.zeros_like(rollout.cost)
    near, far = (replace(rollout, cost=quiet, signed_cost=quiet + signed) for signed in (-0.1, -0.3))
    assert bool(estimate(agent, agent.init(0), near).pool.live.any())
    assert not bool(estimate(agent, agent.init(0), far).pool.live.any())
    assert float(estimate(agent, agent.init(0), near).episodes.violation_rate) == 0.0


@slow("the test of crossings in fresh scenes always runs")
def test_chernoff_bounds_and_time_outs_use_only_fresh_scenes():
    sizes, target = replace(AGENT.sizes, margins=True), {"limits": (0.0, 0.0), "near_miss": 0.5, "replay": REPLAY}
    agent = agent_of(ASCPO(mode="chernoff", target=TargetSettings(timeout_limit=0.1)), sizes=sizes, **target)
    one, other = (replace(r, signed_cost=r.cost) for r in replayed_beside(agent))
    found, changed = (estimate(agent, state_with_pool(agent), r).evidence for r in (one, other))
    limits = agent.learning_limits
    assert_array_equal(agent.constraint.offset(found, limits), agent.constraint.offset(changed, limits))
    assert float(found.cost_signal[:, 2].max()) == 0.0

    def timeouts(ratio):
        return agent.constraint.surrogate(found, Weights(ratio, scale=found.step_weights.cost))[-1]

    slope = jax.grad(timeouts)(jnp.ones((TIME, ENVS)))
    assert_array_equal(slope[:, 2], 0.0)
    assert float(jnp.abs(slope[:, :2]).max()) > 0.0
