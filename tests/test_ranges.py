from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from ascpo.errors import BadSetting
from ascpo.ranges import Fraction, Positive, Range, check, shown


@dataclass(frozen=True)
class Inner:
    rate: Positive = 0.5
    count: Annotated[int, Range(at_least=1, at_most=9)] = 3


@dataclass(frozen=True)
class Outer:
    part: Fraction | None = None
    free: float = 0.0
    on: bool = True
    mode: Literal["paper", "chance"] = "chance"
    version: Literal[1, 2] = 2
    limits: Annotated[tuple[float, ...], Range(at_least=0.0, items=2)] = (0.0,)
    names: tuple[str, ...] = ()
    inner_fit: Inner = field(default_factory=Inner)
    settings: Inner = field(default_factory=Inner)


def test_values_at_the_edges_of_their_range_are_accepted():
    check(Outer(part=1.0, free=-1e30, limits=(0.0, 5.0), names=("a",), inner_fit=Inner(1e-30, 9)))
    check(Outer(part=0, free=3))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"part": 1.5}, r"^part=1\.5 must be a number from 0 to 1\.$"),
        ({"free": float("nan")}, r"^free=nan must be a number that is finite, .*\. The default is 0\.0\.$"),
        ({"free": float("-inf")}, "free=-inf"),
        ({"free": 10**400}, "free=1000"),
        ({"free": None}, "free=None must be a number"),
        ({"free": True}, "free=True must be a number"),
        ({"on": 1}, "on=1 must be True or False"),
        ({"mode": "papr"}, "mode='papr' is not known. Did you mean paper"),
        ({"mode": ["paper"]}, r"mode=\['paper'\] must be one of paper, chance"),
        ({"version": True}, "version=True must be one of 1, 2"),
        ({"limits": ()}, r"limits=\(\) must be a list of numbers of at least 0"),
        ({"limits": (1.0, float("nan"))}, "limits=nan"),
        ({"limits": (1.0, "a")}, "limits='a' must be a number"),
        ({"limits": (1.0,) * 3}, "limits has 3 entries. It may have at most 2"),
        ({"limits": [1.0]}, "must be a tuple, not a list"),
        ({"names": (1,)}, "names=1 must be text"),
        ({"inner_fit": Inner(rate=0.0)}, r"^inner_fit\.rate=0\.0 must be a number above 0\. The default is 0\.5\.$"),
        ({"inner_fit": Inner(count=10)}, r"inner_fit\.count=10 must be a whole number from 1 to 9"),
        ({"inner_fit": Inner(count=2.0)}, r"inner_fit\.count=2\.0 must be a whole number"),
        ({"inner_fit": 3}, "inner_fit=3 must be of type Inner, or a dictionary of its settings"),
        ({"settings": Inner(rate=-1.0)}, r"^rate=-1\.0 must be"),
    ],
)
def test_values_outside_their_range_or_type_are_refused_with_the_name_as_typed(wrong, sentence):
    with pytest.raises(BadSetting, match=sentence):
        check(Outer(**wrong))


def test_a_message_shows_a_long_value_in_one_line():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("x" * 10**6, 10**5000, deep, tuple(range(10**4))):
        assert len(shown(value)) <= 80
