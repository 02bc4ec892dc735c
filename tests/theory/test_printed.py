"""The paper's printed forms fail where the corrected ones hold, on the same hundred random problems."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from ascpo.theory import advantage_change, bounds, mean, omega, printed, value_difference, variance_mean
from tests.slow import always

from .helpers import TOLERANCE, Change, random_changes

UNDISCOUNTED = random_changes(1.0)
DISCOUNTED = random_changes(0.9)


def failures(changes: Iterable[Change], holds: Callable[[Change], bool]) -> int:
    return sum(not holds(change) for change in changes)


def below(actual, bound) -> bool:
    return bool(np.all(actual <= bound + TOLERANCE))


def test_the_change_of_advantages_outgrows_h_times_1_minus_h_nearly_always():
    def holds(form):
        return lambda c: below(np.abs(advantage_change(c.mdp, c.old, c.new)), form(c.mdp, c.old, c.new))

    assert failures(UNDISCOUNTED, holds(bounds.advantage_change_bound)) == 0
    assert failures(UNDISCOUNTED, holds(printed.advantage_change_bound)) > 0.9 * len(UNDISCOUNTED)


def test_the_change_of_values_outgrows_h_times_1_minus_h_nearly_always():
    def holds(form):
        return lambda c: below(np.abs(value_difference(c.mdp, c.old, c.new)), form(c.mdp, c.old, c.new))

    assert failures(UNDISCOUNTED, holds(bounds.value_difference_bound)) == 0
    assert failures(UNDISCOUNTED, holds(printed.value_difference_bound)) > 0.9 * len(UNDISCOUNTED)


@pytest.mark.parametrize("pool", [UNDISCOUNTED, DISCOUNTED], ids=["undiscounted", "discounted"])
@pytest.mark.parametrize("exact_K", always([False, True], True))
def test_one_modulus_around_all_three_terms_does_not_bound_the_change_of_omega(pool, exact_K):
    def holds(form):
        def check(c: Change) -> bool:
            args = c.mdp, c.old, c.new
            K = np.abs(advantage_change(*args)) if exact_K else bounds.advantage_change_bound(*args)
            return below(np.abs(omega(c.mdp, c.new) - omega(c.mdp, c.old)), form(*args, K))

        return check

    assert failures(pool, holds(bounds.omega_change_bound)) == 0
    assert failures(pool, holds(printed.omega_change_bound)) > 0


@pytest.mark.parametrize("pool", [UNDISCOUNTED, DISCOUNTED], ids=["undiscounted", "discounted"])
def test_the_advantage_of_the_whole_episode_at_every_step_does_not_bound_the_mean(pool):
    def holds(form):
        def check(c: Change) -> bool:
            lower, upper = form(c.mdp, c.old, c.new)
            return lower - TOLERANCE <= mean(c.mdp, c.new) <= upper + TOLERANCE

        return check

    assert failures(pool, holds(bounds.mean_bounds)) == 0
    assert failures(pool, holds(printed.mean_bounds)) > 0


def test_the_printed_remainder_does_not_bound_the_variance_of_the_mean():
    def holds(form):
        return lambda c: below(variance_mean(c.mdp, c.new), form(c.mdp, c.old, c.new))

    assert failures(UNDISCOUNTED, holds(bounds.variance_mean_bound)) == 0
    assert failures(UNDISCOUNTED, holds(printed.variance_mean_bound)) > 0


def test_the_printed_bound_of_a_modulus_can_be_negative():
    negative = [c for c in UNDISCOUNTED if np.any(printed.value_difference_bound(c.mdp, c.old, c.new) < 0)]
    assert negative
    assert all(np.all(bounds.value_difference_bound(c.mdp, c.old, c.new) >= 0) for c in negative)


@pytest.mark.parametrize("form", [printed.value_difference_bound, printed.advantage_change_bound])
def test_the_undiscounted_forms_refuse_a_discount(form):
    change = UNDISCOUNTED[0]
    with pytest.raises(ValueError, match="undiscounted"):
        form(replace(change.mdp, gamma=0.9), change.old, change.new)
