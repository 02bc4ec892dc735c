"""The inspection of an environment: its results, its errors, and the lookup of names."""

import functools
import pickle
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.wrappers import TimeLimit

import ascpo
from ascpo.engines.gymnasium.errors import Unsuitable
from ascpo.engines.gymnasium.inspection import EnvInspection, inspect
from ascpo.engines.gymnasium.naming import resolve


class Toy(gymnasium.Env):
    """Every test spoils one thing: a value, or what a call returns."""

    def __init__(self, **spoilt):
        self.observation_space = spoilt.pop("observation_space", Box(-9.0, 9.0, (2,), np.float32))
        self.action_space = spoilt.pop("action_space", Box(-2.0, 3.0, (1,), np.float32))
        self.info = spoilt.pop("info", lambda t: {"cost": 0.5})
        self.reward = spoilt.pop("reward", 1.0)
        self.observe = spoilt.pop("observe", lambda env: np.array([env.start, env.t], np.float32))
        for name, value in spoilt.items():
            setattr(self, name, value)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.start, self.t = self.np_random.random(), 0
        return self.observe(self), {}

    def step(self, action):
        self.t += 1
        return self.observe(self), self.reward, False, False, self.info(self.t)


def limited(**spoilt):
    return TimeLimit(Toy(**spoilt), 20)


def faults_of(make):
    with pytest.raises(Unsuitable) as caught:
        inspect(make)
    assert str(caught.value) == "\n".join(caught.value.faults)
    return caught.value.faults


def fault_of(**spoilt):
    (fault,) = faults_of(functools.partial(limited, **spoilt))
    return fault


def note_of(make):
    (note,) = inspect(make).notes
    return note


def test_a_correct_environment_is_described_without_notes():
    spaces = (limited().observation_space, limited().action_space)
    assert inspect(limited) == EnvInspection(2, 1, (-2.0,), (3.0,), ("cost",), False, (), 20, spaces)


def test_the_environment_is_closed_again_even_when_it_is_refused():
    closed = []
    for info in (lambda t: {"cost": 0.0}, lambda t: {}):
        env = limited(info=info, close=lambda: closed.append(True))
        try:
            inspect(lambda env=env: env)
        except Unsuitable:
            closed.append("refused")
    assert closed == [True, True, "refused"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int64, np.bool_])
def test_observations_of_any_shape_and_number_type_are_fine(dtype):
    def observe(env):
        return np.ones((3, 2), dtype)

    found = inspect(functools.partial(limited, observation_space=Box(0, 1, (3, 2), dtype), observe=observe))
    assert found.observation_size == 6


def test_a_vector_of_costs_wins_over_a_single_one_and_is_numbered():
    found = inspect(functools.partial(limited, info=lambda t: {"costs": [0.0, 1.0], "cost": 1.0}))
    assert found.cost_names == ("cost_0", "cost_1")


def test_an_environment_may_name_its_costs():
    found = inspect(functools.partial(limited, info=lambda t: {"costs": np.zeros(2)}, cost_names=["heat", "speed"]))
    assert (found.cost_names, found.notes) == (("heat", "speed"), ())


@pytest.mark.parametrize("names", [("heat",), ("heat", "heat"), ("heat", "a b"), ("heat", 3), "ab,"])
def test_names_that_do_not_fit_the_costs_are_ignored_with_a_note(names):
    make = functools.partial(limited, info=lambda t: {"costs": (0, 0)}, cost_names=names)
    assert inspect(make).cost_names == ("cost_0", "cost_1")
    assert "They are called cost_0, cost_1 instead" in note_of(make)


@pytest.mark.parametrize("cost", [1, 0.5, True, np.float32(0.5), np.array(0.5), np.bool_(True)])
def test_a_cost_may_be_any_kind_of_number(cost):
    assert inspect(functools.partial(limited, info=lambda t: {"cost": cost})).cost_names == ("cost",)


def test_a_suite_has_the_names_of_its_constraints():
    found = inspect(functools.partial(ascpo.make, "Point-1-Hazard"))
    assert found.cost_names == ascpo.suite("Point-1-Hazard").cost_names
    assert (found.low, found.high, found.notes) == ((-1.0, -1.0), (1.0, 1.0), ())


def test_an_environment_may_say_how_near_its_costs_are():
    assert inspect(functools.partial(limited, info=lambda t: {"cost": 0.0, "margins": [-0.5]})).has_margins
    assert inspect(functools.partial(ascpo.make, "Point-1-Hazard")).has_margins


# What is refused.


@pytest.mark.parametrize("margins", [[0.0, 1.0], [np.nan], "near", None])
def test_margins_are_one_number_for_each_cost(margins):
    faults = faults_of(functools.partial(limited, info=lambda t: {"cost": 0.0, "margins": margins}))
    assert "Give a number for each of the 1 costs" in faults[0]


def test_margins_in_only_some_steps_are_a_fault():
    def info(t):
        return {"cost": 0.0} | ({"margins": [-1.0]} if t < 3 else {})

    assert faults_of(functools.partial(limited, info=info)) == (
        'The info of a step has no margins, and another one had. Give info["margins"] in every step.',
    )


def test_all_faults_are_named_at_once():
    faults = faults_of(functools.partial(gymnasium.make, "CartPole-v1"))
    assert len(faults) == 2
    assert faults[0].startswith("The actions are Discrete(2); the policies here draw from a Box")
    assert 'info["cost"] = max(0.0, speed - 2.0)' in faults[1]
    assert "gymnasium.Wrapper" in faults[1]


def test_the_error_for_other_spaces_than_boxes_says_to_flatten_them():
    space = Dict({"a": Discrete(3)})
    assert "gymnasium.wrappers.FlattenObservation" in fault_of(observation_space=space, observe=lambda env: {"a": 1})


def test_spaces_without_numbers_are_refused():
    assert "The action space is empty" in fault_of(action_space=Box(-1, 1, (0,), np.float32))
    empty = Box(-1, 1, (0,), np.float32)
    assert "The observation space is empty" in fault_of(observation_space=empty, observe=lambda env: np.zeros(0, "f4"))


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (lambda t: {}, "has no cost"),
        (lambda t: {"cost": 1.0} if t < 5 else {}, "has no cost"),
        (lambda t: {"cost": "much"}, "info[\"cost\"] is 'much'"),
        (lambda t: {"cost": None}, 'info["cost"] is None'),
        (lambda t: {"cost": float("nan")}, 'info["cost"] is nan'),
        (lambda t: {"costs": [0.0, np.inf]}, 'info["costs"] is [0.0, inf]'),
        (lambda t: {"cost": 1e39}, 'info["cost"] is 1e+39'),
        (lambda t: {"cost": np.zeros(2)}, 'info["cost"] has the shape (2,)'),
        (lambda t: {"costs": 1.0}, 'info["costs"] has the shape ()'),
        (lambda t: {"costs": []}, 'info["costs"] has the shape (0,)'),
        (lambda t: {"costs": [0.0] * (1 + t % 2)}, '2 entries of info["costs"] in one step and 1 entries'),
        (lambda t: {"costs": [0.0]} if t < 5 else {"cost": 0.0}, 'and info["cost"] in another'),
        (lambda t: [0.5], "The info of a step is a list"),
    ],
)
def test_costs_that_cannot_be_read_are_refused(info, words):
    assert words in fault_of(info=info)


@pytest.mark.parametrize("reward", [np.nan, np.inf, 1e39, None, "much", np.zeros(1)])
def test_rewards_that_are_not_finite_are_refused(reward):
    assert fault_of(reward=reward).startswith("A reward is")


def test_observations_outside_their_space_are_refused():
    assert "shape (3,)" in faults_of(functools.partial(limited, observe=lambda env: np.zeros(3)))[0]
    assert "NaN or infinity" in faults_of(functools.partial(limited, observe=lambda env: np.full(2, np.nan)))[0]
    whole = Box(0, 9, (2,), np.int64)
    assert (
        "type float64"
        in faults_of(functools.partial(limited, observation_space=whole, observe=lambda e: np.ones(2)))[0]
    )


def test_an_object_that_is_no_environment_is_refused():
    (fault,) = faults_of(dict)
    assert "builtins.dict, which is not a gymnasium.Env" in fault
    (fault,) = faults_of(functools.partial(gymnasium.make_vec, "Pendulum-v1", 2))
    assert "Make a single one" in fault


class Old(Toy):
    """The four values of the old gym."""

    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, info


@pytest.mark.parametrize("make", [Old, lambda: TimeLimit(Old(), 20)])
def test_four_values_of_a_step_are_refused(make):
    (fault,) = faults_of(make)
    assert "step does not return five values" in fault


class Six(Toy):
    """The six values of Safety-Gymnasium."""

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, reward, 0.0, *rest


@pytest.mark.parametrize("make", [Six, lambda: TimeLimit(Six(), 20)])
def test_the_error_for_six_values_of_a_step_says_to_put_the_cost_into_info(make):
    (fault,) = faults_of(make)
    assert "with the cost in info['cost']" in fault


def test_the_error_for_a_file_name_suggests_its_module():
    with pytest.raises(Unsuitable, match=r"envs/mine.py is a file. Name its module: envs.mine:make"):
        resolve("envs/mine.py:make")


class NoSeed(Toy):
    def reset(self):
        return super().reset()


class NoInfo(Toy):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


def test_a_reset_of_the_old_gym_api_is_refused():
    assert "def reset(self, *, seed=None, options=None)" in faults_of(NoSeed)[0]
    assert "Return (observation, info)" in faults_of(NoInfo)[0]


@pytest.mark.parametrize("kind", [ZeroDivisionError, SystemExit, BrokenPipeError])
def test_an_exception_of_the_environment_itself_is_a_fault_with_its_cause(kind):
    def info(t):
        raise kind("at home")

    with pytest.raises(Unsuitable, match=rf"step raises {kind.__name__}: at home \(test_inspection.py, line") as caught:
        inspect(functools.partial(limited, info=info))
    assert isinstance(caught.value.__cause__, kind)


def test_an_environment_that_cannot_be_made_or_closed_is_refused():
    def fail():
        raise SystemExit(0)

    assert "Making it raises SystemExit: 0" in faults_of(fail)[0]
    assert "close raises SystemExit: 0" in faults_of(functools.partial(limited, close=fail))[0]


@pytest.mark.parametrize("end", [None, "no", float("nan"), 2, [], np.zeros(2, bool)])
def test_a_terminated_flag_that_is_not_a_boolean_is_refused(end):
    class Unsure(Toy):
        def step(self, action):
            observation, reward, _, truncated, info = super().step(action)
            return observation, reward, end, truncated, info

    assert faults_of(Unsure)[0].startswith("terminated is ")


# What is noted.


def test_an_environment_that_ignores_its_seed_is_noted():
    dice = np.random.default_rng()
    assert "cannot be resumed exactly" in note_of(
        functools.partial(limited, observe=lambda env: dice.random(2).astype("f4"))
    )


def test_steps_that_differ_after_the_same_seed_are_noted():
    dice = np.random.default_rng()
    note = note_of(functools.partial(limited, info=lambda t: {"cost": dice.random()}))
    assert "The same actions after the same seed give other observations" in note


def test_episodes_without_a_time_limit_are_noted():
    assert "gymnasium.wrappers.TimeLimit" in note_of(Toy)


class Counts(Toy):
    """Has a time limit of its own."""

    def step(self, action):
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, self.t >= 10, info


def test_an_observed_time_limit_needs_no_wrapper():
    assert inspect(Counts).notes == ()


@pytest.mark.parametrize(
    "space",
    [
        Box(-np.inf, np.inf, (1,), np.float32),
        Box(0.0, np.inf, (1,), np.float32),
        Box(-np.finfo(np.float32).max, np.finfo(np.float32).max, (1,), np.float32),
    ],
)
def test_actions_without_bounds_are_noted(space):
    make = functools.partial(limited, action_space=space)
    assert "passed on as the policy draws them" in note_of(make)
    assert inspect(make).high == (np.inf,)


def test_integer_actions_and_negative_costs_are_noted():
    assert "rounded" in note_of(functools.partial(limited, action_space=Box(0, 5, (1,), np.int64)))
    assert "count as zero" in note_of(functools.partial(limited, info=lambda t: {"cost": -1.0}))


# What a name stands for.


@pytest.mark.parametrize("text", ["Pendulum-v1", "ascpo:ascpo/Point-1-Hazard-v0", "gymnasium:Pendulum-v1"])
def test_an_id_makes_its_environment_after_pickling(text):
    env = pickle.loads(pickle.dumps(resolve(text)))()
    assert text.endswith(env.spec.id)
    env.close()


@pytest.mark.parametrize("text", ["Point-8-Hazard", "Pendulum-v99", "no such thing", "", ":make", "a b:make", "json:"])
def test_other_texts_are_not_taken_for_environments(text):
    assert resolve(text) is None


@pytest.fixture
def here(tmp_path: Path, monkeypatch):
    """A user's directory with a module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    code = """
        import gymnasium
        gymnasium.register("Mine-v3", "gymnasium.envs.classic_control:PendulumEnv")
        def make(length=1): return gymnasium.make("Pendulum-v1")
        def needy(length, mass): pass
        number = 3
        """
    (tmp_path / "someones_module.py").write_text("\n".join(line.strip() for line in code.splitlines()))
    (tmp_path / "someones_broken_module.py").write_text("import something_not_there")
    yield
    gymnasium.registry.pop("Mine-v3", None)
    sys.modules.pop("someones_module", None)


def test_a_function_of_a_module_in_the_current_directory_is_found(here):
    assert resolve("someones_module:make")().spec.id == "Pendulum-v1"
    assert resolve("someones_module:Mine-v3")().spec.id == "Mine-v3"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("someones_broken_module:make", "does not import: ModuleNotFoundError: No module named 'something_not_there'"),
        ("someones_modul:make", "No module named 'someones_modul'"),
        ("someones_module:maker", "someones_module has no maker. Did you mean make?"),
        ("someones_module:Mine-v4", "registers no environment Mine-v4. Did you mean Mine-v3"),
        ("someones_module:number", "someones_module:number is a int"),
        ("someones_module:needy", "cannot be called without length, mass"),
    ],
)
def test_names_that_cannot_be_imported_are_refused_with_a_message(here, text, words):
    with pytest.raises(Unsuitable) as caught:
        resolve(text)
    assert words in str(caught.value)
