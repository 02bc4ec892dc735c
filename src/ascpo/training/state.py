"""The state of a training between epochs and the results of an epoch, as trees of arrays; sizes of an environment."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from ascpo.engines.contract import Snapshot
from ascpo.experience.episodes import EpisodeStatistics, EpisodeTotals
from ascpo.experience.near_miss import NearMiss
from ascpo.experience.scene_replay import ReplayPool
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
    """A shield's network, and whether the shield is active yet."""

    critic: CriticState
    epochs: Int[Array, ""]
    """Epochs done so far."""
    warm_up: Int[Array, ""]
    """Epochs after which the shield is active."""

    @property
    def active(self) -> Bool[Array, ""]:
        return self.epochs >= self.warm_up


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PolicyState:
    """The part of the state that a policy update changes."""

    theta: Float[Array, " p"]
    """The policy's parameters."""
    step: PyTree = None
    """State of the step rule: Adam's, for a clipped step."""
    target: Integral | None = None
    """State of the target: the integral term of `Feedback`."""
    multiplier: PyTree = None
    """State of the penalty's multiplier."""
    nu: Float[Array, " m"] | None = None
    """ν, the value at risk, for the episodes that begin next."""
    signal: SignalTrend | None = None
    """The measured signal of the constraints' gradients."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LearnerState:
    """The state of learning between epochs."""

    key: Key[Array, ""]
    policy: PolicyState
    value: CriticState
    running: EpisodeTotals
    """Totals of the running episodes."""
    trend: EpisodeTrend | None = None
    """Statistics of the last epochs. None for algorithms without cost critics."""
    episode_nu: Float[Array, "env m"] | None = None
    """ν of the running episodes."""
    cost: CriticState | None = None
    window: Window | None = None
    """The steps of the last epochs, to which the cost critics are fitted."""
    near_miss: NearMiss | None = None
    """The state of near misses. None without near misses."""
    shield: ShieldState | None = None
    normaliser: Normaliser | None = None
    """The statistics of the observations so far. None if observations are not normalised."""
    pool: ReplayPool | None = None
    """The scenes to replay. None without replay."""
    recent: RecentPolicies | None = None
    """The policies of the last epochs. None if none are kept."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainingState:
    """The complete state of a training between two epochs. It decides everything that comes next."""

    epochs: int
    """Epochs done so far."""
    cost: float
    """Cost paid so far."""
    learner: LearnerState
    engine: Snapshot


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CriticQuality:
    """How well the critics predict an epoch, before they are fitted to it."""

    value: Float[AnyArray, "*runs"]
    """Explained variance of the reward's critic."""
    cost: Float[AnyArray, "*runs k"]
    """Explained variance of the cost critics."""
    cost_bias: Float[AnyArray, "*runs k"]
    """Mean overestimate of the cost critics, as a multiple of the true mean."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Estimates:
    """The estimates from a rollout, and the batches that the critics are fitted to."""

    evidence: Evidence
    value_batch: FitBatch
    running: EpisodeTotals
    quality: CriticQuality
    episodes: EpisodeStatistics
    """Statistics of the finished episodes, with the real limits."""
    episode_nu: Float[Array, "env m"] | None = None
    """ν of the running episodes."""
    window: Window | None = None
    near_miss: NearMiss | None = None
    """The state of near misses for the next epoch."""
    shield_batch: FitBatch | None = None
    interventions: Float[Array, " 2"] | None = None
    """The share of actions that the shield changed, and the mean distance of these changes."""
    pool: ReplayPool | None = None


@dataclass(frozen=True)
class Sizes:
    """Sizes of an environment."""

    num_envs: int
    observation: int
    action: int
    m: int
    margins: bool = False
    """Whether the environment gives margins: how near every cost is."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpochMetrics:
    """The metrics of an epoch: small arrays, fetched from the device together."""

    episodes: EpisodeStatistics
    step: StepReport
    cap: Float[AnyArray, "*runs"]
    """Share of the trust region's radius that the constraints may take. NaN without such a cap."""
    losses: dict[str, Float[AnyArray, "*runs"]]
    quality: CriticQuality
    log_std: Float[AnyArray, "*runs"]
    total_cost: Float[AnyArray, "*runs"]
    worst_cost: Float[AnyArray, "*runs"]
    finite: Bool[AnyArray, "*runs"]
    """Whether the policy's parameters are finite."""
    extras: dict[str, Float[AnyArray, "*runs"]]
    """Metrics that only some algorithms have."""
