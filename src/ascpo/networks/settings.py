"""Settings of the networks. This module does not import JAX."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ascpo.errors import InertSetting
from ascpo.ranges import Fraction, Iterations, LearningRate, NonNegative, Range

LOG_STD_BOUNDS = (-5.0, 2.0)
"""Bounds of log σ. With a smaller σ a policy could no longer learn, and with a larger one it could not act."""
Balance = Literal["none", "subsample", "weighted"]
_FORGET = 0.9


@dataclass(frozen=True)
class FitSettings:
    """How a critic is fitted."""

    iterations: Iterations = 80
    """Steps of Adam in an epoch."""
    batch_size: Annotated[int, Range(at_least=0, at_most=10**9)] = 4096
    """States in each step of Adam. 0 takes all of them."""
    learning_rate: LearningRate = 1e-3
    """Learning rate of Adam."""


@dataclass(frozen=True)
class CostFitSettings(FitSettings):
    """How a cost critic is fitted. Costs are rare, so it learns from several epochs, with balanced minibatches."""

    balance: Balance = "weighted"
    """How minibatches are balanced between states with and without future cost: `none`, `subsample` or `weighted`."""
    monotone_weight: NonNegative = 0.0
    """Weight, in the loss, of squared rises of the prediction between neighbouring states."""
    window: Annotated[int, Range(at_least=1, at_most=10**5)] = 10
    """Number of epochs whose steps the critic is fitted to."""
    forget: Fraction = _FORGET
    """How often an epoch's steps are drawn, relative to those of the next epoch."""

    def __post_init__(self) -> None:
        if self.window == 1 and self.forget != _FORGET:
            raise InertSetting("forget", self.forget, "a window of one epoch has nothing to forget")
