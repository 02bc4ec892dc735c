from dataclasses import dataclass, field
from typing import Literal

import pytest

from ascpo.runs.serialization import BadSetting, changed, from_plain, nearest, to_plain


@dataclass(frozen=True)
class Inner:
    rate: float = 0.5
    on: bool = True


@dataclass(frozen=True)
class Outer:
    mode: Literal["paper", "chance"] = "chance"
    count: int = 3
    limits: tuple[float, ...] = (0.0,)
    bias: float | None = None
    inner: Inner = field(default_factory=Inner)


def test_settings_are_the_same_after_conversion_to_plain_data_and_back():
    settings = Outer("paper", 5, (0.0, 1.0), -4.0, Inner(0.1, False))
    plain = to_plain(settings)
    assert plain == {
        "mode": "paper",
        "count": 5,
        "limits": [0.0, 1.0],
        "bias": -4.0,
        "inner": {"rate": 0.1, "on": False},
    }
    assert from_plain(Outer, plain) == settings


def test_settings_that_are_not_given_keep_their_values():
    assert changed(Outer(count=7), {"inner": {"rate": 0.9}}) == Outer(count=7, inner=Inner(rate=0.9))


def test_an_integer_is_accepted_for_a_float_and_one_limit_for_a_list():
    assert changed(Outer(), {"bias": 1, "limits": 2}) == Outer(bias=1.0, limits=(2.0,))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"cuont": 1}, "no setting cuont. Did you mean count"),
        ({"inner": {"rat": 1}}, r"no setting inner\.rat\. Did you mean rate"),
        ({"count": 1.5}, "count=1.5 must be a whole number"),
        ({"count": True}, "must be a whole number"),
        ({"mode": "papr"}, "mode='papr' is not known. Did you mean paper"),
        ({"limits": ["a"]}, "limits='a' must be a number"),
        ({"limits": "a"}, "must be a list of numbers"),
        ({"inner": 3}, "inner=3 must be of type Inner, or a dictionary"),
        ({"inner": {"on": 1}}, r"inner\.on=1 must be True or False"),
    ],
)
def test_wrong_settings_get_an_error_that_says_what_is_right(wrong, sentence):
    with pytest.raises(BadSetting, match=sentence):
        changed(Outer(), wrong)


def test_the_nearest_name_is_found_whatever_its_case_and_hyphens():
    assert nearest("TRPO_lagrangian", ["trpo", "trpo-lagrangian", "cpo"]).startswith("Did you mean trpo-lagrangian")
    assert nearest("xyz", ["trpo", "cpo"]) == "There are: trpo, cpo."
