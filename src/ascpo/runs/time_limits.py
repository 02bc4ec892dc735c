"""A hint about time-outs: in users' environments they may be the normal end of an episode, or a failure."""

from collections.abc import Sequence

from ascpo.runs.config import Config
from ascpo.runs.environment_name import is_suite

_ALL = 0.99
"""Share of time-outs that counts as almost all episodes."""


def timeout_hint(config: Config, rates: Sequence[float]) -> str:
    """A hint for a policy that may stand still, from the rate of time-outs of each epoch.

    Empty if enough episodes ended earlier, and for suites, whose defaults bound time-outs.
    """
    last = max(3, len(rates) // 10)
    if is_suite(config.env) or len(rates) < last or min(rates[-last:]) < _ALL:
        return ""
    try_this = _remedy(config)
    if min(rates) >= 1.0:
        return (
            "Every episode ended by its time limit. That is normal if nothing else ends an episode. If reaching a goal "
            f"should end it, no episode has reached it yet{try_this}."
        )
    return (
        f"Almost every episode of the last {last} epochs ran into the time limit, and earlier ones did not: the policy "
        f"may have learned to stand still, which keeps all limits but reaches no goal. If an episode should end before "
        f"its time limit, that is a failure{try_this}."
    )


def _remedy(config: Config) -> str:
    target = getattr(config.method, "target", None)
    if target is None or target.timeout_limit is not None or target.kind == "own":
        return ""
    return ", and --target.timeout-limit 0.01 bounds the share of such episodes (docs/training.md)"
