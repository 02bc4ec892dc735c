"""Simulations that broke down."""

from dataclasses import dataclass

NOT_FINITE = "a sensor reads NaN or infinity"


@dataclass(frozen=True)
class Divergence:
    """A simulation that broke down, and where to find it again."""

    env: int
    seed: int
    episode: int
    step: int
    reason: str

    def __str__(self) -> str:
        return (
            f"The simulation broke down in environment {self.env} (seed {self.seed}, episode {self.episode}, "
            f"step {self.step}): {self.reason}."
        )
