"""The ask: how much of a step the constraints get, and how much is left to the reward.

A limit of zero is never quite met. Asked for all at once, it would take the whole trust region for ever, steps would
ignore the reward, and the robot would learn to stand still. Asked for as c says, it gets too little: on one batch a
small part of the region seems to be enough, on the next one it was not.

So the constraints get a share β of the region's radius, and the reward keeps √(1 − β²) of it:

    β = share · (1 − relief · min(τ / patience, 1))

with τ the measured share of episodes that the time limit ended: what cannot drive yet, or has parked, is given more
room. And the loop is closed over the probability p that was promised: with v the measured share of episodes that break
a limit, the constraint asks for

    β · clip(v / (1 − p) − 1, 0, 1)

all of it while more than twice too many episodes do, nothing once few enough do. Then it is only to be held.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.experience.episodes import Summary


@dataclass(frozen=True)
class Ask:
    """How much of a step the constraints get."""

    closed: bool = True
    """Close the loop: constraints ask for as much as they get until episodes stay within all limits with the promised
    probability, and for nothing then. Otherwise they ask for what their bounds say, and for no more than they get."""
    share: float | None = 0.97
    """The share of the trust region's radius that the constraints get. None: whatever they ask for."""
    relief: float = 0.25
    """By how much the share shrinks when episodes run into the time limit."""
    patience: float = 0.1
    """The share of such episodes from which on it has shrunk in full."""
    memory: float = 0.7
    """How much of these measurements is kept from epoch to epoch."""

    def __post_init__(self) -> None:
        if self.share is not None and not 0.0 < self.share <= 1.0:
            raise ValueError(f"share={self.share} must lie between 0 and 1. Try 0.97.")
        if self.share is None and self.closed:
            raise ValueError("A closed loop needs a share to ask for: set ask.share, or switch ask.closed off.")
        if not 0.0 <= self.memory < 1.0:
            raise ValueError(f"memory={self.memory} must be at least 0 and less than 1.")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Trend:
    """What the last epochs measured, the latest weighing most."""

    exceeding: Float[Array, " m"]
    """Share of the episodes that break each limit."""
    time_limited: Float[Array, ""]
    """Share of those that the time limit ended."""
    known: Float[Array, ""]
    """Weight of all that was measured: 0 at first."""

    def after(self, episodes: Summary, ask: Ask) -> "Trend":
        def blend(before: Float[Array, "*m"], now: Float[Array, "*m"]) -> Float[Array, "*m"]:
            return ask.memory * before + (1.0 - ask.memory) * now

        return Trend(
            blend(self.exceeding, episodes.exceeding),
            blend(self.time_limited, episodes.time_limited),
            blend(self.known, jnp.ones(())),
        )


def unknown(m: int) -> Trend:
    return Trend(jnp.zeros(m), jnp.zeros(()), jnp.zeros(()))


def asked(trend: Trend, ask: Ask, probability: float) -> tuple[Float[Array, ""] | None, Float[Array, " m"] | None]:
    """β, and what each constraint asks for: None where its own bound says that."""
    if ask.share is None:
        return None, None
    parked = jnp.minimum(trend.time_limited / trend.known / ask.patience, 1.0)
    share = ask.share * (1.0 - ask.relief * parked)
    if not ask.closed:
        return share, None
    # All limits together are to hold with the probability, so each gets a part of what may go wrong.
    allowed = (1.0 - probability) / len(trend.exceeding)
    return share, share * jnp.clip(trend.exceeding / trend.known / allowed - 1.0, 0.0, 1.0)
