"""Episodes that the time limit ends: in a suite they fail, and in your own environment that may be the usual end."""

from collections.abc import Sequence

from ascpo.runs.config import Config
from ascpo.runs.environment_name import is_suite

_ALL = 0.99
"""From this share on, almost every episode ran into the time limit."""


def timeout_hint(config: Config, rates: Sequence[float]) -> str:
    """What to try if the policy for your own environment stands still, by the share of time-outs of each epoch.

    It is empty where other episodes ended earlier, and in suites, whose defaults see to it.
    """
    last = max(3, len(rates) // 10)
    if is_suite(config.env) or len(rates) < last or min(rates[-last:]) < _ALL:
        return ""
    try_this = _remedy(config)
    if min(rates) >= 1.0:
        return (
            "Every episode ended by its time limit. That is as it should be where nothing else ends an episode. If a "
            f"goal should, no episode has reached it yet{try_this}."
        )
    return (
        f"Almost every episode of the last {last} epochs ran into the time limit, and earlier ones did not: the policy "
        f"may have learned to stand still, which breaks no limit and reaches nothing. If an episode should end before "
        f"its time limit, that is a failure{try_this}."
    )


def _remedy(config: Config) -> str:
    target = getattr(config.method, "target", None)
    if target is None or target.timeout_limit is not None or target.kind == "own":
        return ""
    return ", and --target.timeout-limit 0.01 bounds the share of such episodes (docs/training.md)"
