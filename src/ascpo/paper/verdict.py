"""The rule that turns a confidence interval of 95 % into a verdict on a claim.

An effect is a number that is above 0 if a claim is true. `printed` is the same effect in the printed figures.

    reproduced       the whole interval lies above 0, and the effect is at least half of the printed one
    weaker           the whole interval lies above 0, but the effect is smaller than that
    not reproduced   the interval reaches 0 or lies below, and does not reach half of the printed effect
    undecided        the interval reaches both and is too wide to tell, or there are fewer than two seeds

If no number was printed, an interval above 0 reproduces the claim, and one at or below 0 does not.
"""

from typing import Literal

from ascpo.evaluation.intervals import Interval

Verdict = Literal["reproduced", "weaker", "not reproduced", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "weaker", "not reproduced", "undecided")


def verdict(effect: Interval | None, printed: float | None) -> Verdict:
    """The verdict by the rule above. None stands for an effect that cannot be estimated."""
    if effect is None:
        return "undecided"
    if effect.low > 0:
        return "weaker" if printed is not None and effect.value < printed / 2 else "reproduced"
    if effect.high <= 0 or (printed is not None and effect.high < printed / 2):
        return "not reproduced"
    return "undecided"
