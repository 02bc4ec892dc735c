"""Presets: their settings, overrides, and how both are reported."""

import dataclasses
import io
from pathlib import Path

import pytest
from rich.console import Console

from ascpo.algorithms import ALGORITHMS
from ascpo.algorithms.presets import PRESETS, SOURCES
from ascpo.runs.callbacks.callback import TrainingPlan
from ascpo.runs.callbacks.display import Display
from ascpo.runs.config import Config, configure, configure_each
from ascpo.runs.presets import changes, replacements
from ascpo.runs.serialization import BadSetting
from ascpo.surrogates.maximum import PaperBound, ReferenceBound
from ascpo.surrogates.settings import TargetSettings
from ascpo.surrogates.target import OwnBound

each = pytest.mark.parametrize(("preset", "algo"), [(preset, algo) for preset in PRESETS for algo in ALGORITHMS])


def banner(config):
    out = io.StringIO()
    display = Display(Console(file=out, width=200, highlight=False, color_system=None))
    display.on_training_start(TrainingPlan(config, Path("run"), 0, "does something", {"hazard": 0.0}))
    display.on_training_end()
    return out.getvalue()


@each
def test_every_entry_of_a_preset_has_an_effect_and_differs_from_our_default(preset, algo):
    found = {change.name: change.value for change in changes(configure("a", algo, preset=preset))}
    assert found == PRESETS[preset][algo]


@each
def test_every_entry_has_a_reason(preset, algo):
    for change in changes(configure("a", algo, preset=preset)):
        assert change.reason == SOURCES[preset][algo][change.name].reason
        assert change.reason[0].isupper()
        assert change.reason.endswith(".")


@each
def test_the_name_of_a_preset_is_stored_but_does_not_affect_numbers(preset, algo):
    config = configure("a", algo, preset=preset)
    plain = config.plain()
    assert plain["preset"] == preset
    assert Config.from_plain(plain) == config
    same = dataclasses.replace(config, preset=None)
    assert same.fingerprint == config.fingerprint
    assert same.algorithm() == config.algorithm()
    assert same != config


def test_without_a_preset_a_config_has_no_entry_for_it():
    assert "preset" not in configure("a").plain()


@each
def test_constrained_algorithms_aim_at_their_own_bound(preset, algo):
    algorithm = configure("a", algo, preset=preset).algorithm()
    assert algorithm.target == (OwnBound() if algorithm.constraint else None)


def test_ascpo_has_the_bound_of_each_source():
    published, released = (configure("a", "ascpo", preset=preset) for preset in ("published", "released"))
    assert published.algorithm().constraint == PaperBound(7.0, 0.005, 0.007)
    assert released.algorithm().constraint == ReferenceBound(7.0, 0.005, 0.007)
    assert (published.settings.margin, released.settings.margin) == (0.0, 0.03)
    assert configure("a", "scpo", preset="released").settings.margin == 0.03
    assert configure("a", "cpo", preset="released").settings.margin == 0.0


def test_given_settings_override_the_preset_and_are_reported():
    config = configure(
        "a", "ascpo", preset="released", trust_region={"delta": 0.01}, mode="paper", cost_fit={"window": 2}
    )
    assert config.settings.trust_region.delta == 0.01
    assert config.settings.trust_region.cg_iterations == 100, "the rest of the group is the preset's"
    assert config.method.mode == "paper"
    said = [
        "cost_fit.window=2 was given and replaces the preset's 1.",
        "trust_region.delta=0.01 was given and replaces the preset's 0.02.",
        "mode=paper was given and replaces the preset's reference.",
    ]
    assert replacements(config) == said
    shown = banner(config)
    assert "Preset: released, the settings of the authors' released code" in shown
    assert all(f"Note: {sentence}" in shown for sentence in said)


def test_a_preset_without_overrides_is_reported_by_its_name():
    assert "Note:" not in banner(configure("a", preset="published"))
    assert "Preset:" not in banner(configure("a", trust_region={"delta": 0.01}))


def test_a_whole_group_may_be_given_as_an_object():
    config = configure("a", "cpo", preset="released", target=TargetSettings(kind="capped"))
    assert config.method.target.kind == "capped"


def test_a_presets_margin_below_zero_is_refused_where_violations_are_counted():
    with pytest.raises(BadSetting, match=r"margin=0\.03 let learning aim at -0\.03"):
        configure("a", "ascpo", preset="released", target={"kind": "feedback"})
    config = configure("a", "ascpo", preset="released", target={"kind": "feedback"}, margin=0.0)
    assert len(replacements(config)) == 2


def test_several_algorithms_share_a_preset():
    configs = configure_each("a", ["ascpo", "trpo"], [0, 1], {"preset": "released", "margin": 0.1, "num_envs": 2})
    assert [config.preset for config in configs] == ["released"] * 4
    assert [config.settings.margin for config in configs] == [0.1, 0.1, 0.0, 0.0]
    assert configs[2] == configure("a", "trpo", preset="released", num_envs=2)


def test_the_former_preset_of_an_algorithm_does_not_become_a_preset():
    stored = {"env": "a", "algo": "trpo-ipo", "settings": {}, "method": {"preset": "reference"}}
    assert Config.from_plain(stored).preset is None


def test_an_unknown_preset_is_refused_with_a_message():
    with pytest.raises(BadSetting, match="'relesed' is not a preset"):
        configure("a", preset="relesed")
    with pytest.raises(BadSetting, match="preset='reference' is not known"):
        Config.from_plain({"env": "a", "algo": "cpo", "preset": "reference", "settings": {}, "method": {}})


def test_an_algorithm_that_is_not_in_the_paper_has_no_preset(monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "mine", type("Mine", (ALGORITHMS["cpo"],), {}))
    with pytest.raises(BadSetting, match="mine is not in the preset released"):
        configure("a", "mine", preset="released")
