"""The settings that `ascpo.train` takes by name, as types: editors complete them, and type checkers refuse others.

docs/keywords.py makes this file from the dataclasses of the settings. Change these, then run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from ascpo.algorithms.ppo_settings import PPOSettings
    from ascpo.engines.settings import ReplaySettings
    from ascpo.networks.settings import CostFitSettings, FitSettings
    from ascpo.runs.source import PolicyKind
    from ascpo.seeding import Version
    from ascpo.surrogates.settings import TargetSettings
    from ascpo.trust_region.clipped import ClippedStep
    from ascpo.trust_region.projected import ProjectedStep
    from ascpo.trust_region.settings import TrustRegion

Numbers: TypeAlias = "float | list[float] | tuple[float, ...]"
Counts: TypeAlias = "int | list[int] | tuple[int, ...]"


class ClippedStepDict(TypedDict, total=False):
    """Some of the settings of `ClippedStep`."""

    learning_rate: float
    iterations: int


class CostFitSettingsDict(TypedDict, total=False):
    """Some of the settings of `CostFitSettings`."""

    iterations: int
    batch_size: int
    learning_rate: float
    balance: Literal["none", "subsample", "weighted"]
    monotone_weight: float
    window: int
    forget: float


class FitSettingsDict(TypedDict, total=False):
    """Some of the settings of `FitSettings`."""

    iterations: int
    batch_size: int
    learning_rate: float


class PPOSettingsDict(TypedDict, total=False):
    """Some of the settings of `PPOSettings`."""

    clip: float
    clip_costs: bool
    optimistic_costs: bool
    descent: ClippedStep | ClippedStepDict


class ProjectedStepDict(TypedDict, total=False):
    """Some of the settings of `ProjectedStep`."""

    nearest: Literal["divergence", "parameters"]
    within_region: bool


class ReplaySettingsDict(TypedDict, total=False):
    """Some of the settings of `ReplaySettings`."""

    share: float
    pool: int


class TargetSettingsDict(TypedDict, total=False):
    """Some of the settings of `TargetSettings`."""

    kind: Literal["feedback", "capped", "own"]
    share: float
    timeout_relief: float
    timeout_share: float
    timeout_limit: float | None
    smoothing: float
    gain: float
    episodes: int
    half_signal: float


class TrustRegionDict(TypedDict, total=False):
    """Some of the settings of `TrustRegion`."""

    delta: float
    damping: float
    cg_iterations: int
    fisher_stride: int
    backtracking: float
    backtracks: int
    tolerance: float
    signal_every: int


class OptionKeywords(TypedDict, total=False):
    """Options that change no number of a run."""

    processes: bool
    step_timeout: float | None
    restart_environments: bool
    threads: int
    devices: int
    checkpoint_every: float
    tensorboard: bool
    wandb: bool
    mlflow: bool
    progress: bool


class SharedKeywords(TypedDict, total=False):
    """The settings that all algorithms share."""

    num_envs: int
    horizon: int
    carry: bool
    limits: Numbers
    probability: float
    margin: float
    near_miss: float
    near_miss_end: float
    timeout_waiver: float
    discount: float
    gae_lambda: float
    normalise_observations: bool
    hidden: Counts
    initial_log_std: float
    value_fit: FitSettings | FitSettingsDict
    cost_fit: CostFitSettings | CostFitSettingsDict
    cost_gae_lambda: float | None
    output_bias: float | None
    trust_region: TrustRegion | TrustRegionDict
    replay: ReplaySettings | ReplaySettingsDict
    average_epochs: int | None


class AlgorithmKeywords(TypedDict, total=False):
    """The settings of the algorithms. Each algorithm has some of them."""

    multiplier_rate: float
    strength: float
    warm_up: float
    shield_fit: FitSettings | FitSettingsDict
    threshold: float
    correction_steps: int
    correction_size: float
    t: float
    slope: float
    multiplier_steps: int
    target: TargetSettings | TargetSettingsDict
    projection: ProjectedStep | ProjectedStepDict
    alpha: float
    mode: Literal["reference", "paper", "moment", "cantelli", "chance", "chernoff"]
    k: float
    omega1: float
    omega2: float
    tau: float
    cap: float
    union_bound: bool
    signal: Literal["largest", "sum"]
    ascent: Literal["bound", "cost"]
    rescaled: bool
    ppo: PPOSettings | PPOSettingsDict


class SettingKeywords(SharedKeywords, AlgorithmKeywords, total=False):
    """All settings of a training."""


class ConfigKeywords(SettingKeywords, total=False):
    """All that decides the numbers of a run."""

    engine: Literal["native", "mjx", "mjx-jax", "mjx-warp"]
    seeding: Version
    max_episode_steps: int | None
    final_policy: PolicyKind | None
    validation_episodes: int


class TrainKeywords(ConfigKeywords, OptionKeywords, total=False):
    """All settings and options of a training."""
