"""Choices that commands offer, in a file of their own: to read a command line, nothing heavy is imported."""

from typing import Literal

LimitKind = Literal["state", "episode"]
"""What a limit bounds: the cost of every state, or the sum of an episode's costs."""
Actions = Literal["sampled", "mean"]
"""Those that the policy samples, or its mean ones."""
EvaluatedActions = Literal["sampled", "mean", "both"]
