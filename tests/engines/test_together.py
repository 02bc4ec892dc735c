"""Several players in one native engine: each of them as if it were alone, to the bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ascpo.engines.native import NativeEngine
from ascpo.engines.rollout import Actor, Cast, Shared
from ascpo.environments.spaces import make_task
from ascpo.experience.memory import MAXIMA, NOTHING

ENVS = 2
"""Of each player."""


def act(theta, view, noise):
    """Looks at all it sees, so that any bit that differs is seen in what follows."""
    return jnp.tanh(theta[: len(noise)] + theta[-1] * jnp.sum(view) + noise)


def shield(theta, view, action):
    return jnp.clip(action, -0.5, 0.5)


REMEMBERING = Actor(start=MAXIMA.start(1), after=MAXIMA.after, act=act)
SHIELDED = Actor(start=NOTHING.start(1), after=NOTHING.after, act=act, shield=shield)
CASTS = [Cast(REMEMBERING, (3, 700)), Cast(SHIELDED, (3,))]
PLAYERS = [(REMEMBERING, 3), (REMEMBERING, 700), (SHIELDED, 3)]
THETAS = [jnp.array([[0.5, 0.1, 0.01], [-0.2, 0.3, 0.02]]), jnp.array([[0.4, -0.1, 0.03]])]
SUITES = ["Point-1-Hazard", "Point-4-Pillar", "Point-4-Ghost"]


def engine_of(suite, players=1):
    """Episodes are short enough to use up those that are drawn ahead."""
    return NativeEngine(make_task(suite, "paper", "closest", 9), players * ENVS, 1)


def together_of(suite):
    engine = engine_of(suite, len(PLAYERS))
    engine.begin_together(CASTS)
    return engine


def alone_of(suite, player):
    engine = engine_of(suite)
    engine.begin(*PLAYERS[player])
    return engine


def noises(seed, steps):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((len(cast.seeds), steps, ENVS, 2)).astype(np.float32) for cast in CASTS]


def by_player(of_casts):
    return [
        jax.tree.map(lambda x, i=i: x[i], each)
        for each, cast in zip(of_casts, CASTS, strict=True)
        for i in range(len(cast.seeds))
    ]


def collect_alone(engine, player, noise):
    return engine.collect(by_player(THETAS)[player], by_player(noise)[player])


def assert_same(one, two):
    one, two = (jax.tree.map(np.asarray, tree) for tree in (one, two))
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@pytest.mark.parametrize("suite", SUITES)
def test_a_player_in_company_is_to_the_bit_what_it_is_alone(suite):
    together, alone = together_of(suite), [alone_of(suite, player) for player in range(3)]
    for number, steps in enumerate((50, 130, 20)):
        noise = noises(number, steps)
        rollouts = together.collect_together(THETAS, noise)
        for player, found in enumerate(by_player(rollouts)):
            assert_same(found, collect_alone(alone[player], player, noise))
            assert_same(together.snapshots()(player), alone[player].snapshot())
        assert all(bool(rollout.done.any()) for rollout in rollouts)
        if number == 1:
            for engine in (together, *alone):
                engine.cut()
    assert_array_equal(together.seeds, [3, 4, 700, 701, 3, 4])
    assert_array_equal(together.episodes, np.concatenate([engine.episodes for engine in alone]))
    assert together.episodes.min() > 16


def test_rollouts_of_a_cast_have_its_seeds_first():
    one, two = together_of("Point-1-Hazard").collect_together(THETAS, noises(0, 7))
    assert one.reward.shape == (2, 7, ENVS)
    assert one.view.shape[-1] == two.view.shape[-1] + 1
    assert one.taken is None
    assert_array_equal(two.taken, jnp.clip(two.action, -0.5, 0.5))


@pytest.mark.parametrize("suite", SUITES[:2])
def test_players_go_on_from_snapshots_in_company_or_alone(suite):
    together = together_of(suite)
    together.collect_together(THETAS, noises(0, 155))
    snapshots = [together.snapshots()(player) for player in range(3)]
    expected = together.collect_together(THETAS, noises(1, 40))
    after = [together.snapshots()(player) for player in range(3)]

    back = []
    for player, snapshot in enumerate(snapshots):
        alone = alone_of(suite, player)
        alone.restore(snapshot)
        assert_same(by_player(expected)[player], collect_alone(alone, player, noises(1, 40)))
        back.append(alone.snapshot())
        assert_same(after[player], back[player])

    following = together.collect_together(THETAS, noises(2, 40))
    again = together_of(suite)
    again.restore_together(back)
    assert_same(following, again.collect_together(THETAS, noises(2, 40)))


def test_a_simulation_that_breaks_down_is_named_by_its_player():
    together = together_of("Point-1-Hazard")
    together.live("qvel")[3, 0] = np.inf
    _, other = together.collect_together(THETAS, noises(0, 1))
    (divergence,) = together.divergences
    assert (divergence.env, divergence.seed, divergence.episode, divergence.step) == (1, 701, 0, 1)
    assert "BADQVEL" in divergence.reason
    assert not bool(other.terminated.any())


def test_environments_that_cannot_be_shared_equally_are_refused():
    engine = NativeEngine(make_task("Point-1-Hazard", "paper", "closest", 9), 4, 1)
    with pytest.raises(ValueError, match="4 environments cannot be shared equally by 3 players"):
        engine.begin_together(CASTS)


def test_snapshots_of_other_players_are_refused():
    together = together_of("Point-1-Hazard")
    snapshot = together.snapshots()(0)
    with pytest.raises(ValueError, match="2 snapshots are not one for each of 3 players"):
        together.restore_together([snapshot] * 2)
    alone = NativeEngine(together.task, 1, 1)
    with pytest.raises(ValueError, match="of 2 environments, and a player has 1"):
        alone.restore(snapshot)


def test_noise_must_be_for_as_many_steps_for_all():
    long, short = noises(0, 5)[0], noises(0, 4)[1]
    with pytest.raises(ValueError, match=r"noise for \[4, 5\] steps"):
        together_of("Point-1-Hazard").collect_together(THETAS, [long, short])


def test_what_is_meant_for_one_player_is_refused_in_company_until_one_begins():
    together = together_of("Point-1-Hazard")
    assert isinstance(together, Shared)
    with pytest.raises(RuntimeError, match="3 players share this engine"):
        together.snapshot()
    together.start(np.arange(6))
    assert together.step(np.zeros((6, 2), np.float32)).outcome.reward.shape == (6,)
