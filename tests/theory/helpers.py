"""Small tabular problems, drawn or random, and every path of an episode."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ascpo.theory import TabularMDP

# The same examples every time; the first one pays for imports, so none has a deadline.
steady = settings(deadline=None, derandomize=True, max_examples=30)
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Change:
    """A problem, the policy that has the data, and the candidate."""

    mdp: TabularMDP
    old: np.ndarray
    new: np.ndarray


@st.composite
def distributions(draw, shape):
    """Distributions over the last axis: integer weights, so that certain and impossible events are common."""
    weights = draw(arrays(np.int64, shape, elements=st.integers(0, 3))).astype(float)
    weights[..., 0] += weights.sum(axis=-1) == 0
    return weights / weights.sum(axis=-1, keepdims=True)


discounts = st.sampled_from([1.0, 0.9, 0.5])


@st.composite
def changes(draw, *, gamma=discounts, max_horizon=5, least_cost=-4):
    """Two or three states and one to three actions; costs are quarters; policies from equal to far apart."""
    states, actions = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    mdp = TabularMDP(
        P=draw(distributions((states, actions, states))),
        D=draw(arrays(np.int64, (states, actions, states), elements=st.integers(least_cost, 4))) / 4,
        mu=draw(distributions((states,))),
        horizon=draw(st.integers(1, max_horizon)),
        gamma=draw(gamma),
    )
    old, other = draw(distributions((states, actions))), draw(distributions((states, actions)))
    step = draw(st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
    return Change(mdp, old, (1 - step) * old + step * other)


@cache
def random_changes(gamma: float, count: int = 100) -> tuple[Change, ...]:
    """The pool in which the paper's printed forms are tried: 2-4 states, 2-3 actions, 2-6 steps, from near to far."""
    rng = np.random.default_rng(0)

    def one() -> Change:
        states, actions, horizon = (int(rng.integers(*ends)) for ends in ((2, 5), (2, 4), (2, 7)))
        mdp = TabularMDP(
            P=rng.dirichlet(np.full(states, rng.choice([0.1, 1.0, 10.0])), size=(states, actions)),
            D=rng.uniform(size=(states, actions, states)),
            mu=rng.dirichlet(np.ones(states)),
            horizon=horizon,
            gamma=gamma,
        )
        old, other = rng.dirichlet(np.full(actions, rng.choice([0.3, 1.0, 3.0])), size=(2, states))
        step = rng.choice([0.01, 0.1, 0.3, 1.0])
        return Change(mdp, old, (1 - step) * old + step * other)

    return tuple(one() for _ in range(count))


def paths(mdp: TabularMDP, pi: np.ndarray) -> Iterator[tuple[float, tuple[int, ...], tuple[int, ...]]]:
    """(probability, states s₀ .. s_n, actions) of every possible episode, written as naively as can be."""

    def extend(probability, states, actions):
        if len(actions) == mdp.horizon:
            yield probability, states, actions
            return
        s = states[-1]
        for a in range(mdp.actions):
            for successor in range(mdp.states):
                p = probability * pi[s, a] * mdp.P[s, a, successor]
                if p > 0:
                    yield from extend(p, (*states, successor), (*actions, a))

    for s in range(mdp.states):
        if mdp.mu[s] > 0:
            yield from extend(mdp.mu[s], (s,), ())


def costs(mdp: TabularMDP, states, actions) -> np.ndarray:
    """D_t along a path."""
    return mdp.D[states[:-1], actions, states[1:]]


def coins(*, horizon: int, gamma: float = 1.0, heads: float = 0.5) -> TabularMDP:
    """A coin a step, one action; heads is state 1 and costs 1."""
    P = np.broadcast_to([1 - heads, heads], (2, 1, 2))
    return TabularMDP(
        P=P, D=np.broadcast_to([0.0, 1.0], (2, 1, 2)), mu=np.array([1.0, 0.0]), horizon=horizon, gamma=gamma
    )


ONLY_ACTION = np.ones((2, 1))
