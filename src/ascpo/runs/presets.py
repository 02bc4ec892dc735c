"""Descriptions of presets: the settings that they change, and those that were overridden."""

from dataclasses import dataclass, replace

from ascpo.algorithms.presets import SOURCES, Entry
from ascpo.runs.composition import defaults_for
from ascpo.runs.config import Config, configure
from ascpo.runs.serialization import differences

MEANINGS = {
    "published": "the settings that the paper states",
    "released": "the settings of the authors' released code",
}
"""Preset → description."""

_OURS = "Only our defaults for suites have this value."


@dataclass(frozen=True)
class Change:
    """A setting that differs from our default."""

    name: str
    default: object
    value: object
    reason: str


def changes(config: Config) -> list[Change]:
    """The settings that differ from our defaults for the environment, with reasons."""
    settings, method = defaults_for(config.env, config.algo)
    ours = replace(config, settings=settings, method=method)
    return [
        Change(name, before, now, _reason(config, name, now))
        for name, (before, now) in differences(ours, config).items()
    ]


def replacements(config: Config) -> list[str]:
    """A sentence for each setting that overrides the preset."""
    if config.preset is None:
        return []
    return [
        f"{name}={shown(now)} was given and replaces the preset's {shown(of_preset)}."
        for name, (of_preset, now) in _given(config).items()
    ]


def _given(config: Config) -> dict[str, tuple[object, object]]:
    """The settings that override the preset: name → (preset's value, run's value)."""
    whole = configure(config.env, config.algo, preset=config.preset)
    return differences(replace(config, settings=whole.settings, method=whole.method), config)


def _reason(config: Config, name: str, now: object) -> str:
    entry = _entries(config).get(name)
    if entry is None:
        return "You gave it." if config.preset is None or name in _given(config) else _OURS
    return entry.reason if entry.value == now else f"You gave it instead of the preset's {shown(entry.value)}."


def _entries(config: Config) -> dict[str, Entry]:
    return dict(SOURCES[config.preset][config.algo]) if config.preset else {}


def shown(value: object) -> str:
    """A setting's value as on the command line."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
