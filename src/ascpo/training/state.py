"""What a training carries from epoch to epoch, and what it makes of a rollout: arrays alone."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from ascpo.experience.episodes import Summary, Totals
from ascpo.experience.window import Window
from ascpo.networks.fitting import Lesson
from ascpo.surrogates.evidence import Evidence
from ascpo.training.ask import Trend
from ascpo.trust_region.step import Report


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Judge:
    """A critic and its optimiser's state: arrays alone."""

    arrays: PyTree
    adam: PyTree


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Guard:
    """A shield, and whether it acts already."""

    judge: Judge
    epochs: Int[Array, ""]
    """Done so far."""
    begins: Int[Array, ""]
    """After how many it acts."""

    @property
    def active(self) -> Bool[Array, ""]:
        return self.epochs >= self.begins


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """All that a training carries from epoch to epoch."""

    key: Key[Array, ""]
    theta: Float[Array, " p"]
    """The policy's parameters."""
    value: Judge
    cost: Judge | None
    window: Window | None
    running: Totals
    """Of the episodes that go on."""
    trend: Trend
    multiplier: PyTree = None
    """Of the penalty."""
    adam: PyTree = None
    """Of a policy that descends."""
    shield: Guard | None = None
    nu: Float[Array, " m"] | None = None
    """ν, the value at risk."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Judgement:
    """What a rollout says, and what the critics should learn from it."""

    evidence: Evidence
    lesson: Lesson
    window: Window | None
    running: Totals
    explained: Float[Array, ""]
    """Explained variance of the reward's critic, on episodes it has not seen."""
    cost_explained: Float[Array, " k"]
    cost_bias: Float[Array, " k"]
    """By how much the cost critics expect too much, as a multiple of the truth's mean."""
    shield_lesson: Lesson | None = None
    interventions: Float[Array, " 2"] | None = None
    """Share of the actions that the shield changed, and by how much it changed those."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mover:
    """The part of a state that a step of the policy changes."""

    theta: Float[Array, " p"]
    trend: Trend
    adam: PyTree
    multiplier: PyTree
    nu: Float[Array, " m"] | None


@dataclass(frozen=True)
class Sizes:
    """Of an environment."""

    num_envs: int
    observation: int
    action: int
    m: int


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Told:
    """What an epoch has to tell: small arrays, fetched from the device at once."""

    episodes: Summary
    report: Report
    share: Float[Array, ""]
    """Of the trust region's radius, that the constraints could get."""
    losses: dict[str, Float[Array, ""]]
    explained: Float[Array, ""]
    cost_explained: Float[Array, " k"]
    cost_bias: Float[Array, " k"]
    log_std: Float[Array, ""]
    total_cost: Float[Array, ""]
    worst_cost: Float[Array, ""]
    finite: Bool[Array, ""]
    """Whether the policy's parameters are."""
    extras: dict[str, Float[Array, ""]]
    """What some algorithms have to tell, and others have not."""
