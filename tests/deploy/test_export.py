"""Exported policies take the actions of the policy that they were exported from."""

import importlib.util
import json

import numpy as np
import pytest

import ascpo
from ascpo.cli.export import main
from ascpo.deploy.numpy_file import numpy_source, plain_data
from ascpo.deploy.onnx_graph import onnx_content
from ascpo.deploy.parts import parts_of
from ascpo.deploy.standalone import CLEAR, FAR, Policy
from ascpo.engines.gymnasium import trial
from ascpo.networks.normaliser import BOUND
from tests.evaluation.untrained import untrained
from tests.slow import always

SUITE = "Point-1-Hazard"
KINDS = {
    "trpo": {},
    "scpo": {"normalise_observations": True},
    "ascpo": {},
    "cpo": {},
    "trpo-sl": {"limits": (0.01,)},
    "trpo-usl": {"threshold": 0.0},
}
"""Without a memory; with normalised observations; with a maximum below zero; with a sum or none; with either shield."""
ROUNDING = 1e-5
"""Sums are taken in another order, and a safety layer divides by small numbers. Without shields it is below 2e-6."""


@pytest.fixture(scope="module", params=always(KINDS, "ascpo", "trpo-usl"))
def run(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("exported")
    return untrained(out, env=SUITE, algo=request.param, shift=0.02, **KINDS[request.param])


def episode(run, act, steps=40):
    """Actions of the run's policy and of `act` on the same observations of a real episode."""
    env, ours, rng = ascpo.make(SUITE), ascpo.load(run), np.random.default_rng(0)
    hazard = {"robot": [0.0, 0.0, 0.0], "goal": [1.5, 1.5], "obstacles": [[0.25, 0.0]]}
    observation, info = env.reset(seed=0, options=hazard)
    rows = []
    for _ in range(steps):
        noise = rng.standard_normal(2).astype(np.float32)
        rows.append((ours.act(observation, info, rng=_Fixed(noise)), act(observation, info, noise)))
        observation, _, terminated, _, info = env.step(rng.uniform(-1.0, 1.0, 2).astype(np.float32))
        assert not terminated
    return map(np.array, zip(*rows, strict=True))


class _Fixed:
    """A generator of noise that is known."""

    def __init__(self, noise):
        self._noise = noise

    def standard_normal(self, size):
        return self._noise


def test_the_numpy_file_acts_as_the_policy_does(run, tmp_path):
    (tmp_path / "flies.py").write_text(numpy_source(parts_of(run)))
    spec = importlib.util.spec_from_file_location("flies", tmp_path / "flies.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    policy = module.Policy()

    def act(observation, info, noise):
        return policy.act(observation, info.get("costs"), info.get("margins"), rng=_Fixed(noise))

    ours, exported = episode(run, act)
    np.testing.assert_allclose(exported, ours, atol=ROUNDING)
    assert policy.about["limits"] == list(ascpo.load(run).config.settings.limits)


def test_the_onnx_graph_acts_as_the_policy_does(run):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install 'ascpo[onnx]'")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'ascpo[onnx]'")
    session = onnxruntime.InferenceSession(onnx_content(parts_of(run)), providers=["CPUExecutionProvider"])
    names, state = [one.name for one in session.get_inputs()], None
    about = json.loads(session.get_modelmeta().custom_metadata_map["ascpo"])
    assert about["policy"] == parts_of(run).about["policy"]

    def act(observation, info, noise):
        nonlocal state
        costs = info.get("costs", [0.0])
        given = {
            "observation": [observation],
            "noise": [noise],
            "state": [[0.0]] if state is None else state,
            "costs": [costs],
            "margins": [info.get("margins", costs)],
        }
        fed = {name: np.asarray(value, np.float32) for name, value in given.items() if name in names}
        if "begin" in names:
            fed["begin"] = np.array([[not info]])
        outputs = dict(zip((one.name for one in session.get_outputs()), session.run(None, fed), strict=True))
        state = outputs.get("state_after")
        return outputs["action"][0]

    ours, exported = episode(run, act)
    np.testing.assert_allclose(exported, ours, atol=ROUNDING)


def test_the_command_writes_a_file_and_says_that_a_certificate_is_missing(run, tmp_path, capsys):
    main([str(run), "--format", "numpy", "--out", str(tmp_path / "mine.py")])
    assert "It has no certificate" in capsys.readouterr().out
    assert 'DATA = "{' in (tmp_path / "mine.py").read_text()


@pytest.mark.parametrize("actions", always(["sampled", "mean"], "sampled"))
def test_the_command_says_which_actions_the_certificate_is_about(tmp_path, capsys, actions):
    run = untrained(tmp_path, env=SUITE, algo="trpo")
    ascpo.certify(run, episodes=40, probability=0.5, actions=actions)
    main([str(run), "--format", "numpy", "--out", str(tmp_path / "mine.py")])
    printed = capsys.readouterr().out
    assert "Its certificate is in the file" in printed
    assert ("It is about sampled actions: pass rng" in printed) == (actions == "sampled")


def test_the_test_episode_makes_both_shields_act(tmp_path):
    """Without its shield, each of the two policies would act otherwise somewhere."""
    for algo in ("trpo-sl", "trpo-usl"):
        made = untrained(tmp_path, env=SUITE, algo=algo, shift=0.02, **KINDS[algo])
        plain = json.loads(plain_data(parts_of(made)))
        bare = Policy(json.dumps(plain | {"shield": None}))
        ours, others = episode(made, lambda seen, info, noise, bare=bare: bare.act(
            seen, info.get("costs"), info.get("margins"), rng=_Fixed(noise)))  # fmt: skip
        assert np.abs(ours - others).max() > 1e-3


def test_the_bounds_of_observations_and_margins_are_those_of_the_training():
    assert FAR == BOUND
    assert CLEAR == trial.FAR


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e39])
@pytest.mark.parametrize("what", ["observation", "costs"])
def test_numbers_that_are_not_finite_are_refused_and_leave_the_policy_as_it_was(tmp_path, what, wrong):
    """A robot that got NaN for a command would do anything; a policy that remembered NaN would command it for ever."""
    exported, again = (Policy(plain_data(parts_of(_ascpo(tmp_path / name)))) for name in ("one", "two"))
    ours, seen, margins = ascpo.load(_ascpo(tmp_path / "three")), np.zeros(exported.observation_size), [-0.2]
    for policy in (exported, again, ours):
        policy.act(seen)
    given = {"observation": seen.copy(), "costs": [0.1]}
    given[what][0] = wrong
    with pytest.raises(ValueError, match=f"Entry 0 of the {what} is"):
        exported.act(given["observation"], given["costs"], margins)
    with pytest.raises(ValueError, match=r"Entry 0 of the observation is|Costs are finite numbers"):
        ours.act(given["observation"], {"costs": given["costs"], "margins": margins})
    expected = again.act(seen, [0.1], margins)
    np.testing.assert_array_equal(exported.act(seen, [0.1], margins), expected)
    np.testing.assert_allclose(ours.act(seen, {"costs": [0.1], "margins": margins}), expected, atol=ROUNDING)


def test_infinite_margins_are_as_clear_as_can_be_and_those_that_are_no_numbers_are_refused(tmp_path):
    run = _ascpo(tmp_path)
    ours, exported = ascpo.load(run), Policy(plain_data(parts_of(run)))
    seen, far = np.zeros(exported.observation_size), [-np.inf]
    for policy in (ours, exported):
        policy.act(seen)
    with pytest.raises(ValueError, match="Entry 0 of the margins is nan"):
        exported.act(seen, [0.0], [np.nan])
    with pytest.raises(ValueError, match="margins"):
        ours.act(seen, {"costs": [0.0], "margins": [np.nan]})
    clear = exported.act(seen, [0.0], far)
    assert np.isfinite(clear).all()
    np.testing.assert_allclose(ours.act(seen, {"costs": [0.0], "margins": far}), clear, atol=ROUNDING)


def test_the_costs_of_the_last_episode_do_not_reach_the_next_one(tmp_path):
    """A control loop that runs several episodes passes them with the first observation of the next."""
    run = _ascpo(tmp_path)
    ours, exported = ascpo.load(run), Policy(plain_data(parts_of(run)))
    seen, costs, margins = np.zeros(exported.observation_size), [0.3], [-0.2]
    expected = exported.act(seen)
    assert np.abs(exported.act(seen, costs, margins) - expected).max() > 1e-5, "the policy remembers costs"
    exported.start()
    np.testing.assert_array_equal(exported.act(seen, costs, margins), expected)
    np.testing.assert_allclose(ours.act(seen, {"costs": costs, "margins": margins}), expected, atol=ROUNDING)


def _ascpo(path):
    return untrained(path, env=SUITE, algo="ascpo", shift=0.02)
