"""What a training carries from epoch to epoch, and what it makes of a rollout: arrays alone."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from ascpo.engines.contract import Snapshot
from ascpo.experience.episodes import EpisodeStatistics, EpisodeTotals
from ascpo.experience.near_miss import NearMiss
from ascpo.experience.replay import ReplayPool
from ascpo.experience.trend import EpisodeTrend
from ascpo.experience.window import Window
from ascpo.guard.layout import AnyArray
from ascpo.networks.fit import FitBatch
from ascpo.networks.normaliser import Normaliser
from ascpo.surrogates.evidence import Evidence
from ascpo.surrogates.target import Integral
from ascpo.training.recent import RecentPolicies
from ascpo.trust_region.signal import SignalTrend
from ascpo.trust_region.step import StepReport


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CriticState:
    """A critic's parameters and its optimiser's state."""

    params: PyTree
    opt_state: PyTree


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ShieldState:
    """A shield's network, and whether it acts already."""

    critic: CriticState
    epochs: Int[Array, ""]
    """Epochs done so far."""
    warm_up: Int[Array, ""]
    """Epochs after which it acts."""

    @property
    def active(self) -> Bool[Array, ""]:
        return self.epochs >= self.warm_up


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PolicyState:
    """The part of a learner's state that a step of the policy changes."""

    theta: Float[Array, " p"]
    """The policy's parameters."""
    step: PyTree = None
    """State of the step rule: Adam's, for a clipped step."""
    target: Integral | None = None
    """What the target carries on: the integral term of feedback."""
    multiplier: PyTree = None
    """State of the penalty's multiplier."""
    nu: Float[Array, " m"] | None = None
    """ν, the value at risk, for episodes that begin."""
    signal: SignalTrend | None = None
    """What the last measurements say of the constraints' gradients."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LearnerState:
    """All that learning carries from epoch to epoch."""

    key: Key[Array, ""]
    policy: PolicyState
    value: CriticState
    running: EpisodeTotals
    """Totals of the episodes that go on."""
    trend: EpisodeTrend | None = None
    """What the last epochs measured, where costs are bounded or paid for."""
    episode_nu: Float[Array, "env m"] | None = None
    """ν of the episodes that go on."""
    cost: CriticState | None = None
    window: Window | None = None
    """The steps that the cost critics are fitted to."""
    near_miss: NearMiss | None = None
    """How far before its limit a cost begins for learning; None where it begins at the limit."""
    shield: ShieldState | None = None
    normaliser: Normaliser | None = None
    """The statistics of the observations so far, where networks see them normalised."""
    pool: ReplayPool | None = None
    """Scenes that are played again, where some are."""
    recent: RecentPolicies | None = None
    """The policies of the last epochs, if any are kept."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainingState:
    """Where a training stands between two epochs: all that decides how it goes on."""

    epochs: int
    """Epochs done so far."""
    cost: float
    """Cost paid so far."""
    learner: LearnerState
    engine: Snapshot


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CriticQuality:
    """How well critics predicted an epoch, on episodes that they had not seen."""

    value: Float[AnyArray, "*runs"]
    """Explained variance of the reward's critic."""
    cost: Float[AnyArray, "*runs k"]
    """Explained variance of the cost critics."""
    cost_bias: Float[AnyArray, "*runs k"]
    """By how much the cost critics expect too much, as a multiple of the truth's mean."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Estimates:
    """What a rollout says, and what the critics are to be fitted to."""

    evidence: Evidence
    value_batch: FitBatch
    running: EpisodeTotals
    quality: CriticQuality
    episodes: EpisodeStatistics
    """The finished episodes, against the limits themselves."""
    episode_nu: Float[Array, "env m"] | None = None
    """ν of the episodes that go on."""
    window: Window | None = None
    near_miss: NearMiss | None = None
    """For the next epoch."""
    shield_batch: FitBatch | None = None
    interventions: Float[Array, " 2"] | None = None
    """Share of the actions that the shield changed, and by how much it changed those."""
    pool: ReplayPool | None = None


@dataclass(frozen=True)
class Sizes:
    """Sizes of an environment."""

    num_envs: int
    observation: int
    action: int
    m: int
    margins: bool = False
    """Whether every step says how near its costs are."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpochMetrics:
    """What an epoch has to tell: small arrays, fetched from the device at once."""

    episodes: EpisodeStatistics
    step: StepReport
    cap: Float[AnyArray, "*runs"]
    """Share of the trust region's radius that the constraints could get; NaN where nothing asks for one."""
    losses: dict[str, Float[AnyArray, "*runs"]]
    quality: CriticQuality
    log_std: Float[AnyArray, "*runs"]
    total_cost: Float[AnyArray, "*runs"]
    worst_cost: Float[AnyArray, "*runs"]
    finite: Bool[AnyArray, "*runs"]
    """Whether the policy's parameters are finite."""
    extras: dict[str, Float[AnyArray, "*runs"]]
    """What only some algorithms have to tell."""
