"""A policy's file is read with suspicion: what its header says has to fit the arrays beside it."""

import json
import math

import numpy as np
import pytest
from safetensors.numpy import save

from ascpo.runs.config import configure
from ascpo.runs.directory import NoRun
from ascpo.runs.sealed import sealed_arrays
from ascpo.runs.trained_policy import read_policy

SIZE = 41 * 64 + 64 * 64 + 64 * 2 + 64 + 64 + 2 + 2
ARRAYS = {"theta": np.zeros(SIZE, np.float32), "low": -np.ones(2, np.float32), "high": np.ones(2, np.float32)}
ABOUT = {"format": "ascpo policy 1", "config": configure("Point-1-Hazard").plain(), "epochs": 1}
ABOUT |= {"observation_size": 40, "cost_names": ["hazard"]}


@pytest.fixture
def file(tmp_path):
    def write(about=ABOUT, **arrays):
        path = tmp_path / "policy.safetensors"
        path.write_bytes(save(ARRAYS | arrays, {"ascpo": about if isinstance(about, str) else json.dumps(about)}))
        return path

    return write


def test_an_intact_policy_file_is_read(file):
    assert read_policy(file()).observation_size == 40


ODD = (None, "a", -1, 0.5, True, [], {}, math.nan, 10**12, 10**400)


@pytest.mark.parametrize("name", ["format", "config", "epochs", "observation_size", "cost_names"])
def test_a_header_with_wrong_values_is_refused_with_the_name_of_the_file(file, name):
    for odd in ODD:
        if (name, odd) == ("epochs", 10**12):
            continue
        with pytest.raises(NoRun, match=r"policy\.safetensors is (not a policy of|damaged, or) this program"):
            read_policy(file(ABOUT | {name: odd}))


def test_a_header_that_is_no_dictionary_or_nested_too_deeply_is_refused(file):
    for text in ("3", "[]", "{", "[" * 100_000 + "]" * 100_000, "{}"):
        with pytest.raises(NoRun, match=r"policy\.safetensors is (not a policy of|damaged, or) this program"):
            read_policy(file(text))


@pytest.mark.parametrize(
    "arrays",
    [
        {"theta": np.zeros(100, np.float32)},
        {"theta": np.zeros((SIZE, 1), np.float32)},
        {"theta": np.zeros(SIZE, np.int32)},
        {"theta": np.full(SIZE, np.nan, np.float32)},
        {"low": np.zeros(3, np.float32)},
        {"low": np.full(2, np.nan, np.float32)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(file, arrays):
    with pytest.raises(NoRun, match=r"policy\.safetensors is damaged, or this program did not write it"):
        read_policy(file(**arrays))


def test_networks_larger_than_the_file_are_not_built(file):
    huge = configure("Point-1-Hazard", hidden=(16384, 16384)).plain()
    for about in (ABOUT | {"observation_size": 10**9}, ABOUT | {"config": huge}):
        with pytest.raises(NoRun, match=r"need more than .* parameters, but it holds"):
            read_policy(file(about))


def test_equal_policies_have_equal_bytes():
    """Entries of the header would be written in another order each time, if there were several."""
    about, arrays = {"config": {"a": 1}, "epochs": 2}, {"theta": np.ones(3), "low": np.zeros(1)}
    assert len({sealed_arrays(about, arrays) for _ in range(20)}) == 1
