"""The estimated time of missing runs on several GPUs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascpo.cli import paper
from ascpo.paper.experiments import EXPERIMENTS
from ascpo.paper.forecast import Forecast, time_on
from ascpo.sweep.estimate import Estimate
from tests.paper.helpers import store_in


def forecast(name, tmp_path, scale=0.1):
    store = store_in(tmp_path, scale)
    return Forecast(EXPERIMENTS[name], store, Estimate(store.path))


def test_three_batches_on_two_gpus_take_as_long_as_the_fuller_one():
    assert time_on(2, [3.0, 2.0, 2.0]) == 4.0


@given(st.integers(1, 20), st.lists(st.floats(0.1, 100.0), max_size=30))
def test_no_number_of_gpus_is_faster_than_the_longest_batch_or_an_even_share(places, batches):
    found = time_on(places, batches)
    assert found >= max(batches, default=0.0)
    assert found >= sum(batches) / places - 1e-6
    assert found <= sum(batches) / places + max(batches, default=0.0) + 1e-6


def test_more_gpus_are_faster_until_every_batch_has_its_own(tmp_path):
    q1 = forecast("q1", tmp_path)
    one, eight, many = map(q1.seconds_on_gpus, (1, 8, 64))
    assert q1.seconds() > one > eight >= many
    assert q1.seconds_on_gpus(128) == many, "the longest batch"


def test_experiments_that_measure_time_have_a_gpu_to_themselves(tmp_path):
    alone = forecast("resources", tmp_path)
    assert alone.seconds_on_gpus(1) == alone.seconds_on_gpus(64) > 0


def test_the_list_has_a_column_for_each_number_of_gpus(tmp_path, capsys):
    paper.main(["list", "--scale", "0.1", "--out", str(tmp_path), "--gpus", "1", "8"])
    said = capsys.readouterr().out
    assert "on 1 GPU " in said
    assert "on 8 GPUs" in said


def test_zero_gpus_are_refused(tmp_path):
    with pytest.raises(ValueError, match="gpus"):
        paper.main(["list", "--out", str(tmp_path), "--gpus", "0"])
