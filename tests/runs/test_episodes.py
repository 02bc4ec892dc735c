from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import Rollout, RunBatch
from ascpo.engines.divergence import Divergence, Divergences
from ascpo.engines.functional import FunctionalEngine
from ascpo.runs.episodes import play
from ascpo.seeding import SCHEMES
from tests.actors import ToyActor
from tests.toys import Corridor


def act(theta, observation, noise):
    return theta[:1] + 0.1 * noise


seeded = SCHEMES[2].evaluation
ACTOR = ToyActor(act)
LIMITS = (0.0, 0.0)


def test_every_environment_plays_whole_episodes():
    """Full speed is 0.3 a step; after ten steps the walk is at 3, and was 2 beyond the limit at most."""
    found = play(
        FunctionalEngine(Corridor(), 5), ACTOR, jnp.array([1.0]), seeded(0, 5), limits=LIMITS, mean_action=True
    ).episodes
    assert_array_equal(found.length, 10)
    assert_allclose(found.reward, 3.0, rtol=1e-5)
    assert_allclose(found.maximum[:, 0], 2.0, rtol=1e-5)
    # 0.2 + 0.5 + … + 2.0
    assert_allclose(found.cost[:, 0], sum(0.3 * i - 1 for i in range(4, 11)), rtol=1e-4)
    assert found.time_limited.all()


def test_the_first_violation_and_the_number_of_violating_steps_are_counted():
    """The walk is at 1.2 after its fourth step, which has the number 3; seven of its ten steps are beyond."""
    found = play(
        FunctionalEngine(Corridor(), 2), ACTOR, jnp.array([1.0]), seeded(0, 2), limits=LIMITS, mean_action=True
    ).episodes
    assert_array_equal(found.first_violation, [[3, -1], [3, -1]])
    assert_array_equal(found.violating, [[7, 0], [7, 0]])
    assert not found.safe.any()


def test_violations_are_counted_by_the_limits():
    found = play(
        FunctionalEngine(Corridor(), 2), ACTOR, jnp.array([1.0]), seeded(0, 2), limits=(1.95, 0.0), mean_action=True
    ).episodes
    assert_array_equal(found.first_violation[:, 0], 9)


@pytest.mark.parametrize(("limits_on", "limit"), [("state", 0.1), ("state", 0.3), ("episode", 1.0)])
def test_costs_equal_to_their_limit_keep_it(limits_on, limit):
    """32-bit 0.1 is larger than 64-bit 0.1, and so is the sum of ten of them than 1."""
    cost = limit if limits_on == "state" else limit / 10
    how = {"limits": (limit, 0.0), "limits_on": limits_on, "mean_action": True}
    paid = play(Constant(cost, Corridor(), 2), ACTOR, jnp.array([0.0]), seeded(0, 2), **how)
    assert_array_equal(paid.episodes.length, [10, 10])
    assert paid.episodes.safe.all()
    more = play(Constant(1.0001 * cost, Corridor(), 2), ACTOR, jnp.array([0.0]), seeded(0, 2), **how)
    assert not more.episodes.safe.any()


class Constant(FunctionalEngine):
    """Its first cost is the same in every step."""

    def __init__(self, cost, *rest):
        super().__init__(*rest)
        self._cost = cost

    def collect(self, thetas, noises):
        (rollout,) = super().collect(thetas, noises)
        cost = np.array(rollout.cost)
        cost[..., 0] = self._cost
        return [replace(rollout, cost=cost)]


@pytest.mark.parametrize(("last", "first"), [(-4.0, -1), (-3.0, 2)])
def test_a_sum_that_is_within_its_limit_at_the_end_keeps_it(last, first):
    """The sum of six ones passes the limit of 2.5 in the third step, and negative costs may bring it back."""
    how = {"limits": (2.5, 0.0), "limits_on": "episode", "mean_action": True}
    found = play(Repaid(last, Corridor(), 2), ACTOR, jnp.array([0.0]), seeded(0, 5), **how).episodes
    assert_allclose(found.cost[:, 0], 6.0 + last)
    assert_array_equal(found.first_violation, [[first, -1]] * 5)
    assert found.safe.all() == (first < 0)


class Repaid(FunctionalEngine):
    """Its first cost is 1 in every step before the last four; there it is a quarter of `last`."""

    def __init__(self, last, *rest):
        super().__init__(*rest)
        self._last = last

    def collect(self, thetas, noises):
        (rollout,) = super().collect(thetas, noises)
        cost = np.array(rollout.cost)
        step = np.rint(10 * np.asarray(rollout.observation)[..., 1])
        cost[..., 0] = np.where(step < 6, 1.0, self._last / 4)
        return [replace(rollout, cost=cost)]


@pytest.mark.parametrize("limits_on", ["state", "episode"])
def test_a_cost_or_a_limit_that_is_not_a_number_is_a_violation(limits_on):
    walk = {"mean_action": True, "limits_on": limits_on}
    still = ACTOR, jnp.array([0.0]), seeded(0, 2)
    assert play(FunctionalEngine(Corridor(), 2), *still, limits=LIMITS, **walk).episodes.safe.all()
    assert not play(FunctionalEngine(Corridor(), 2), *still, limits=(0.0, np.nan), **walk).episodes.safe.any()
    lost = play(Lost(Corridor(), 2), *still, limits=LIMITS, **walk).episodes
    assert_array_equal(lost.first_violation, [[4, -1], [4, -1]])


class Lost(FunctionalEngine):
    """Its first cost is not a number after the fifth step of all steps."""

    def collect(self, thetas, noises):
        (rollout,) = super().collect(thetas, noises)
        cost = np.array(rollout.cost)
        cost[0, 4, :, 0] = np.nan
        return [replace(rollout, cost=cost)]


def test_sampled_actions_differ_from_mean_ones():
    found = play(FunctionalEngine(Corridor(), 5), ACTOR, jnp.array([0.2]), seeded(0, 5), limits=LIMITS).episodes
    assert np.ptp(found.reward) > 0


def test_more_episodes_than_environments_are_played_one_after_the_other():
    found = play(FunctionalEngine(Corridor(), 5), ACTOR, jnp.array([0.2]), seeded(0, 12), limits=LIMITS).episodes
    assert len(found) == 12
    assert len(np.unique(found.reward)) == 12


def test_the_worst_episodes_are_kept_with_their_actions_worst_first():
    """Played again, the actions give the same returns and the same largest costs."""
    engine = FunctionalEngine(Corridor(), 5)
    played = play(engine, ACTOR, jnp.array([0.6]), seeded(3, 20), limits=LIMITS, keep=3)
    largest = played.episodes.maximum[:, 0]
    assert [kept.row for kept in played.worst] == np.argsort(-largest)[:3].tolist()
    again = FunctionalEngine(Corridor(), 3)
    again.start([RunBatch(ScriptedActor(), (0,))])
    actions = np.stack([kept.actions for kept in played.worst], axis=1)
    (rollout,) = again.collect([jnp.zeros((1, 0))], [actions[None]])
    assert_allclose(np.asarray(rollout.cost[0, ..., 0]).max(axis=0), np.sort(largest)[::-1][:3], rtol=1e-6)


class Scripted:
    """An engine that plays what it was given: episodes of lengths that depend on the environment."""

    observation_size, action_size, cost_names, envs_per_run, max_runs, notes = 1, 1, ("cost",), 3, 1, ()

    def start_at(self, actor, episodes):
        self.t = 0

    def collect(self, thetas, noises):
        """Environment i has episodes of i + 1 steps; the reward is the number of the step, counted from the start."""
        noise = noises[0][0]
        t = self.t + np.arange(len(noise))
        self.t += len(noise)
        done = np.stack([(t + 1) % (i + 1) == 0 for i in range(3)], axis=1)
        reward = np.repeat(t[:, None], 3, axis=1).astype(float)
        nothing, taken = np.zeros((len(noise), 3, 1)), noise + (t % 2)[:, None, None]
        parts = (nothing, nothing, noise, reward, nothing, done, np.zeros_like(done), taken)
        return [Rollout(*(part[None] for part in parts))]


def test_every_listed_episode_is_played_to_its_end_by_the_next_free_environment():
    """Environments of one, two and three steps: the first takes places 0 and 3 of the list, then 6, 7, 9, ….

    t   0           1              2                  3                  4
    0   place 0     place 3        place 6            place 7            place 9
    1   place 1     place 1        place 4            place 4            place 8
    2   place 2     place 2        place 2            place 5            place 5
    """
    found = play(Scripted(), ACTOR, jnp.zeros(1), seeded(0, 9), limits=(0.0,), mean_action=True).episodes
    assert_array_equal(found.length, [1, 2, 3, 1, 2, 3, 1, 1, 2])
    assert_array_equal(found.reward, [0, 0 + 1, 0 + 1 + 2, 1, 2 + 3, 3 + 4 + 5, 2, 3, 4 + 5])


class Breaking(Scripted):
    """Some of its simulations break down."""

    def __init__(self, *places):
        self.places, self.divergences = places, Divergences()
        self.divergences.append(broken(8))

    def collect(self, thetas, noises):
        self.divergences.extend(map(broken, self.places))
        return super().collect(thetas, noises)


def broken(place):
    return Divergence(0, *seeded(0, 9)[place], step=1, reason="a test says so")


@pytest.mark.parametrize("limits_on", ["state", "episode"])
def test_an_episode_whose_simulation_broke_down_violates_every_limit(limits_on):
    """What broke down before does not count: the engine may have played for others."""
    how = {"limits": (25.0,), "limits_on": limits_on}
    found = play(Breaking(2, 3), ACTOR, jnp.zeros(1), seeded(0, 9), **how).episodes
    assert_array_equal(found.first_violation[:, 0], [-1, -1, 2, 0, -1, -1, -1, -1, -1])
    assert_array_equal(np.flatnonzero(~found.safe), [2, 3])


def test_a_shields_interventions_are_counted():
    """It changes the action of every second step."""
    found = play(Scripted(), ACTOR, jnp.zeros(1), seeded(0, 3), limits=(0.0,), mean_action=True).episodes  # pyrefly: ignore[bad-argument-type]
    assert_array_equal(found.interventions, [0, 1, 1])


def test_progress_is_reported():
    told = []
    play(
        FunctionalEngine(Corridor(), 5), ACTOR, jnp.array([0.2]), seeded(0, 12), limits=LIMITS, on_progress=told.append
    )
    assert told[0] == 0
    assert told[-1] == 12


@pytest.mark.parametrize("keep", [0, 50])
def test_no_more_worst_episodes_are_kept_than_requested_or_played(keep):
    engine = FunctionalEngine(Corridor(), 5)
    played = play(engine, ACTOR, jnp.array([0.6]), seeded(3, 7), limits=LIMITS, keep=keep)
    assert len(played.worst) == min(keep, 7)


def test_a_limit_of_an_episode_is_violated_by_the_sum_of_its_costs():
    """Costs are 0.2, 0.5, 0.8, … from the fourth step on: their sum passes 1 in the sixth, which has the number 5."""
    how = {"limits": (1.0, 0.0), "mean_action": True, "keep": 1}
    engine, theta = FunctionalEngine(Corridor(), 2), jnp.array([1.0])
    played = play(engine, ACTOR, theta, seeded(0, 2), limits_on="episode", **how)
    assert_array_equal(played.episodes.first_violation[:, 0], 5)
    assert not played.episodes.safe.any()
    generous = play(engine, ACTOR, theta, seeded(0, 2), limits_on="episode", **how | {"limits": (7.8, 0.0)})
    assert generous.episodes.safe.all(), "0.2 + 0.5 + … + 2.0 is 7.7, though single states cost more than 1"
