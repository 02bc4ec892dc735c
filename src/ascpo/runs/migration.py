"""Migration of configs: the plain dictionary of any earlier version becomes one of the present version.

A step applies only if the present dataclass lacks the old name and has the new one. So present configs do not change,
and migration is idempotent.
"""

from collections.abc import Mapping
from typing import get_type_hints

from ascpo.algorithms import ALGORITHMS
from ascpo.ranges import shown
from ascpo.runs.sealed import RENAMED_FIELDS
from ascpo.runs.serialization import BadSetting, Plain
from ascpo.training.settings import Settings

RENAMED = {"decay": "gae_lambda", "cost_decay": "cost_gae_lambda"}
"""Renamed shared settings: earlier name → present name."""
_DROPPED = {
    "value_fit": {"balance": "none", "monotone_weight": 0.0, "window": 1, "forget": 0.9},
    "trust_region": {"cost_momentum": 0.0},
}
"""Settings that were removed, with the value that may be dropped. Other values are errors."""
_DROPPED_OF_METHODS = {"dwell_weight": 0.0}
"""The same of the algorithms' own settings."""
_TARGET = {"share": "share", "relief": "timeout_relief", "patience": "timeout_share", "memory": "smoothing"}
"""Names within the shared setting `ask` → names within the algorithm's own setting `target`."""

_REFERENCE: Mapping[str, Plain] = {
    "trpo-usl": {"threshold": 0.0},
    "trpo-ipo": {"t": 0.01, "slope": 0.0005},
    "trpo-cvar": {"alpha": 0.3},
    "cpo-cvar": {"alpha": 0.3},
    "pascpo": {"mode": "reference", "ascent": "cost", "multiplier_rate": 0.005, "strength": 0.05, "rescaled": False},
    "ppo-lagrangian": {"multiplier_rate": 0.005, "rescaled": False, "ppo": {"clip_costs": False}},
}
"""The settings that an algorithm's former setting `preset=reference` stood for. `preset=working` changed nothing."""


def migrate(plain: Plain, settings: type = Settings, methods: Mapping[str, type] = ALGORITHMS) -> Plain:
    """The config in the present version. `settings` and `methods` are the present dataclasses."""
    shared, own = (dict(_group(name, plain.get(name, {}))) for name in ("settings", "method"))
    algo = plain.get("algo", "ascpo")
    if not isinstance(algo, str):
        raise BadSetting(f"algo={shown(algo)} must be the name of an algorithm.")
    known = get_type_hints(settings)
    for old, new in RENAMED.items():
        if old in shared and old not in known and new in known:
            shared[new] = shared.pop(old)
    for group, defaults in _DROPPED.items():
        if group in shared and group in known:
            shared[group] = _without_inert(group, _group(group, shared[group]), defaults, known[group])
    if "ask" in shared and "ask" not in known:
        ask = _group("ask", shared.pop("ask"))
        method = methods.get(algo)
        if method is not None and "target" in (fields := get_type_hints(method)):
            own.setdefault("target", _target(ask, projected="projection" in fields))
    if algo in methods:
        own = _without_inert("method", own, _DROPPED_OF_METHODS, methods[algo])
    if "preset" in own and algo in methods and "preset" not in get_type_hints(methods[algo]):
        own = _without_preset(own, _REFERENCE.get(algo, {}))
    fields = {RENAMED_FIELDS.get(name, name): value for name, value in plain.items()}
    return {**fields, "settings": shared, "method": own}


def _group(name: str, given: object) -> Plain:
    """A group of settings. Anything but a dictionary is an error."""
    if not isinstance(given, dict):
        raise BadSetting(f"{name}={shown(given)} must be a dictionary of settings.")
    return given


def _without_preset(own: Plain, reference: Plain) -> Plain:
    """Replace the preset by the settings that it stood for."""
    preset, rest = own["preset"], {name: value for name, value in own.items() if name != "preset"}
    if preset != "reference":
        return rest
    return rest | {
        name: {**_group(name, rest.get(name, {})), **value} if isinstance(value, dict) else value
        for name, value in reference.items()
    }


def _without_inert(group: str, given: Plain, defaults: Plain, kind: type) -> Plain:
    inert = defaults.keys() - get_type_hints(kind)
    for name, value in given.items():
        if name in inert and value != defaults[name]:
            raise BadSetting(
                f"{group}.{name}={value!r} was a setting of an earlier version that this version does not have. Train "
                f"anew without it, or use the version that wrote this config."
            )
    return {name: value for name, value in given.items() if name not in inert}


def _target(ask: Plain, *, projected: bool) -> Plain:
    """The target. `closed` was feedback. Otherwise the bound was the target, capped if there was a share."""
    if ask.get("closed", True):
        kind = "feedback"
    elif ask.get("share", 0.97) is None or projected:
        return {"kind": "own"}
    else:
        kind = "capped"
    return {"kind": kind} | {new: ask[old] for old, new in _TARGET.items() if old in ask}
