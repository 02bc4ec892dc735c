"""Worlds of JAX functions: the contract of engines, and the errors for worlds that cannot be trained on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import RunBatch
from ascpo.engines.functional import FunctionalEngine
from ascpo.engines.functional.inspection import ENDLESS, UNBOUNDED
from ascpo.engines.gymnasium.errors import Unsuitable
from ascpo.engines.playlist import Playlist
from ascpo.errors import InertSetting
from ascpo.runs.episodes import play
from ascpo.seeding import SCHEMES
from tests import worlds
from tests.actors import ToyActor

EPISODES = SCHEMES[2].evaluation(3, 9)


def act(theta, observation, noise):
    return jnp.tanh(theta[:1] + theta[1] * jnp.sum(jnp.sin(observation)) + noise)


ACTOR, THETA = ToyActor(act, maxima=1), jnp.array([0.2, 0.4])


def noise(envs, steps=40, seed=0):
    return np.random.default_rng(seed).standard_normal((steps, envs, 1)).astype(np.float32)


def collect(engine, noise, theta=THETA):
    (rollout,) = engine.collect([theta[None]], [noise[None]])
    return jax.tree.map(lambda x: np.asarray(x)[0], rollout)


def played(episodes, noise, actor=ACTOR, theta=THETA):
    engine = FunctionalEngine(worlds.Slope(), noise.shape[1])
    engine.start_at(actor, episodes)
    return collect(engine, noise, theta)


def pieces(rollout, listed):
    """The episodes of a list, each as (its place, environment, first step, step after its last)."""
    playlist, begun, found = Playlist(rollout.done.shape[1]), [0] * rollout.done.shape[1], []
    for t, done in enumerate(rollout.done):
        ended = np.flatnonzero(done)
        found += [(playlist.current[env], env, begun[env], t + 1) for env in ended if playlist.current[env] < listed]
        for env in ended:
            begun[env] = t + 1
        playlist.end(ended)
    return found


def test_an_episode_is_bit_identical_alone_and_beside_others_with_the_same_actions(unchecked_shapes):
    """Another policy, another number of environments and other episodes around it change nothing."""
    company = played(EPISODES, noise(4))
    found = pieces(company, len(EPISODES))
    assert len(found) == len(EPISODES)
    for place, env, first, end in found:
        alone = played([EPISODES[place]], company.action[first:end, env : env + 1], ScriptedActor(), jnp.zeros(0))
        assert alone.done[:, 0].tolist() == [False] * (end - first - 1) + [True]
        assert_array_equal(alone.reward[:, 0], company.reward[first:end, env])
        assert_array_equal(alone.observation[:, 0], company.observation[first:end, env, :2])


def test_listed_episodes_have_their_own_scenes():
    begun = {played([episode], noise(1, 1)).observation[0, 0, 0].item() for episode in EPISODES}
    assert len(begun) == len(EPISODES)


def test_a_training_plays_the_same_episodes_however_many_environments_there_are():
    firsts = []
    for envs in (2, 5):
        engine = FunctionalEngine(worlds.Slope(), envs)
        engine.start([RunBatch(ACTOR, (3,))])
        firsts.append(collect(engine, noise(envs, 1)).observation[0, :2])
    assert_array_equal(*firsts)


def test_each_of_several_runs_is_as_if_it_were_alone():
    together, thetas = FunctionalEngine(worlds.Slope(), 6), jnp.stack([THETA, -THETA])
    together.start([RunBatch(ACTOR, (3, 4)), RunBatch(ScriptedActor(), (3,))])
    noises = np.stack([noise(2), noise(2, seed=1)])
    of_two, of_one = together.collect([thetas, jnp.zeros((1, 0))], [noises, noises[:1]])
    assert of_two.reward.shape == (2, 40, 2)
    assert of_one.reward.shape == (1, 40, 2)
    for run, seed in enumerate((3, 4)):
        alone = FunctionalEngine(worlds.Slope(), 2)
        alone.start([RunBatch(ACTOR, (seed,))])
        assert_array_equal(collect(alone, noises[run], thetas[run]).reward, of_two.reward[run])
        for name, array in alone.snapshots()(0).items():
            assert_array_equal(array, together.snapshots()(run)[name])


def test_environments_that_runs_cannot_share_equally_are_refused():
    with pytest.raises(ValueError, match="3 environments cannot be shared equally by 2 runs"):
        FunctionalEngine(worlds.Slope(), 3).start([RunBatch(ACTOR, (0, 1))])


def test_actions_are_scaled_to_the_bounds_of_the_world():
    """Bounds are ±2, and an action counts a tenth: 0.5 moves the point by 0.1 more than 0 does, 7 by 0.2 more."""
    still, half, much = (played(EPISODES, np.full((1, 1, 1), x, np.float32), ScriptedActor()) for x in (0.0, 0.5, 7.0))
    assert_allclose([half.reward - still.reward, much.reward - still.reward], [[[0.1]], [[0.2]]], atol=1e-6)


@pytest.mark.parametrize(("given", "length"), [(None, 12), (5, 5)])
def test_episodes_end_by_the_worlds_time_limit_or_an_earlier_one(given, length):
    engine = FunctionalEngine(worlds.Slope(), 4, max_episode_steps=given)
    found = play(engine, ACTOR, THETA, EPISODES, limits=(0.0,)).episodes
    assert found.length.max() == length
    assert found.time_limited.any()
    assert_array_equal(found.length[found.time_limited], length)


def test_a_time_limit_beyond_that_of_the_world_changes_nothing_and_is_refused():
    with pytest.raises(InertSetting, match="ends its episodes after 12 steps itself"):
        FunctionalEngine(worlds.Slope(), 1, max_episode_steps=12)
    with pytest.raises(ValueError, match="at least one step"):
        FunctionalEngine(worlds.Slope(), 1, max_episode_steps=0)


def test_a_simulation_that_breaks_down_ends_its_episode_and_violates_every_limit(caplog):
    """The limit of 5 is far above what a state can cost, and nothing that is not a number is observed."""
    engine = FunctionalEngine(worlds.Breaking(), 4, limits=(5.0,))
    engine.start([RunBatch(ACTOR, (0,))])
    rollout = collect(engine, noise(4))
    broken = rollout.cost[..., 0] == 6.0
    assert broken.any()
    assert_array_equal(rollout.terminated, broken)
    assert_array_equal(rollout.reward[broken], 0.0)
    assert np.isfinite(rollout.observation).all()
    assert np.isfinite(rollout.next_observation).all()
    assert len(engine.divergences) == broken.sum()
    assert "a number of the world is NaN or infinite" in caplog.text


def test_a_breakdown_exceeds_the_limit_of_the_sum_whatever_was_earned_before():
    engine = FunctionalEngine(worlds.Earning(), 4, limits=(3.0,))
    engine.start([RunBatch(ACTOR, (0,))])
    sums, lost = np.zeros(4), []
    rollout = collect(engine, noise(4))
    for cost, terminated, truncated in zip(rollout.cost[..., 0], rollout.terminated, rollout.truncated, strict=True):
        sums += cost
        lost += list(sums[terminated])
        sums[terminated | truncated] = 0.0
    assert len(lost) == len(engine.divergences) > 0
    assert min(lost) == pytest.approx(4.0, rel=1e-5)
    assert max(lost) == pytest.approx(4.0, rel=1e-5)


def test_a_snapshot_of_an_earlier_version_has_no_sums_and_is_restored():
    engine = FunctionalEngine(worlds.Slope(), 4)
    engine.start([RunBatch(ACTOR, (0,))])
    snapshot = engine.snapshots()(0)
    del snapshot["cost"]
    engine.restore([snapshot])
    assert np.isfinite(collect(engine, noise(4)).cost).all()


def test_an_episode_that_broke_down_is_never_safe_however_high_the_limits_are():
    engine = FunctionalEngine(worlds.Breaking(), 4)
    found = play(engine, ACTOR, THETA, EPISODES, limits=(1e6,)).episodes
    broken = {EPISODES.index((one.seed, one.episode)) for one in engine.divergences}
    assert broken
    assert set(np.flatnonzero(~found.safe)) == broken


def test_a_list_of_episodes_has_no_snapshot():
    engine = FunctionalEngine(worlds.Slope(), 1)
    engine.start_at(ACTOR, EPISODES)
    with pytest.raises(ValueError, match="has no snapshot"):
        engine.snapshots()(0)


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        (worlds.WithoutNames, r"cost_names is \(\)\. Give a tuple"),
        (worlds.WithTwoCosts, r"costs has the shape \(2,\) of float32\. It must be \(1,\)"),
        (worlds.Growing, "another kind of state than begin"),
        (worlds.Failing, r"step raises RuntimeError: the slope is closed \(worlds.py, line"),
        (worlds.Tuples, "step returns a tuple. Return an ascpo.Transition"),
        (worlds.WideBounds, "not two arrays of 1 numbers"),
        (worlds.Unhashable, r"no hash.*@dataclass\(frozen=True\)"),
    ],
)
def test_a_world_that_cannot_be_trained_on_is_refused_with_a_message(world, sentence, unchecked_shapes):
    with pytest.raises(Unsuitable, match=sentence):
        FunctionalEngine(world(), 1)


def test_a_world_without_time_limit_and_bounds_gets_notes():
    assert FunctionalEngine(worlds.Slope(), 1).notes == ()
    assert FunctionalEngine(worlds.Endless(), 1).notes == (UNBOUNDED, ENDLESS)
    assert FunctionalEngine(worlds.Endless(), 1, max_episode_steps=9).notes == (UNBOUNDED,)


@pytest.mark.parametrize("listed", [False, True])
def test_a_program_returns_the_types_of_its_arguments_so_that_it_is_compiled_once(listed):
    """A constant has a weak type, so the program would be compiled a second time for its own results."""
    engine = FunctionalEngine(worlds.Slope(), 2)
    engine.start_at(ACTOR, EPISODES) if listed else engine.start([RunBatch(ACTOR, (0,))])
    before = engine._batches[0][0]
    collect(engine, noise(2, 1))
    types = [[(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(run)] for run in (before, engine._batches[0][0])]
    assert types[0] == types[1]
