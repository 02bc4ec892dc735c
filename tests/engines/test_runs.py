"""Several runs in one native engine: each is bit-identical to the same run alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ascpo.engines.contract import RunBatch
from ascpo.engines.native.engine import NativeEngine
from ascpo.environments.spaces import make_task
from ascpo.seeding import Purpose, seed_of
from tests.actors import ToyActor
from tests.slow import always, slow

ENVS = 2
"""Of each run."""


def act(theta, observation, noise):
    """Act by the whole observation, so that any bit that differs changes the following steps."""
    return jnp.tanh(theta[: len(noise)] + theta[-1] * jnp.sum(observation) + noise)


def shield(theta, observation, action):
    return jnp.clip(action, -0.5, 0.5)


REMEMBERING = ToyActor(act, maxima=1)
SHIELDED = ToyActor(act, shield=shield)
BATCHES = [RunBatch(REMEMBERING, (3, 700)), RunBatch(SHIELDED, (3,))]
RUNS = [RunBatch(REMEMBERING, (3,)), RunBatch(REMEMBERING, (700,)), RunBatch(SHIELDED, (3,))]
THETAS = [jnp.array([[0.5, 0.1, 0.01], [-0.2, 0.3, 0.02]]), jnp.array([[0.4, -0.1, 0.03]])]
SUITES = ["Point-1-Hazard", "Point-4-Pillar", "Point-4-Ghost"]


def started(suite, batches):
    """Episodes are short enough to use up those that are drawn ahead."""
    engine = NativeEngine(make_task(suite, "paper", "closest", 9), ENVS * sum(map(len, batches)), 1)
    engine.start(batches)
    return engine


def together_of(suite):
    return started(suite, BATCHES)


def alone_of(suite, run):
    return started(suite, [RUNS[run]])


def noises(seed, steps):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((len(batch), steps, ENVS, 2)).astype(np.float32) for batch in BATCHES]


def by_run(by_batch):
    """Each run's part, with the axis of runs left in."""
    return [
        jax.tree.map(lambda x, i=i: x[i : i + 1], each)
        for each, batch in zip(by_batch, BATCHES, strict=True)
        for i in range(len(batch))
    ]


def collect_alone(engine, run, noise):
    (rollout,) = engine.collect([by_run(THETAS)[run]], [by_run(noise)[run]])
    return rollout


def assert_same(one, two):
    one, two = (jax.tree.map(np.asarray, tree) for tree in (one, two))
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@slow("bits agree only in programs compiled as for users")
@pytest.mark.parametrize("suite", always(SUITES, "Point-4-Ghost"))
def test_a_run_is_bit_identical_alone_and_beside_others(suite):
    together, alone = together_of(suite), [alone_of(suite, run) for run in range(3)]
    for number, steps in enumerate((50, 130, 20)):
        noise = noises(number, steps)
        rollouts = together.collect(THETAS, noise)
        for run, found in enumerate(by_run(rollouts)):
            assert_same(found, collect_alone(alone[run], run, noise))
            assert_same(together.snapshots()(run), alone[run].snapshots()(0))
        assert all(bool(rollout.done.any()) for rollout in rollouts)
        if number == 1:
            for engine in (together, *alone):
                engine.cut()
    assert_array_equal(together.seeds, [seed_of(Purpose.TRAINING, run, env) for run in (3, 700, 3) for env in (0, 1)])
    assert_array_equal(together.episodes, np.concatenate([engine.episodes for engine in alone]))
    assert together.episodes.min() > 16


def test_the_first_axis_of_a_batched_rollout_is_the_runs():
    one, two = together_of("Point-1-Hazard").collect(THETAS, noises(0, 7))
    assert one.reward.shape == (2, 7, ENVS)
    assert one.observation.shape[-1] == two.observation.shape[-1] + 1
    assert one.taken is None
    assert_array_equal(two.taken, jnp.clip(two.action, -0.5, 0.5))


@slow("bits agree only in programs compiled as for users")
@pytest.mark.parametrize("suite", always(SUITES[:2], "Point-4-Pillar"))
def test_runs_continue_from_snapshots_alone_and_beside_others(suite):
    together = together_of(suite)
    together.collect(THETAS, noises(0, 155))
    snapshots = [together.snapshots()(run) for run in range(3)]
    expected = together.collect(THETAS, noises(1, 40))
    after = [together.snapshots()(run) for run in range(3)]

    back = []
    for run, snapshot in enumerate(snapshots):
        alone = alone_of(suite, run)
        alone.restore([snapshot])
        assert_same(by_run(expected)[run], collect_alone(alone, run, noises(1, 40)))
        back.append(alone.snapshots()(0))
        assert_same(after[run], back[run])

    following = together.collect(THETAS, noises(2, 40))
    again = together_of(suite)
    again.restore(back)
    assert_same(following, again.collect(THETAS, noises(2, 40)))


def test_a_simulation_that_breaks_down_is_named_within_its_run():
    together = together_of("Point-1-Hazard")
    together.live("qvel")[3, 0] = np.inf
    _, other = together.collect(THETAS, noises(0, 1))
    (divergence,) = together.divergences
    assert (divergence.env, divergence.episode, divergence.step) == (1, 0, 1)
    assert divergence.seed == seed_of(Purpose.TRAINING, 700, 1)
    assert "BADQVEL" in divergence.reason
    assert not bool(other.terminated.any())


def test_environments_that_cannot_be_shared_equally_are_refused():
    engine = NativeEngine(make_task("Point-1-Hazard", "paper", "closest", 9), 4, 1)
    with pytest.raises(ValueError, match="4 environments cannot be shared equally by 3 runs"):
        engine.start(BATCHES)


def test_snapshots_of_other_runs_are_refused():
    together = together_of("Point-1-Hazard")
    snapshot = together.snapshots()(0)
    with pytest.raises(ValueError, match="There are 2 snapshots for 3 runs"):
        together.restore([snapshot] * 2)
    alone = NativeEngine(together.task, 1, 1)
    alone.start(RUNS[:1])
    with pytest.raises(ValueError, match="has 2 environments, but a run has 1"):
        alone.restore([snapshot])


def test_noise_must_be_for_as_many_steps_for_all():
    long, short = noises(0, 5)[0], noises(0, 4)[1]
    with pytest.raises(ValueError, match=r"noise for \[4, 5\] steps"):
        together_of("Point-1-Hazard").collect(THETAS, [long, short])


def test_environments_are_shared_equally():
    assert together_of("Point-1-Hazard").envs_per_run == ENVS
    assert NativeEngine(make_task("Point-1-Hazard", "paper", "closest", 9), 6, 1).envs_per_run == 6


def test_a_list_of_episodes_has_no_snapshot():
    engine = together_of("Point-1-Hazard")
    engine.start_at(REMEMBERING, [(3, 0), (4, 2)])
    with pytest.raises(ValueError, match="has no snapshot"):
        engine.snapshots()
