"""Our defaults for suites: the settings that differ from the general defaults, by algorithm and by robot.

Suites give margins, so that near misses can be learned from, and their episodes fail if they time out. Neither is known
of other environments. All entries were measured to help (benchmarks/RESULTS.md, "Eight obstacles", "What reaches the
target probability", "Policies that stop driving" and "PASCPO with the waiver"). Settings without an entry did not help,
or were not measured.
"""

from collections.abc import Mapping

Named = Mapping[str, object]
"""Settings by their names on the command line."""

_NEAR: Named = {"near_miss": 0.1, "near_miss_end": 0.1}
_ON_TIME: Named = {"target.timeout_limit": 0.01, "target.timeout_relief": 0.7}
_CHERNOFF: Named = {"mode": "chernoff", "near_miss": 0.3, "near_miss_end": 0.3, "cost_gae_lambda": 0.9}
_WAIVED: Named = {"timeout_waiver": 1.0}
_SLOW_CRITICS: Named = {"cost_fit.learning_rate": 3e-4}

SUITE_DEFAULTS: Mapping[str, Named] = {
    "ascpo": {**_CHERNOFF, **_ON_TIME, **_SLOW_CRITICS},
    "scpo": {**_NEAR, **_ON_TIME},
    "cpo": {**_NEAR, **_ON_TIME},
    "trpo-lagrangian": {**_NEAR, **_WAIVED},
    "trpo-ipo": _WAIVED,
    "trpo-fac": _WAIVED,
    "trpo-cvar": _WAIVED,
    "ppo-lagrangian": _WAIVED,
    "pascpo": _WAIVED,
}
"""Algorithm → setting → value."""
ROBOT_DEFAULTS: Mapping[str, Named] = {
    robot: {"normalise_observations": True} for robot in ("Point", "Swimmer", "Ant", "Walker", "Humanoid")
}
"""Robot → setting → value, for all algorithms."""

ALGORITHM_AND_ROBOT_DEFAULTS: Mapping[tuple[str, str], Named] = {("ascpo", "Swimmer"): {"union_bound": True}}
"""Algorithm and robot → setting → value (benchmarks/RESULTS.md, "A denser signal for Swimmer")."""

DECIDING = ("mode", "near_miss", "target.kind")
"""The settings on which some of these defaults depend."""


def suite_defaults(algo: str, robot: str, given: Named) -> dict[str, object]:
    """The defaults of an algorithm for a robot's suites, without those that do not fit the given settings."""
    of_both = ALGORITHM_AND_ROBOT_DEFAULTS.get((algo, robot), {})
    out = {**SUITE_DEFAULTS.get(algo, {}), **ROBOT_DEFAULTS.get(robot, {}), **of_both}
    if given.get("mode", out.get("mode")) != out.get("mode"):
        out = {name: value for name, value in out.items() if name not in (*_CHERNOFF, "union_bound")}
    if "near_miss" in given:
        out.pop("near_miss_end", None)
    if given.get("target.kind") == "own":
        out = {name: value for name, value in out.items() if name not in _ON_TIME}
    return out
