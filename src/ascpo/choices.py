"""Choices that commands offer. This module imports nothing heavy, so that a command line is parsed at once."""

from typing import Literal

LimitKind = Literal["state", "episode"]
"""What a limit bounds: the cost of every state, or the sum of an episode's costs."""
Mechanism = Literal["constraint", "penalty", "shield", "none"]
"""How costs affect training: by a constraint on every step, a penalty in the loss, a shield, or not at all."""
StepKind = Literal["constrained", "projected", "clipped"]
"""How the policy moves."""
Head = Literal["linear", "softplus", "sigmoid"]
"""What a critic's network ends in. softplus: sums that cannot be negative; sigmoid: probabilities."""
Actions = Literal["sampled", "mean"]
"""The actions of a policy: sampled, or its mean ones."""
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
