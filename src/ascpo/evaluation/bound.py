"""A lower bound on a probability from a count: the exact one-sided bound of Clopper and Pearson.

Of N independent episodes k violate a limit. Whatever the true probability p of keeping all limits is, the bound

    L(k, N, c) = the p at which k or fewer violations in N have probability 1 − c

is above it in at most a share 1 − c of all such experiments, if N was fixed beforehand. Without any violation it is
(1 − c)^(1/N): 299 clean episodes show 99 % with confidence 95 %.

Repeated looks at a run would find a lucky count some day. So the error 1 − c is divided beforehand (alpha spending):

    look k may err with probability (1 − c)·6/(π²k²)

and as Σ 1/k² = π²/6, all looks together err with probability at most 1 − c, however many there will be.
"""

import math
from bisect import bisect_right
from functools import cache


@cache
def lower_bound(violations: int, episodes: int, confidence: float) -> float:
    """L: the probability of keeping all limits is at least this."""
    if not 0 <= violations <= episodes or episodes < 1:
        raise ValueError(
            f"{violations} violations in {episodes} episodes: there must be an episode, and no more violations."
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence} must lie between 0 and 1. Try 0.95.")
    from scipy import stats

    test = stats.binomtest(episodes - violations, episodes, alternative="greater")
    return float(test.proportion_ci(confidence, method="exact").low)


def allowed_violations(episodes: int, probability: float, confidence: float) -> int:
    """The largest number of violations that still shows the probability; -1 if even 0 is too many."""
    counts = range(episodes + 1)
    return bisect_right(counts, -probability, key=lambda count: -lower_bound(count, episodes, confidence)) - 1


def episodes_needed(probability: float, confidence: float) -> int:
    """The number of episodes that show the probability if none of them violates a limit."""
    if not 0.0 < probability < 1.0:
        raise ValueError(f"probability={probability} must lie between 0 and 1. Try 0.98.")
    few = math.ceil(math.log(1.0 - confidence) / math.log(probability) - 1e-9)
    return few if lower_bound(0, few, confidence) >= probability else few + 1


def each_of(confidence: float, statements: int) -> float:
    """The confidence that each of several statements needs so that all of them hold at once (Bonferroni)."""
    return 1.0 - (1.0 - confidence) / statements


def spent_error(error: float, look: int) -> float:
    """The share of an error that a look may spend. Looks are counted from 1."""
    if look < 1:
        raise ValueError(f"look={look} must be at least 1: looks are counted from 1.")
    return error * 6.0 / (math.pi * look) ** 2


def rounded_down(probability: float) -> str:
    """Four digits that claim no more than the bound."""
    return f"{math.floor(probability * 1e4) / 1e4:.4f}"
