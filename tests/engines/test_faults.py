"""Environments with faults: every fault is named with its place, and none of their episodes counts as safe."""

import contextlib
import functools
import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from ascpo.engines.gymnasium.engine import GymnasiumEngine
from ascpo.engines.gymnasium.errors import Faulty, Unsuitable
from ascpo.errors import InertSetting
from ascpo.runs.episodes import play
from tests.actors import ToyActor
from tests.misbehaving import RETURNED, Endless, Misbehaving
from tests.own import Cart

ACTOR = ToyActor(lambda theta, observation, noise: theta[0] * noise, maxima=1)
THETA = jnp.array([0.3])


def engine_of(*fault, num_envs=1, make=Misbehaving, **options):
    Misbehaving.made = 0
    return GymnasiumEngine(functools.partial(make, *fault), num_envs, **options)


def played(engine, episodes=6, limits=(0.0,), limits_on="state"):
    origins = [(seed, 0) for seed in range(100, 100 + episodes)]
    return play(engine, ACTOR, THETA, origins, limits=limits, limits_on=limits_on).episodes


def test_the_cart_without_a_fault_is_safe():
    found = played(engine_of("ValueError", 0))
    assert found.safe.all()
    assert (found.length == 20).all()


@pytest.mark.parametrize("at", [1, 40])
@pytest.mark.parametrize("fault", RETURNED)
def test_no_fault_in_a_step_counts_as_safe(fault, at):
    """Wherever the fault occurs, there is an error with its place, and no figure."""
    with pytest.raises(Faulty) as caught:
        played(engine_of(fault, at, num_envs=2))
    step, episode = (at - 1) % 20 + 1, (at - 1) // 20
    assert f"Environment 0 of tests.misbehaving:Misbehaving, episode {episode} (seed" in str(caught.value)
    assert f", step {step}: " in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            "longer observation",
            "step returns an observation of shape (3,) and type float32; the observation space says (2",
        ),
        ("complex observation", "of shape (2,) and type complex64; the observation space says (2,) and float32"),
        ("observation of text", "step returns an observation of shape () and type <U4"),
        ("no observation", "step returns None for an observation, which is not an array of numbers"),
        ("nan observation", "The observation (entry 0) is nan"),
        ("nan reward", "The reward is nan"),
        ("reward of text", "The reward is 'much'. Return a finite number"),
        ("no cost", "The info of a step has no cost"),
        ("two costs", "There are 2 costs, where there were 1 before"),
        ("info of None", "The info of a step is a NoneType"),
        ("four values", "five values but 4 values. Return (observation, reward, terminated, truncated, info)"),
        ("six values", "step does not return five values but 6"),
        ("nothing", "step does not return five values but a NoneType"),
        ("no end", "terminated is None. Return True or False"),
        ("ValueError", "step raises ValueError: at home (misbehaving.py, line"),
        ("BrokenPipeError", "step raises BrokenPipeError: [Errno 32] Broken pipe"),
        ("EOFError", "step raises EOFError (misbehaving.py"),
        ("sys.exit(0)", "step raises SystemExit: 0"),
    ],
)
def test_the_error_of_a_fault_names_it(fault, words):
    with pytest.raises(Faulty) as caught:
        played(engine_of(fault, 3))
    assert words in str(caught.value)


@pytest.mark.parametrize("fault", ["ValueError", "sys.exit(0)", "nothing"])
def test_a_fault_in_reset_is_named(fault):
    with pytest.raises(Faulty, match=r"episode 1 \(seed \d+\), reset: reset (raises|returns)"):
        played(engine_of(fault, 2, "reset"))


def test_a_fault_in_close_is_named_unless_another_error_is_being_raised(caplog):
    with pytest.raises(Faulty, match=r"Environment 0 of .*: close raises SystemExit: 0"):
        engine_of("sys.exit(0)", 1, "close").close()
    engine = engine_of("sys.exit(0)", 1, "close")
    with pytest.raises(ZeroDivisionError), contextlib.closing(engine):
        raise ZeroDivisionError
    assert "close raises SystemExit: 0" in caplog.text


def test_copies_that_differ_are_refused():
    sizes = iter([2, 2, 3])

    class Growing(Cart):
        def __init__(self):
            super().__init__()
            self.action_space = type(self.action_space)(-1.0, 1.0, (next(sizes),), np.float32)

        def step(self, action):
            return super().step(action[:1])

    with pytest.raises(Unsuitable, match=r"Environment 1 of .*Its action_space is Box.*Make copies that are all alike"):
        GymnasiumEngine(Growing, 2)


def test_a_cost_that_turns_negative_is_noted_once(caplog):
    lives = itertools.count()

    class Refunding(Cart):
        def step(self, action):
            *step, _ = super().step(action)
            return *step, {"cost": -1.0 if next(lives) > 110 else 0.0}  # The inspection takes 100 steps.

    engine = GymnasiumEngine(Refunding, 1)
    played(engine)
    assert not engine.notes
    assert caplog.text.count("A cost was negative") == 1
    assert "episode 0 (seed 100), step 12: A cost was negative" in caplog.text


# Episodes without end.


def test_episodes_are_cut_after_so_many_steps():
    engine = GymnasiumEngine(Endless, 2, max_episode_steps=7)
    found = played(engine)
    assert (found.length == 7).all()
    assert found.time_limited.all()
    assert not engine.notes
    assert "--max-episode-steps" in GymnasiumEngine(Endless, 1).notes[0]


def test_a_cut_beyond_the_environments_own_is_refused():
    import gymnasium

    make = functools.partial(gymnasium.wrappers.TimeLimit, Endless(), 30)
    with pytest.raises(
        InertSetting, match="max_episode_steps=30 changes nothing: the environment ends its episodes after 30"
    ):
        GymnasiumEngine(make, 1, max_episode_steps=30)
    with pytest.raises(ValueError, match="at least one step"):
        GymnasiumEngine(Endless, 1, max_episode_steps=0)


def test_a_wait_for_episodes_that_do_not_end_is_explained(monkeypatch, caplog):
    """It would wait forever, so the third message ends the test."""
    monkeypatch.setattr("ascpo.runs.episodes.EXPLAIN_AFTER", 0.0)

    def count(record):
        if len(caplog.records) > 2:
            raise TimeoutError
        return True

    caplog.handler.addFilter(count)
    with pytest.raises(TimeoutError):
        played(GymnasiumEngine(Endless, 2))
    caplog.handler.removeFilter(count)
    assert "0 of 6 are finished, 2 are running, and the longest has 25 steps so far" in caplog.text
    # certify has no --max-episode-steps.
    assert "TimeLimit(env, 1000). ascpo train and evaluate also take --max-episode-steps" in caplog.text
