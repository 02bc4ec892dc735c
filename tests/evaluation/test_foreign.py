"""Policies of other libraries: a function, an ONNX graph, a file of Stable-Baselines3."""

from contextlib import closing

import numpy as np
import pytest

import ascpo
from ascpo.cli import certify, evaluate
from ascpo.deploy.onnx_graph import onnx_content
from ascpo.deploy.parts import parts_of
from ascpo.engines.contract import scaled
from ascpo.evaluation.bound import lower_bound
from ascpo.evaluation.certify import Request
from ascpo.evaluation.foreign import Where, certify_foreign, evaluate_foreign
from ascpo.evaluation.foreign_policy import ForeignActor, actor_for, read_foreign, try_out
from ascpo.evaluation.ledger import Look, new_ledger, take_look
from ascpo.runs.environment import open_engine
from ascpo.runs.files import NoRun
from ascpo.runs.sealed import fingerprint_of
from ascpo.runs.serialization import BadSetting
from tests.evaluation.untrained import untrained
from tests.runs.helpers import CART
from tests.slow import slow

SUITE = "Point-1-Hazard"
STILL = f"python:{__name__}:still"


def still(observation):
    return np.zeros(1)


def wise(observation):
    return [1.5 * np.sin(observation.sum())]


def three_actions(observation):
    return np.zeros(3)


def gives_up(observation):
    if observation[0] > 3.0:
        raise ArithmeticError("no idea")
    return 2.0


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@slow("compiles; tests/api/test_elsewhere.py certifies the same from Python")
def test_a_cart_that_never_violates_is_certified_with_the_bound_of_no_violation():
    ((directory, certificate),), _ = certify_foreign([STILL], Where(CART), Request(episodes=8, probability=0.2))
    assert certificate.violations == 0
    assert certificate.bound == lower_bound(0, 8, certificate.plan.each)
    ((_, again),), _ = certify_foreign([STILL], Where(CART), Request(episodes=8, probability=0.2))
    assert again == certificate, "the same look, not another one"
    ((_, other),), _ = certify_foreign([STILL], Where(CART), Request(episodes=9, probability=0.2))
    assert other.plan.look == 2
    assert (directory / "certificates.jsonl").exists()


def test_in_an_engine_a_foreign_policy_decides_the_actions():
    policy = read_foreign(f"python:{__name__}:wise")
    with closing(open_engine(CART, 3)) as engine:
        engine.start_at(actor_for(policy, engine), [(0, 0), (0, 1), (0, 2)])
        (rollout,) = engine.collect([np.zeros((1, 1), np.float32)], [np.zeros((1, 5, 3, engine.action_size))])
        taken = scaled(np.asarray(rollout.action)[0], *engine.action_bounds)
    seen = np.asarray(rollout.observation)[0]
    expected = np.array([[wise(row) for row in rows] for rows in seen])
    np.testing.assert_allclose(taken, np.clip(expected, *engine.action_bounds), atol=1e-6)
    assert np.ptp(taken) > 0.1


def test_an_action_whose_range_has_no_width_is_taken_as_it_is():
    """0/0 would be NaN, which the environment would get."""
    policy, bounds = read_foreign(lambda observation: [0.5, 3.0]), ((-1.0, 3.0), (1.0, 3.0))
    action = ForeignActor(policy, 2, *bounds).act_in(np.zeros((4, 2)))
    taken = scaled(action, *(np.array(bound, np.float32) for bound in bounds))
    np.testing.assert_array_equal(taken, [[0.5, 3.0]] * 4)


def test_an_exported_graph_acts_as_its_run_does(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed: pip install 'ascpo[onnx]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'ascpo[onnx]'")
    run = untrained(tmp_path, env=SUITE, algo="trpo")
    (tmp_path / "policy.onnx").write_bytes(onnx_content(parts_of(run)))
    rows, ours = np.random.default_rng(0).standard_normal((5, 79)).astype(np.float32), ascpo.load(run)
    expected = [ours.act(row) for row in rows]
    np.testing.assert_allclose(read_foreign("onnx:policy.onnx").act(rows), expected, atol=2e-6)


def test_a_policy_of_stable_baselines_is_evaluated(capsys):
    sb3 = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    sb3.PPO("MlpPolicy", "ascpo/Point-1-Hazard-v0", n_steps=8, seed=0, device="cpu").save("ppo.zip")
    evaluate.main(["sb3:ppo.zip", "--env", SUITE, "--episodes", "2"])
    assert "SafeRate" in capsys.readouterr().out


def test_a_foreign_policy_is_tried_out_on_observations_that_occur():
    """Where all observations are zero, this one would divide by zero."""
    with closing(open_engine(CART, 1)) as engine:
        tried = try_out(read_foreign(lambda observation: observation[0] / abs(observation[0])), engine)
    assert set(tried.ravel().tolist()) == {-0.5, 0.5}, "as parts of the largest push, which is 2"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        (f"python:{__name__}:three_actions", r"has the shape \(3,\), and the environment takes \(1,\)"),
        (f"python:{__name__}:nothing", "is no function"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_before_a_look_is_spent(name, answer, tmp_path):
    with pytest.raises(BadSetting, match=answer):
        certify_foreign([name], Where(CART), Request(episodes=8, probability=0.2))
    assert not list(tmp_path.iterdir())


def test_a_plan_that_is_impossible_for_one_policy_is_refused_before_any_policy_spends_a_look(tmp_path):
    """Three episodes are enough for a first look at two policies, but not for the second look at one of them."""
    name = f"python:{__name__}:wise"
    place = tmp_path / f"{name.removeprefix('python:').replace(':', '-')}.tests-Cart-v0"
    place.mkdir()
    ledger = new_ledger(place, fingerprint_of({"policy": name, "env": CART}), 0)
    take_look(ledger, Look("another", "experiment", "world", 0.2, 0.95, 3))
    with pytest.raises(BadSetting, match="at look 2 of this run"):
        certify_foreign([STILL, name], Where(CART), Request(episodes=3, probability=0.2))
    assert list(tmp_path.iterdir()) == [place]


def test_a_policy_that_fails_in_an_episode_is_named():
    with pytest.raises(BadSetting, match="gives_up cannot act on an observation: it raises ArithmeticError: no idea"):
        evaluate_foreign(f"python:{__name__}:gives_up", Where(CART), 20)


def test_commands_say_which_arguments_a_foreign_policy_needs():
    with pytest.raises(BadSetting, match="--env Point-8-Hazard"):
        certify.main([STILL])
    with pytest.raises(NoRun, match=r"missing\.zip does not exist"):
        certify.main(["sb3:missing.zip", "--env", CART])
    with pytest.raises(BadSetting, match="take the actions that they return"):
        evaluate.main([STILL, "--env", CART, "--actions", "sampled"])
