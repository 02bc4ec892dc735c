"""Runs from Python: started, stopped, resumed and extended."""

import json
import os
import shutil
import signal
import warnings
from pathlib import Path

import jax
import numpy as np
import pytest

import ascpo
from ascpo.engines.contract import RunBatch
from ascpo.engines.gymnasium.errors import Faulty
from ascpo.runs.checkpoints import BadCheckpoint
from ascpo.runs.directory import NoRun, find, runs_in
from ascpo.runs.files import CannotWrite
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopped
from ascpo.runs.trained_policy import read_policy
from tests.own import Cart, WithNaN, WithoutCost
from tests.own import make as make_cart
from tests.runs.helpers import CART, EPOCH, POINT, TINY
from tests.runs.test_tables import full_after
from tests.slow import always, slow

QUIET = TINY | {"progress": False, "checkpoint_every": 0.0}


def train(env, out, epochs=4, **more):
    return ascpo.train(env, out=out, total_steps=epochs * EPOCH, **(QUIET | more))


def files(run):
    return find(run).metrics.read_bytes(), np.asarray(read_policy(run).theta).tobytes()


class Signal:
    """A callback that sends a signal after some epochs."""

    def __init__(self, after, number=signal.SIGTERM):
        self.after, self.number = after, number

    def on_training_start(self, plan):
        self.plan = plan

    def on_epoch_end(self, epochs):
        if epochs[0].metrics["Epoch"] + 1 == self.after:
            signal.raise_signal(self.number)

    def on_training_end(self):
        pass


@pytest.fixture(scope="module", params=always([CART, POINT], CART))
def whole(request, tmp_path_factory):
    """A run that was never stopped."""
    return request.param, train(request.param, tmp_path_factory.mktemp("whole")).directory


def stop_after(monkeypatch, epochs, number=signal.SIGTERM):
    monkeypatch.setattr("ascpo.runs.api._callbacks", lambda options, directories: [Signal(epochs, number)])


@pytest.mark.parametrize("number", always([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_a_stopped_run_continues_as_if_it_had_never_stopped(whole, tmp_path, monkeypatch, number):
    env, undisturbed = whole
    with monkeypatch.context() as patch:
        stop_after(patch, 2, number)
        with pytest.raises(Stopped):
            train(env, tmp_path, checkpoint_every=1e6)
    (stopped,) = runs_in(tmp_path)
    assert stopped.metrics.read_bytes().count(b"\n") == 1 + 2
    result = ascpo.resume(stopped.path, progress=False)
    assert files(result.directory) == files(undisturbed)


def test_an_extended_run_equals_a_longer_one(whole, tmp_path):
    env, undisturbed = whole
    shorter = train(env, tmp_path, epochs=1).directory
    longer = ascpo.resume(shorter, total_steps=4 * EPOCH, progress=False)
    assert files(longer.directory) == files(undisturbed)
    assert find(shorter).config().total_steps == 4 * EPOCH


@slow("test_update.py tests what is carried over")
def test_a_resumed_run_continues_the_trend_of_the_signal(whole, tmp_path):
    """Measured in the first and the third epoch; two runs of two epochs are one of four."""
    env, usual = whole
    chosen = {"trust_region": {"signal_every": 2}, "target": {"half_signal": 0.1}}
    undisturbed = train(env, tmp_path / "whole", **chosen).directory
    shorter = train(env, tmp_path / "parts", epochs=2, **chosen).directory
    longer = ascpo.resume(shorter, total_steps=4 * EPOCH, progress=False)
    assert files(longer.directory) == files(undisturbed) != files(usual)
    assert np.isnan(longer.history["CostSignal"][[1, 3]]).all()


@slow("test_replay.py continues from a state")
def test_a_resumed_run_continues_with_its_pool_of_scenes(tmp_path):
    replay = {"share": 0.5, "pool": 8}
    undisturbed = train("tests/Ditch-v0", tmp_path / "whole", replay=replay)
    assert undisturbed.history["ReplayShare"][-1] > 0.2
    shorter = train("tests/Ditch-v0", tmp_path / "shorter", epochs=2, replay=replay).directory
    longer = ascpo.resume(shorter, total_steps=4 * EPOCH, progress=False)
    assert files(longer.directory) == files(undisturbed.directory)


def test_resuming_a_finished_run_changes_nothing(whole):
    _, undisturbed = whole
    before = files(undisturbed)
    assert files(ascpo.resume(undisturbed, progress=False).directory) == before


def test_a_run_cannot_be_made_shorter_than_it_is(whole):
    with pytest.raises(BadSetting, match="already has 4 epochs, more than the requested 1"):
        ascpo.resume(whole[1], total_steps=EPOCH, progress=False)


def test_a_run_continues_with_the_settings_it_started_with(whole):
    with pytest.raises(BadSetting, match="margin cannot be changed"):
        ascpo.resume(whole[1], margin=0.1)


def test_a_result_has_history_policy_and_directory(whole):
    env, directory = whole
    result = ascpo.runs.api.Result(directory)
    assert list(result.history["TotalEnvInteracts"]) == [100, 200, 300, 400]
    environment = make_cart() if env == CART else ascpo.make(env)
    observation, info = environment.reset(seed=0)
    action = result.policy.act(observation)
    assert environment.action_space.contains(action)
    _, _, _, _, info = environment.step(action)
    result.policy.act(observation, info)
    assert str(result.policy) == f"TrainedPolicy(ascpo on {env}, 4 epochs)"


def test_the_trained_policy_acts_as_the_engine_does(whole):
    """Mean actions, in the environment's units, with the largest cost so far in mind."""
    from ascpo.runs.environment import open_engine

    env, directory = whole
    file = read_policy(directory)
    engine = open_engine(env, 1)
    engine.start([RunBatch(file.actor(), (11,))])
    noise = np.zeros((1, 15, 1, engine.action_size), np.float32)
    rollout = jax.tree.map(lambda x: np.asarray(x)[0], engine.collect([file.theta[None]], [noise])[0])
    policy = ascpo.load(directory)
    info = None
    for t in range(15):
        seen = np.asarray(rollout.observation[t, 0, : engine.observation_size])
        low, high = engine.action_bounds
        expected = 0.5 * (low + high) + 0.5 * (high - low) * np.clip(rollout.action[t, 0], -1, 1)
        np.testing.assert_allclose(policy.act(seen, info), expected, atol=1e-5)
        info = {"costs": np.asarray(rollout.cost[t, 0])}
        if rollout.signed_cost is not None:
            info["margins"] = np.asarray(rollout.signed_cost[t, 0])


def test_a_trained_policy_refuses_what_it_was_not_trained_for(whole):
    policy = ascpo.load(whole[1])
    with pytest.raises(ValueError, match="observations of"):
        policy.act(np.zeros(1000))
    policy.act(np.zeros(policy._file.observation_size))
    with pytest.raises(ValueError, match="and the step gave 3"):
        policy.act(np.zeros(policy._file.observation_size), {"costs": [0.0, 0.0, 0.0]})


def test_a_second_run_does_not_overwrite_the_first(whole):
    env, directory = whole
    with pytest.raises(NoRun, match=r"holds a run already\. Continue it with --resume"):
        train(env, directory.parent)


def test_two_trainings_in_one_directory_are_refused(whole):
    with find(whole[1]).locked(), pytest.raises(NoRun, match="Another training is writing to"):
        ascpo.resume(whole[1], total_steps=8 * EPOCH, progress=False)


def test_a_missing_run_gets_the_nearest_one_suggested(whole):
    _, directory = whole
    with pytest.raises(NoRun, match=f"Did you mean {directory}"):
        ascpo.load(directory.with_name(directory.name.replace("ascpo", "acspo")))
    with pytest.raises(NoRun, match="ascpo list runs"):
        ascpo.load(directory / "nothing" / "here")


def test_a_factory_trains_as_its_name_does_and_resumes_when_passed_again(tmp_path):
    by_name = train("tests.own:make", tmp_path / "name", epochs=2).directory
    by_object = train(make_cart, tmp_path / "object", epochs=1).directory
    assert files(ascpo.resume(by_object, env=make_cart, total_steps=2 * EPOCH, progress=False).directory) == files(
        by_name
    )


def test_a_factory_that_cannot_be_found_by_name_must_be_passed_again(tmp_path):
    def make():
        return Cart()

    run = train(make, tmp_path, epochs=1).directory
    with pytest.raises(BadSetting, match="cannot be found by its name"):
        ascpo.resume(run, total_steps=2 * EPOCH, progress=False)


class TestBadInputIsRefusedBeforeAnythingIsWritten:
    @pytest.mark.parametrize(
        ("env", "more", "sentence"),
        [
            ("Point8Hazard", {}, "Did you mean Point-8-Hazard"),
            ("Pendulm-v1", {}, "Pendulum-v1"),
            ("CartPole-v1", {}, "Discrete"),
            ("Pendulum-v1", {}, "cost"),
            (WithoutCost, {}, "cost"),
            (CART, {"algo": "asppo"}, "Did you mean ascpo"),
            (CART, {"limits": (0.0, 1.0)}, "2 limits for 1 constraints"),
            (CART, {"marign": 1.0}, "Did you mean margin"),
            (CART, {"checkpoint_every": -1.0}, "from 0 to"),
            (CART, {"threads": -1}, "threads=-1 must be a whole number from 0"),
            (CART, {"processes": True, "num_envs": 2000}, "starts a process for each of num_envs=2000"),
            (CART, {"threads": 2}, "threads=2 has no effect on your own environments"),
            (POINT, {"processes": True}, "processes is for your own environments, and Point-1-Hazard is a suite"),
            (POINT, {"devices": 2}, "devices=2 is for --engine mjx"),
            (POINT, {"engine": "mjx-jax", "threads": 2}, "threads=2 is for --engine native"),
            (POINT, {"engine": "mjx-jax", "processes": True}, "processes=True is for --engine native"),
            (CART, {"hidden": (8, 9)}, "different width"),
        ],
    )
    def test_wrong_arguments_are_refused_with_a_message(self, env, more, sentence, tmp_path):
        with pytest.raises(ValueError, match=sentence):
            train(env, tmp_path, **more)
        assert not list(tmp_path.iterdir())


def test_a_reward_that_is_nan_is_named_with_environment_and_step(tmp_path):
    with pytest.raises(Faulty, match=r"Environment 0 of tests.own:WithNaN, episode 6 .*step 10: The reward is nan"):
        train(WithNaN, tmp_path, epochs=6)
    (run,) = runs_in(tmp_path)
    assert run.metrics.read_bytes().count(b"\n") == 1 + 5, "the epochs before it are kept"


def test_a_changed_config_is_noticed(whole, tmp_path):
    _, directory = whole
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    config = json.loads((copy / "config.json").read_text())
    config["settings"]["discount"] = 0.5
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(NoRun, match=r"config.json was changed after it was written"):
        ascpo.resume(copy, progress=False)
    del config["checksum"]
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadCheckpoint, match="belongs to a run with other settings"):
        ascpo.resume(copy, progress=False)
    (copy / "config.json").write_text("{")
    with pytest.raises(NoRun, match=r"config.json is damaged, or this program did not write it"):
        ascpo.resume(copy, progress=False)


def test_a_file_that_is_no_policy_is_refused(whole, tmp_path):
    file = tmp_path / "policy.safetensors"
    file.write_bytes(find(whole[1]).policy.read_bytes()[:-100])
    with pytest.raises(NoRun, match=r"policy.safetensors is damaged, or this program did not write it"):
        ascpo.load(file)


def test_an_epoch_whose_row_cannot_be_written_is_not_saved_and_the_run_continues(whole, tmp_path, monkeypatch):
    """A full disk on metrics.csv: the checkpoint stays behind the log, never the other way round."""
    env, undisturbed = whole
    with monkeypatch.context() as patch:
        full_after(patch, 2 * 4 + 1)
        with pytest.raises(CannotWrite, match=r"metrics.csv could not .*No space left.*continue with: ascpo train"):
            train(env, tmp_path, checkpoint_every=1e6)
    (stopped,) = runs_in(tmp_path)
    assert stopped.metrics.read_bytes().count(b"\n") == 1 + 2
    assert read_policy(stopped.path).epochs == 2, "what was there is saved"
    assert files(ascpo.resume(stopped.path, progress=False).directory) == files(undisturbed)


def test_a_policy_with_a_flipped_bit_or_of_another_run_is_refused(whole, tmp_path):
    _, directory = whole
    copy = shutil.copytree(directory, tmp_path / "copy")
    content = bytearray(find(directory).policy.read_bytes())
    content[-30] ^= 1
    find(copy).policy.write_bytes(content)
    with pytest.raises(NoRun, match=r"policy.safetensors is damaged: its checksum does not fit"):
        ascpo.load(copy)
    find(copy).policy.write_bytes(find(directory).policy.read_bytes())
    find(copy).write_config(find(directory).config().plain() | {"seed": 7})
    with pytest.raises(NoRun, match="belongs to another run"):
        ascpo.load(copy)


def test_files_are_synchronised_to_disk_before_a_checkpoint_counts(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def note(descriptor):
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", note)
    run = train(CART, tmp_path, epochs=1).directory
    names = [str(path.relative_to(run)) for path in synced if path.is_relative_to(run)]
    assert {"config.json.part", "policy.safetensors.part", "metrics.csv", "timing.csv", "checkpoints/1"} <= set(names)
    last = len(names) - 1 - names[::-1].index("metrics.csv")
    assert last < names.index("checkpoints/1") < names.index("checkpoints")


def test_tensorboard_gets_the_numbers_of_the_table(tmp_path):
    with warnings.catch_warnings(action="error", category=UserWarning):
        result = train(CART, tmp_path, epochs=2, tensorboard=True)
    assert list((result.directory / "tensorboard").iterdir())
