"""The settings of a run, composed of layers. A later layer overrides an earlier one:

1. the defaults of the dataclasses
2. our defaults for the environment and the algorithm, or a preset
3. what the user chooses
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import is_dataclass
from types import MappingProxyType

from ascpo.algorithms import ALGORITHMS, Method
from ascpo.algorithms.outline import outline_of
from ascpo.algorithms.presets import PRESETS, PresetName
from ascpo.algorithms.suite_defaults import suite_defaults
from ascpo.errors import BadSetting, InertSetting, nearest
from ascpo.guard.suites import is_suite, suite
from ascpo.ranges import shown
from ascpo.runs.elsewhere import setting_elsewhere
from ascpo.runs.migration import RENAMED
from ascpo.runs.sealed import RENAMED_FIELDS
from ascpo.runs.serialization import Plain, changed, flat, only, to_plain, unflat
from ascpo.training.settings import Settings, inert_settings


def compose(env: str, algo: str, chosen: Plain, preset: PresetName | None) -> tuple[Settings, Method]:
    """The shared settings and the algorithm's own, from all layers."""
    given = flat(chosen)
    begin = _defaults(env, algo, given) if preset is None else preset_settings(preset, algo)
    return _layered(algo, begin, chosen)


def defaults_for(env: str, algo: str, given: Mapping[str, object] = MappingProxyType({})) -> tuple[Settings, Method]:
    """The settings before the user chooses any. `given` holds flags that decide whether some of the defaults apply."""
    return _layered(algo, _defaults(env, algo, given))


def _defaults(env: str, algo: str, given: Mapping[str, object]) -> Plain:
    """The settings in which our defaults for an environment differ from those of the dataclasses."""
    return unflat(suite_defaults(algo, suite(env).robot.name, given)) if is_suite(env) else {}


def _layered(algo: str, *layers: Plain) -> tuple[Settings, Method]:
    kind = method_class(algo)
    settings, method = Settings(), kind()
    for changes in layers:
        settings, method = changed(settings, only(changes, Settings)), changed(method, only(changes, kind))
    return settings, method


def preset_settings(preset: PresetName | None, algo: str) -> Plain:
    """The settings that a preset changes for an algorithm. Empty without a preset."""
    if preset is None:
        return {}
    if not isinstance(preset, str) or preset not in PRESETS:
        raise BadSetting(f"{shown(preset)} is not a preset. {nearest(str(preset), PRESETS)}")
    if algo not in PRESETS[preset]:
        raise BadSetting(f"{algo} is not in the preset {preset}: that has the paper's algorithms only. Leave it out.")
    return unflat(PRESETS[preset][algo])


def method_class(algo: str) -> type[Method]:
    if not isinstance(algo, str) or algo not in ALGORITHMS:
        raise BadSetting(f"{shown(algo)} is not an algorithm. {nearest(str(algo), ALGORITHMS)}")
    return ALGORITHMS[algo]


def refuse_unknown(algo: str, names: Iterable[str]) -> None:
    """Raise an error for the first name that is not a setting of the algorithm."""
    known = Settings.__dataclass_fields__.keys() | method_class(algo).__dataclass_fields__.keys()
    for name in names:
        if name not in known:
            raise BadSetting(f"{algo} has no setting {name!r}. {_hint(name, known)}")


def _hint(name: str, known: set[str]) -> str:
    if name in RENAMED_FIELDS or RENAMED.get(name) in known:
        return f"It is now called {(RENAMED_FIELDS | RENAMED)[name]}."
    if others := [other for other, kind in ALGORITHMS.items() if name in kind.__dataclass_fields__]:
        return f"{' and '.join(others)} {'has' if len(others) == 1 else 'have'} it."
    if here := setting_elsewhere(name):
        return f"Here it is {here}."
    return nearest(name, sorted(known))


def acting_settings(env: str, algo: str, chosen: Plain, preset: PresetName | None = None) -> Plain:
    """The chosen settings without those that change nothing for this algorithm."""
    return without(inert_choices(env, algo, chosen, preset), chosen)


def inert_choices(env: str, algo: str, chosen: Plain, preset: PresetName | None) -> dict[str, InertSetting]:
    """The chosen settings that change nothing for an algorithm, each with the error that says why."""
    settings, method = compose(env, algo, chosen, preset)
    return inert_settings(settings, outline_of(method, settings.probability))


def without(names: Container[str], chosen: Plain, group: str = "") -> Plain:
    """The chosen settings without those of these names. Groups that become empty are dropped."""
    kept: Plain = {}
    for name, value in chosen.items():
        inside = to_plain(value) if is_dataclass(value) else value
        if isinstance(inside, Mapping):
            if some := without(names, dict(inside), f"{group}{name}."):
                kept[name] = some
        elif group + name not in names:
            kept[name] = value
    return kept
