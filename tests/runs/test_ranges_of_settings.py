"""Every setting of every algorithm refuses impossible values, however they are given."""

import contextlib
import dataclasses
import json
import math

import pytest

from ascpo.algorithms import ALGORITHMS
from ascpo.errors import BadSetting
from ascpo.ranges import Declared, Range, declared
from ascpo.runs.api import Options, train
from ascpo.runs.config import Config, configure
from ascpo.runs.directory import BadFile, RunDirectory
from ascpo.runs.serialization import unflat
from ascpo.training.settings import Settings

NOT_NUMBERS = (math.nan, math.inf, -math.inf)


def fields_of(kind: type, prefix: str = "") -> dict[str, Declared]:
    """All settings of a dataclass and of the groups in it, by their names on the command line."""
    out: dict[str, Declared] = {}
    for name, field in declared(kind).items():
        if dataclasses.is_dataclass(field.hint):
            out |= fields_of(field.hint, f"{prefix}{name}.")
        else:
            out[prefix + name] = field
    return out


def all_settings():
    yield from (("ascpo", name, field) for name, field in fields_of(Settings).items())
    for algo, kind in ALGORITHMS.items():
        yield from ((algo, name, field) for name, field in fields_of(kind).items())


def beyond(bounds: Range):
    """Values just outside, at each end that the range has."""
    for end, sign in ((bounds.at_least, -1), (bounds.at_most, 1)):
        if end is not None:
            yield end + sign if isinstance(end, int) else end + sign * max(1e-6, abs(end) * 1e-6)
    yield from (end for end in (bounds.above, bounds.below) if end is not None)


def wrong_values(field: Declared):
    hint, bounds, optional = field.hint, field.bounds, field.optional
    if hint in (int, float) or "tuple" in str(hint):
        yield from NOT_NUMBERS
        yield from beyond(bounds or Range())
        yield from ("a", True, {"a": 1}, 10**400)
        yield from ([[1.0]], []) if "tuple" in str(hint) else ([1.0],)
        if hint is int:
            yield 1.5
    else:
        yield from (math.nan, 0.5, [], {}, "no such word")
    if not optional:
        yield None


@pytest.mark.parametrize(
    ("algo", "name", "field"), [pytest.param(*one, id="-".join(one[:2])) for one in all_settings()]
)
def test_an_impossible_value_is_refused_with_the_name_of_the_setting(algo, name, field):
    for value in wrong_values(field):
        given = unflat({name: value})
        with pytest.raises(BadSetting, match=rf"\b{name}\b") as refused:
            configure("corridor", algo, **given)
        assert len(str(refused.value)) < 400
        plain = configure("corridor", algo).plain()
        group = "settings" if name.split(".")[0] in Settings.__dataclass_fields__ else "method"
        with pytest.raises(BadSetting, match=rf"\b{name}\b"):
            Config.from_plain(json.loads(json.dumps({**plain, group: given})))


def test_every_count_has_a_range():
    for algo, name, field in all_settings():
        if "int" in str(field.hint):
            assert field.bounds is not None, f"{algo}: {name}"
            assert field.bounds.at_most is not None, f"{algo}: {name}"


@pytest.mark.parametrize("name", [*fields_of(Options), "seed", "total_steps", "seeding", "engine", "preset"])
def test_impossible_values_of_options_are_refused_before_anything_is_written(name, tmp_path):
    for value in (*NOT_NUMBERS, -1, 10**30, "a", [], {}):
        with pytest.raises(BadSetting, match=name):
            train("Point-1-Hazard", out=tmp_path / "out", **{name: value})
    assert not (tmp_path / "out").exists()


def test_groups_made_in_python_are_checked_when_they_become_settings():
    from ascpo.algorithms import ASCPO
    from ascpo.surrogates.settings import TargetSettings
    from ascpo.trust_region.settings import TrustRegion

    with pytest.raises(BadSetting, match=r"^trust_region\.delta=nan must be"):
        Settings(trust_region=TrustRegion(delta=math.nan))
    with pytest.raises(BadSetting, match=r"^target\.gain=nan must be"):
        Config("corridor", method=ASCPO(target=TargetSettings(gain=math.nan)))


ODD = (None, 3, "a", [], [1], {}, {"a": 1}, True, math.nan, 10**400)


@pytest.mark.parametrize("algo", ["ascpo", "pascpo"])
def test_a_config_file_with_wrong_types_is_refused_with_a_message(algo):
    plain = configure("corridor", algo).plain()
    for name in (*plain, "preset", "seeding", "engine"):
        for odd in ODD:
            _read({**plain, name: odd})
    for old in ("value_fit", "ask", "decay"):
        for odd in ODD:
            _read({**plain, "settings": {**plain["settings"], old: odd}})
    for odd in ODD:
        _read({**plain, "method": {"preset": "reference", "ppo": odd}})
        _read(odd)


def _read(plain):
    """Any other exception is a failure."""
    with contextlib.suppress(BadSetting):
        Config.from_plain(plain)


@pytest.mark.parametrize(("text", "why"), [("[" * 100_000 + "]" * 100_000, "nested too deeply"), ("{", "is damaged")])
def test_a_config_file_that_is_not_json_is_refused_with_a_message(text, why, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(BadFile, match=why):
        RunDirectory(tmp_path).config()
