"""Choices that commands offer, in a file of their own: to read a command line, nothing heavy is imported."""

from typing import Literal

LimitKind = Literal["state", "episode"]
"""What a limit bounds: the cost of every state, or the sum of an episode's costs."""
Actions = Literal["sampled", "mean"]
"""Those that the policy samples, or its mean ones."""
EvaluatedActions = Literal["sampled", "mean", "both"]
ALGORITHM_NAMES = (
    "trpo",
    "trpo-lagrangian",
    "trpo-sl",
    "trpo-usl",
    "trpo-ipo",
    "trpo-fac",
    "cpo",
    "pcpo",
    "scpo",
    "trpo-cvar",
    "cpo-cvar",
    "ascpo",
    "pascpo",
    "ppo-lagrangian",
)
"""The keys of `ascpo.algorithms.ALGORITHMS`, which needs JAX. A test compares them."""
