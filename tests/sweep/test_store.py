"""Which runs of a store are finished."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import save_file

from ascpo.sweep.store import Store
from tests.sweep.helpers import SUITE, job, write_run


@pytest.fixture
def one(tmp_path):
    return job(tmp_path)


def save_policy(run, epochs):
    save_file({"theta": np.zeros(1)}, run.policy, {"ascpo": json.dumps({"epochs": epochs, "kind": "average"})})


def test_a_run_is_trained_when_its_last_policy_is_saved(one):
    run = write_run(one)
    assert one.is_trained()  # only its tables were kept
    run.checkpoints.mkdir()
    assert not one.is_trained()  # killed after the last row, before the last checkpoint
    save_policy(run, 1)
    assert not one.is_trained()
    save_policy(run, one.config.epochs)
    assert one.is_trained()
    assert not replace(one, config=replace(one.config, total_steps=1000)).is_trained()
    assert not replace(one, config=replace(one.config, final_policy="last")).is_trained()  # another final policy


def test_a_truncated_last_row_does_not_count(one):
    run = write_run(one)
    run.metrics.write_text(run.metrics.read_text().removesuffix("\n"))
    assert not one.is_trained()


def test_all_seeds_of_a_name_count_and_no_other_names(tmp_path):
    for seed, epochs in ((0, None), (11, None), (12, 1)):
        write_run(job(tmp_path, "ascpo", seed), epochs=epochs)
    write_run(job(tmp_path, "pascpo", 3))
    (tmp_path / f"{SUITE}-ascpo-monotone-seed4").mkdir()
    store = Store(tmp_path)
    assert store.seeds(f"{SUITE}-ascpo") == [0, 11, 12]
    assert [run.path.name for run in store.finished(f"{SUITE}-ascpo")] == [
        f"{SUITE}-ascpo-seed0",
        f"{SUITE}-ascpo-seed11",
    ]
    assert Store(tmp_path / "nowhere").seeds(SUITE) == []
