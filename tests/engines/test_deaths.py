"""Processes of environments that die or hang: they are named, or restarted, and their episodes count as violated.

Most tests use copies that only seem to have processes, which is fast.
"""

import functools
import os
import signal

import numpy as np
import pytest

from ascpo.engines.contract import RunBatch
from ascpo.engines.gymnasium.checked import Fault
from ascpo.engines.gymnasium.engine import GymnasiumEngine
from ascpo.engines.gymnasium.errors import Faulty, Unsuitable
from ascpo.engines.gymnasium.inspection import inspect
from ascpo.engines.gymnasium.recovery import MOST_RESTARTS
from ascpo.engines.gymnasium.vectorization import SyncCopies
from tests.engines.test_faults import ACTOR, THETA, engine_of, played
from tests.misbehaving import Misbehaving, Scheduled
from tests.own import Cart
from tests.slow import always


class Mortal(SyncCopies):
    """Copies in this process that die, as if they had one of their own, in the calls that a list names."""

    def __init__(self, make, num_envs, expected, deaths):
        super().__init__(make, num_envs, expected)
        self._deaths, self._calls = deaths, {"reset": 0, "step": 0}

    def _answered(self, method, answers):
        for env in answers:
            self._calls[method] += 1
            if (method, self._calls[method]) in self._deaths:
                answers[env] = Fault("Its process died.", dead=True)
        return answers

    def reset(self, seeds):
        return self._answered("reset", super().reset(seeds))

    def step(self, actions):
        return self._answered("step", super().step(actions))

    def restart(self, env):
        return None


def mortal(deaths, monkeypatch, limits=(0.0,), num_envs=1, make=None):
    monkeypatch.setattr(
        "ascpo.engines.gymnasium.engine.SubprocessCopies",
        lambda make, num_envs, expected, timeout: Mortal(make, num_envs, expected, deaths),
    )
    monkeypatch.setattr("ascpo.engines.gymnasium.engine.inspect_apart", inspect)
    make = make or functools.partial(Misbehaving, "ValueError", 0)
    return GymnasiumEngine(make, num_envs, processes=True, restart_limits=limits)


@pytest.mark.parametrize(
    ("limit", "limits_on"),
    always([(0.0, "state"), (25.0, "state"), (25.0, "episode"), (1e9, "state"), (1e9, "episode")], (1e9, "episode")),
)
@pytest.mark.parametrize("at", [("step", 1), ("step", 20), ("step", 33), ("step", 120), ("reset", 1), ("reset", 4)])
def test_an_episode_whose_process_died_counts_as_a_violation_and_none_is_dropped(at, limit, limits_on, monkeypatch):
    found = played(mortal({at}, monkeypatch, (limit,)), 6, (limit,), limits_on)
    method, number = at
    row = (number - 1) // 20 if method == "step" else number - 1
    assert (~found.safe).nonzero()[0].tolist() == [row]
    assert found.length[row] == ((number - 1) % 20 + 1 if method == "step" else 1)
    assert found.first_violation[row, 0] == found.length[row] - 1
    assert len(found) == 6
    assert not found.time_limited[row]


def test_costs_below_zero_do_not_hide_a_death(monkeypatch):
    class Refunding(Cart):
        def step(self, action):
            *step, _ = super().step(action)
            return *step, {"cost": -3.0}

    found = played(mortal({("step", 15)}, monkeypatch, (2.0,), make=Refunding), 3, (2.0,), "episode")
    assert found.safe.tolist() == [False, True, True]


def test_a_death_in_a_rollout_ends_its_episode_and_no_other(monkeypatch, caplog):
    engine = mortal({("step", 6)}, monkeypatch, (0.5,), num_envs=2)
    engine.start([RunBatch(ACTOR, (3,))])
    (rollout,) = engine.collect([THETA[None]], [np.zeros((1, 10, 2, 1), np.float32)])
    assert rollout.terminated[0].nonzero()[0].tolist() == [
        2
    ]  # The sixth step of two copies is the third of the second.
    assert rollout.terminated[0, 2].tolist() == [False, True]
    assert rollout.cost[0, 2, 1, 0] > 0.5
    assert rollout.reward[0, 2, 1] == 0.0
    np.testing.assert_array_equal(rollout.next_observation[0, 2, 1, :2], rollout.observation[0, 2, 1, :2])
    assert "restart 1 of at most 10" in caplog.text
    assert "its episode counts as violated" in caplog.text


def test_a_lost_episode_is_still_lost_after_a_resumption(monkeypatch):
    """The process died in a reset, before the first step of a rollout that was never collected."""
    engine, noise = mortal({("reset", 2)}, monkeypatch), np.zeros((1, 20, 1, 1), np.float32)
    engine.start([RunBatch(ACTOR, (3,))])
    engine.collect([THETA[None]], [noise])
    snapshot = engine.snapshots()(0)
    assert snapshot["lengths"].tolist() == [-1]
    other = mortal(set(), monkeypatch)
    other.start([RunBatch(ACTOR, (3,))])
    other.restore([snapshot])
    (rollout,) = other.collect([THETA[None]], [noise])
    assert rollout.terminated[0, 0, 0]
    assert rollout.cost[0, 0, 0, 0] > 0.0


def test_the_number_of_restarts_is_limited(monkeypatch):
    deaths = {("step", number) for number in range(1, 1000)}
    with pytest.raises(Faulty, match="Its process died"):
        played(mortal(deaths, monkeypatch), 100)
    found = played(mortal(set(sorted(deaths)[:MOST_RESTARTS]), monkeypatch), 20)
    assert (~found.safe).sum() == MOST_RESTARTS


def test_while_episodes_are_repeated_a_death_is_an_error(monkeypatch):
    engine = mortal(set(), monkeypatch)
    engine.start([RunBatch(ACTOR, (3,))])
    engine.collect([THETA[None]], [np.zeros((1, 5, 1, 1), np.float32)])
    other = mortal({("step", 3)}, monkeypatch)
    other.start([RunBatch(ACTOR, (3,))])
    with pytest.raises(Faulty, match="Its process died"):
        other.restore([engine.snapshots()(0)])


# Processes that truly die.


def test_processes_that_die_are_named_restarted_and_counted(tmp_path, caplog):
    schedule = [("SIGKILL", 1, "step"), ("os._exit(0)", 1, "reset"), ("hangs", 25, "step")]
    options = {"processes": True, "restart_limits": (0.0,), "step_timeout": 2.0}
    engine = engine_of(schedule, str(tmp_path), make=Scheduled, **options)
    found = played(engine, 5)
    engine.close()
    # The first process dies in its first step, the second in its first reset. The third begins the lost episode again,
    # which is over with its first step, ends another one, and hangs in the fifth step after that.
    assert (~found.safe).nonzero()[0].tolist() == [0, 1, 3]
    assert found.length.tolist() == [1, 1, 20, 5, 20]
    assert "SIGKILL ended it" in caplog.text
    assert "it ended itself with exit code 0" in caplog.text
    assert "step has not returned after 2 s" in caplog.text


def test_without_the_flag_a_process_that_dies_is_an_error_with_a_name():
    engine = engine_of("os._exit(0)", 22, num_envs=2, processes=True)
    with pytest.raises(
        Faulty, match=r"Environment 0 of .*, episode 1 \(seed \d+\), step 2: Its process died during step"
    ):
        played(engine)
    engine.close()


def test_exceptions_keep_their_traceback_and_processes_end_with_the_engine():
    engine = engine_of("sys.exit(0)", 3, processes=True)
    children = [copy._process.pid for copy in engine._copies._copies]
    for child in children:
        os.kill(child, signal.SIGINT)  # Ctrl-C reaches them too: it is ours to answer.
    with pytest.raises(Faulty, match=r"step 3: step raises SystemExit: 0 \(misbehaving.py, line") as caught:
        played(engine)
    assert "in <lambda>" in str(caught.value.__cause__)
    engine.close()
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def die_at_once():
    os._exit(0)


def test_an_environment_that_dies_while_it_is_tried_out_is_refused():
    with pytest.raises(Unsuitable, match="Its process died during the inspection: it ended itself with exit code 0"):
        GymnasiumEngine(die_at_once, 1, processes=True)
