"""Measure how often a run gets a false certificate if it is certified repeatedly.

    python -m benchmarks.coverage

The truth is simulated: an episode violates a limit with a probability just above the allowed one, so that every
certificate is false. Looks continue until the first one succeeds. Look k had the error 5 %/k by the old rule, and has
5 %·6/(π²k²) by the new one; both come from the certificates' own code. The first figures are exact (binomial): every
look has the number of episodes with the largest probability of a false certificate, which is the worst case. For the
others episodes are drawn, and the number of episodes of a look depends on the count of the last one.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from ascpo.evaluation.plan import CertificatePlan

LOOKS = (1, 2, 5, 10)
PROBABILITY = 0.98
CONFIDENCE = 0.95
EPISODES = range(2000, 3001, 50)
Rule = Callable[[int, int], CertificatePlan]
"""The plan of a look with so many episodes."""

_PLAN = CertificatePlan(
    policy="aa",
    family=("aa",),
    cost_names=("cost",),
    limits=(0.0,),
    probability=PROBABILITY,
    confidence=CONFIDENCE,
)


def old_rule(look: int, episodes: int) -> CertificatePlan:
    """Format 1: `--looks k` had to be given when there were k − 1 certificates, and corrected the k-th one alone."""
    return replace(_PLAN, format=1, look=look, episodes=episodes)


def new_rule(look: int, episodes: int) -> CertificatePlan:
    return replace(_PLAN, look=look, episodes=episodes)


@cache
def false_alarm(rule: Rule, look: int, episodes: int) -> float:
    """The probability that a look succeeds while the truth is at the edge, where that is largest."""
    from scipy import stats

    return float(stats.binom.cdf(rule(look, episodes).allowed, episodes, 1.0 - PROBABILITY))


def joint_error(rule: Rule, looks: int, episodes: range = EPISODES) -> float:
    """The exact probability that one of so many looks succeeds, each with the worst number of episodes."""
    kept = 1.0
    for look in range(1, looks + 1):
        kept *= 1.0 - max(false_alarm(rule, look, n) for n in episodes)
    return 1.0 - kept


def simulated_errors(rule: Rule, sequences: int, episodes: range = EPISODES, seed: int = 0) -> dict[int, float]:
    """looks → the share of sequences that had a success by then."""
    rng = np.random.default_rng(seed)
    size, deceived, shares = np.zeros(sequences, int), np.zeros(sequences, bool), {}
    for look in range(1, max(LOOKS) + 1):
        allowed = np.array([rule(look, n).allowed for n in episodes])
        counted = rng.binomial(np.array(episodes)[size], 1.0 - PROBABILITY)
        deceived |= counted <= allowed[size]
        size, shares[look] = counted % len(episodes), float(deceived.mean())
    return {looks: shares[looks] for looks in LOOKS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=100_000, help="number of simulated sequences of looks")
    sequences = parser.parse_args().sequences
    print(f"The share of runs with a false certificate of {PROBABILITY:g} with confidence {CONFIDENCE:g}.\n")
    print("| looks | old rule, exact | new rule, exact | old rule, simulated | new rule, simulated |")
    print("|---|---|---|---|---|")
    rules = old_rule, new_rule
    simulated = [simulated_errors(rule, sequences) for rule in rules]
    for looks in LOOKS:
        cells = [joint_error(rule, looks) for rule in rules] + [shares[looks] for shares in simulated]
        print(f"| {looks} | " + " | ".join(f"{cell:.2%}" for cell in cells) + " |")
    each = ", ".join(f"{new_rule(look, 3000).allowed} at look {look}" for look in LOOKS)
    print(f"\nViolations that 3000 episodes allow: {old_rule(1, 3000).allowed} by the old rule at look 1; now {each}.")


if __name__ == "__main__":
    main()
