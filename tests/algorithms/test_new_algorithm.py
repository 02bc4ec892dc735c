"""The algorithm on the page about adding algorithms can be added and trained."""

import re
from pathlib import Path

import numpy as np
import pytest

import ascpo
from ascpo.algorithms import ALGORITHMS
from ascpo.cli import list as listing
from ascpo.runs.serialization import BadSetting
from tests.runs.helpers import CART, EPOCH, TINY
from tests.slow import slow

PAGE = Path(__file__).parents[2] / "docs" / "add-an-algorithm.md"
NAME = "trpo-penalty"
BLOCK = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)[0]
KNOWN = ("EpRet", "EpCost", "EpMaxCost", "EpLen", "KL", "Gain", "LineSearch", "CGResidual", "LogStd", "LossV", "LossC")


@pytest.fixture
def added(monkeypatch):
    """The algorithm of the page, until the end of the test."""
    assert NAME not in ALGORITHMS
    monkeypatch.setitem(ALGORITHMS, NAME, None)
    exec(compile(BLOCK, str(PAGE), "exec"), {"__name__": "mine"})
    return ALGORITHMS[NAME]


def train(out, **more):
    return ascpo.train(CART, NAME, out=out, total_steps=2 * EPOCH, progress=False, **(TINY | more))


def test_an_algorithm_on_the_page_takes_less_than_sixty_lines():
    assert len(BLOCK.splitlines()) < 60


@slow("compiles its own agent")
def test_a_new_algorithm_trains_and_every_number_of_its_log_is_finite(added, tmp_path):
    result = train(tmp_path, weight=3.0)
    assert list(result.history["TotalEnvInteracts"]) == [EPOCH, 2 * EPOCH]
    for name in KNOWN:
        assert np.isfinite(result.history[name]).all(), name
    assert np.isfinite(result.policy.act(np.zeros(2))).all()
    assert result.policy.config.method == added(weight=3.0)


def test_a_new_algorithm_is_listed_with_its_description(added, capsys):
    listing.main(["algorithms"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{NAME} penalises an episode's largest cost, with the weight 1" in shown


def test_the_settings_of_a_new_algorithm_are_checked(added, tmp_path):
    with pytest.raises(BadSetting, match=r"weight=-1\.0 must be a number of at least 0"):
        train(tmp_path, weight=-1.0)
    with pytest.raises(BadSetting, match="Did you mean weight"):
        train(tmp_path, wait=1.0)


def test_the_new_algorithm_is_gone_after_these_tests():
    assert NAME not in ALGORITHMS
