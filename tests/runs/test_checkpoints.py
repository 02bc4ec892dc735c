"""Checkpoints are intact or refused."""

import dataclasses
import logging
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from ascpo.engines.functional import FunctionalEngine
from ascpo.runs import checkpoints
from ascpo.runs.checkpoints import BadCheckpoint, Checkpoints
from ascpo.runs.config import configure
from ascpo.training.agent import agent_for
from ascpo.training.loop import TrainingRun, start
from tests.runs.helpers import TINY
from tests.slow import always
from tests.toys import Corridor


def training_state(algo="ascpo", epochs=0, seed=0, **settings):
    engine = FunctionalEngine(Corridor(), 4)
    config = configure("corridor", algo, **((TINY if algo != "trpo" else {"num_envs": 4, "horizon": 25}) | settings))
    (first,) = start(engine, [TrainingRun(agent_for(engine, config.algorithm(), config.settings), seed)])
    return dataclasses.replace(first, epochs=epochs, cost=0.1 * epochs)


def leaves(training_state):
    raw = [jax.random.key_data(x) if jax.dtypes.issubdtype(getattr(x, "dtype", int), jax.dtypes.prng_key) else x
           for x in jax.tree.leaves(training_state)]  # fmt: skip
    return [np.asarray(leaf) for leaf in raw]


@pytest.mark.parametrize("algo", ["trpo", "ascpo"])
def test_a_loaded_checkpoint_equals_the_saved_one(tmp_path, algo):
    saved = training_state(algo, epochs=3, seed=5)
    Checkpoints(tmp_path, "me").save(saved)
    loaded = Checkpoints(tmp_path, "me").load(training_state(algo))
    assert (loaded.epochs, loaded.cost) == (3, saved.cost)
    for one, other in zip(leaves(saved), leaves(loaded), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_the_last_two_checkpoints_are_kept(tmp_path):
    found = Checkpoints(tmp_path, "me")
    for epochs in (1, 2, 3):
        found.save(training_state(epochs=epochs))
    assert found.epochs() == [2, 3]
    assert found.load(training_state()).epochs == 3


def damage(path, how):
    files = [file for file in path.rglob("*") if file.is_file() and file.stat().st_size > 0]
    largest = max(files, key=lambda file: file.stat().st_size)
    if how == "truncated":
        largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])
    elif how == "flipped":
        # Of the arrays: much of what lies beside them is never read.
        arrays = max((path / "arrays" / "d").iterdir(), key=lambda file: file.stat().st_size)
        content = bytearray(arrays.read_bytes())
        content[len(content) // 2] ^= 1
        arrays.write_bytes(bytes(content))
    elif how == "emptied":
        largest.write_bytes(b"")
    else:
        for file in files:
            file.unlink()


@pytest.mark.parametrize("how", always(["truncated", "flipped", "emptied", "gone"], "flipped", "gone"))
def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_is_named(tmp_path, how):
    for epochs in (4, 5):
        Checkpoints(tmp_path, "me").save(training_state(epochs=epochs))
    damage(tmp_path / "5", how)
    with pytest.raises(
        BadCheckpoint, match=r"5 is damaged.*Remove that directory to continue from the one after epoch 4"
    ):
        Checkpoints(tmp_path, "me").load(training_state())
    shutil.rmtree(tmp_path / "5")
    assert Checkpoints(tmp_path, "me").load(training_state()).epochs == 4


def test_threads_that_still_read_a_damaged_checkpoint_log_nothing(tmp_path, monkeypatch):
    tracebacks = []
    monkeypatch.setattr("sys.unraisablehook", tracebacks.append)
    late, other = (SimpleNamespace(exc_value=RuntimeError(why)) for why in ("Event loop is closed", "another error"))
    Checkpoints(tmp_path, "me").save(training_state(epochs=4))
    sys.unraisablehook(other)
    damage(tmp_path / "4", "emptied")
    with pytest.raises(BadCheckpoint):
        Checkpoints(tmp_path, "me").load(training_state())
    sys.unraisablehook(late)
    assert tracebacks == [other], "all is as it was after one that was whole"


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    Checkpoints(tmp_path, "another").save(training_state(epochs=1))
    with pytest.raises(BadCheckpoint, match=r"belongs to a run with other settings.*start the run again"):
        Checkpoints(tmp_path, "me").load(training_state())


def test_a_checkpoint_of_another_program_is_refused(tmp_path):
    import orbax.checkpoint as ocp

    with ocp.CheckpointManager(tmp_path) as manager:
        manager.save(1, args=ocp.args.StandardSave({"weights": np.ones(3)}))
    with pytest.raises(BadCheckpoint, match="damaged, or another program wrote it"):
        Checkpoints(tmp_path, "me").load(training_state())


@pytest.mark.parametrize("about", [{"checksums": {}, "empty": {}}, {"fingerprint": "me", "checksums": {}, "empty": {}}])
def test_a_checkpoint_without_its_run_or_without_checksums_is_refused(tmp_path, about):
    import orbax.checkpoint as ocp

    content = ocp.args.Composite(arrays=ocp.args.StandardSave({"weights": np.ones(3)}), about=ocp.args.JsonSave(about))
    with ocp.CheckpointManager(tmp_path) as manager:
        manager.save(1, args=content)
    with pytest.raises(BadCheckpoint, match="damaged, or another program wrote it"):
        Checkpoints(tmp_path, "me").load(training_state())


def test_a_checkpoint_of_other_sizes_is_refused(tmp_path):
    Checkpoints(tmp_path, "me").save(training_state(epochs=1))
    with pytest.raises(BadCheckpoint, match="other sizes"):
        Checkpoints(tmp_path, "me").load(training_state(hidden=(9, 9)))


def test_a_checkpoint_of_an_earlier_version_is_read_with_its_earlier_field_names(tmp_path, monkeypatch):
    """The state's fields have other names today: the table says which."""
    monkeypatch.setattr(checkpoints, "_path_name", lambda path: earlier_name(keystr(path)))
    Checkpoints(tmp_path, "me").save(saved := training_state(epochs=3, seed=5))
    monkeypatch.undo()
    with pytest.raises(BadCheckpoint, match="Another version of this program wrote the checkpoint"):
        Checkpoints(tmp_path, "me").load(training_state())
    monkeypatch.setattr(checkpoints, "RENAMED", {"state": "learner", "learner/reward_critic": "learner/value"})
    for one, other in zip(leaves(saved), leaves(Checkpoints(tmp_path, "me").load(training_state())), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_checkpoint_without_the_signal_is_read_and_its_trend_begins_empty(tmp_path):
    saved = training_state(epochs=3, seed=5)
    policy = saved.learner.policy
    assert policy.signal is None
    Checkpoints(tmp_path, "me").save(saved)
    measuring = training_state(trust_region={"signal_every": 10})
    loaded = Checkpoints(tmp_path, "me").load(measuring).learner.policy
    np.testing.assert_array_equal(loaded.theta, policy.theta)
    np.testing.assert_array_equal(loaded.signal.share, 1.0)
    assert int(loaded.signal.epochs) == 0


def test_a_checkpoint_without_recent_policies_is_read_and_they_begin_empty(tmp_path):
    saved = training_state(epochs=3, seed=5)
    Checkpoints(tmp_path, "me").save(
        dataclasses.replace(saved, learner=dataclasses.replace(saved.learner, recent=None))
    )
    loaded = Checkpoints(tmp_path, "me").load(training_state())
    assert loaded.learner.recent.theta.shape == (20, len(saved.learner.policy.theta))
    assert int(loaded.learner.recent.count) == 0
    for one, other in zip(leaves(saved), leaves(loaded), strict=True):
        np.testing.assert_array_equal(one, other)


def keystr(path):
    return jax.tree_util.keystr(path, simple=True, separator="/")


def earlier_name(name):
    return name.replace("learner/value/", "learner/reward_critic/").replace("learner/", "state/")


def test_a_renamed_field_keeps_its_subfields_and_no_others():
    arrays = {"a/b/c": 1, "a/bb": 2, "a/b": 3, "engine/a/b": 4}
    assert checkpoints.renamed(arrays, {"a/bb"}, {"a/b": "x"}) == {"x/c": 1, "a/bb": 2, "x": 3, "engine/a/b": 4}


FULL_DISK = """
import resource, sys
from pathlib import Path
from ascpo.runs.checkpoints import Checkpoints
from ascpo.runs.files import CannotWrite
from tests.runs.test_checkpoints import training_state

checkpoints = Checkpoints(Path(sys.argv[1]), "me")
checkpoints.save(training_state(epochs=1))
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
try:
    checkpoints.save(training_state(epochs=2))
except CannotWrite as error:
    print(error)
"""


def test_a_failed_write_leaves_the_earlier_checkpoint_intact(tmp_path):
    """A limit on the size of files stands in for a full disk: writing fails in the same place."""
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    sentence = (
        f"The checkpoint after epoch 2 could not be written to {tmp_path}: File too large. The one after epoch 1 "
    )
    assert run.stdout.splitlines() == [f"{sentence}is still good."]
    assert run.stderr == "", "a library's tracebacks are not for people"
    assert Checkpoints(tmp_path, "me").load(training_state()).epochs == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 500


def test_asyncio_still_logs_what_others_never_retrieved(tmp_path, caplog):
    Checkpoints(tmp_path, "me")
    for whose in ("orbax/checkpoint/type_handlers.py", "mine.py"):
        logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: <Task ... %s>", whose)
    assert [record.args for record in caplog.records] == [("mine.py",)]
