"""Settings that every algorithm shares, as frozen data."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated

from ascpo.algorithms.outline import Outline
from ascpo.engines.settings import ReplaySettings
from ascpo.errors import BadSetting, InertSetting
from ascpo.networks.settings import LOG_STD_BOUNDS, CostFitSettings, FitSettings
from ascpo.ranges import Dataclass, Fraction, NonNegative, Probability, Range, check
from ascpo.seeding import MAX_ENVS
from ascpo.trust_region.settings import TrustRegion

KEPT_POLICIES = 20


@dataclass(frozen=True)
class Settings:
    """The settings of a training that do not depend on the algorithm."""

    num_envs: Annotated[int, Range(at_least=1, at_most=MAX_ENVS)] = 30
    """Number of environments that run in parallel."""
    horizon: Annotated[int, Range(at_least=1, at_most=10**7)] = 1000
    """Steps of each environment in an epoch."""
    carry: bool = True
    """Let episodes continue in the next epoch. Otherwise the end of an epoch cuts them off."""
    limits: Annotated[tuple[float, ...], Range(items=1000)] = (0.0,)
    """The limit of each constraint. It bounds the cost of every state, or the sum of an episode's costs, depending on
    the algorithm. A single number is the limit of all constraints."""
    probability: Probability = 0.98
    """Target probability: the share of episodes that are to keep all limits."""
    margin: NonNegative = 0.0
    """Learning aims at limits that are lower by this margin. Measurements, logs and certificates use the real
    limits."""
    near_miss: NonNegative = 0.0
    """Learn from near misses: for learning, costs begin this far before they really do, in the unit of the
    environment's margins. Measurements, logs and certificates use the real costs. 0 learns from real costs only."""
    near_miss_end: NonNegative = 0.03
    """Value to which `near_miss` shrinks by the end of the training."""
    timeout_waiver: Fraction = 0.0
    """Part of the penalty for costs that is waived while a tenth or more of the episodes run into the time limit, for
    tasks in which a time-out is a failure. With fewer time-outs the waiver is smaller, and from one in a hundred
    down it is zero. Multipliers rise less, too."""
    discount: Annotated[float, Range(above=0.0, at_most=1.0)] = 0.99
    """γ of the reward."""
    gae_lambda: Fraction = 0.97
    """λ of the reward's generalised advantage estimates."""
    normalise_observations: bool = False
    """Normalise observations: subtract their mean and divide by their standard deviation, both over the training so
    far. The policy's file keeps these numbers."""
    hidden: Annotated[tuple[int, ...], Range(at_least=1, at_most=2**14)] = (64, 64)
    """Widths of the hidden layers of every network. All must be equal: 64 64."""
    initial_log_std: Annotated[float, Range(LOG_STD_BOUNDS[0], LOG_STD_BOUNDS[1])] = -0.5
    """Logarithm of the policy's initial standard deviation."""
    value_fit: FitSettings = field(default_factory=FitSettings)
    """How the reward's critic is fitted."""
    cost_fit: CostFitSettings = field(default_factory=CostFitSettings)
    """How the cost critics are fitted."""
    cost_gae_lambda: Fraction | None = None
    """λ of the costs' generalised advantage estimates. None takes 0.95 for signals of an episode's largest cost, and
    0.97 for others."""
    output_bias: Annotated[float, Range(at_least=-100.0, at_most=100.0)] | None = -4.0
    """Initial bias of the last layer of cost critics whose output is never negative. A negative one starts them near
    zero."""
    trust_region: TrustRegion = field(default_factory=TrustRegion)
    """The size of the policy's steps, and how they are computed."""
    replay: ReplaySettings = field(default_factory=ReplaySettings)
    """Which scenes are replayed."""
    average_epochs: Annotated[int, Range(at_least=0, at_most=1000)] | None = None
    """Number of last epochs whose policies are averaged, or selected from, at the end (--final-policy).
    None keeps twenty, and averages those of the last tenth of the training. 0 keeps only the last policy."""

    def __post_init__(self) -> None:
        check(self)
        if len(set(self.hidden)) > 1:
            raise BadSetting(f"hidden={self.hidden}: layers of different width are not possible. Try 64 64.")
        if not self.near_miss and self.near_miss_end != Settings.near_miss_end:
            raise InertSetting("near_miss_end", self.near_miss_end, "near_miss is 0")
        if 0.0 < self.near_miss < self.near_miss_end:
            raise BadSetting(
                f"near_miss={self.near_miss:g} cannot shrink to near_miss_end={self.near_miss_end:g}. Use "
                f"near_miss_end={self.near_miss:g} or less."
            )

    @property
    def kept_policies(self) -> int:
        """The number of last epochs whose policies are kept."""
        return KEPT_POLICIES if self.average_epochs is None else self.average_epochs

    def averaged_policies(self, epochs: int) -> int:
        """The number of last policies whose mean is taken after so many epochs.

        A short training still improves from one policy to the next: there the mean of many would be an earlier one.
        """
        tenth = -(-epochs // 10)
        return max(1, min(epochs, self.kept_policies, tenth if self.average_epochs is None else epochs))

    def limits_for(self, names: tuple[str, ...]) -> tuple[float, ...]:
        """One limit for each constraint."""
        if len(self.limits) not in {1, len(names)}:
            raise ValueError(
                f"{len(self.limits)} limits for {len(names)} constraints ({', '.join(names)}). "
                f"Give one for each, in this order, or a single one for all."
            )
        return self.limits * len(names) if len(self.limits) == 1 else self.limits


def inert_settings(settings: Settings, algorithm: Outline) -> dict[str, InertSetting]:
    """The settings that differ from the defaults but change nothing for this algorithm, by name (`cost_fit.window`)."""
    unused = dict[str, str]()
    if algorithm.critics is None:
        names = ("cost_fit", "cost_gae_lambda", "output_bias", "near_miss", "near_miss_end", "replay")
        unused |= dict.fromkeys(names, f"{algorithm.name} has no cost critics")
    elif algorithm.critics == "linear":
        unused["output_bias"] = f"the cost critics of {algorithm.name} predict sums of either sign"
    if algorithm.cvar:
        why = f"the value at risk of {algorithm.name} is that of the costs themselves"
        unused |= dict.fromkeys(("near_miss", "near_miss_end"), why)
    if algorithm.mechanism != "penalty" and not algorithm.also_penalises:
        unused["timeout_waiver"] = f"{algorithm.name} does not pay for costs"
    if algorithm.mechanism == "none":
        unused["margin"] = f"{algorithm.name} does nothing about costs"
    if algorithm.step == "clipped":
        names = [f"trust_region.{name}" for name in TrustRegion.__dataclass_fields__ if name != "delta"]
        unused |= dict.fromkeys(names, f"{algorithm.name} descends by Adam, and trust_region.delta alone ends that")
    elif algorithm.mechanism != "constraint":
        names = ("trust_region.signal_every", "trust_region.tolerance")
        unused |= dict.fromkeys(names, f"it is for constraints, and {algorithm.name} has none")
    elif algorithm.step == "projected":
        unused["trust_region.tolerance"] = f"{algorithm.name} projects its steps instead of searching along a line"
    changed = _changed(settings, _defaults())
    found = ((name, value, unused.get(name, unused.get(name.split(".")[0]))) for name, value in changed)
    return {name: InertSetting(name, value, why) for name, value, why in found if why}


@cache
def _defaults() -> Settings:
    return Settings()


def _changed(settings: Dataclass, usual: Dataclass, group: str = "") -> Iterator[tuple[str, object]]:
    """The settings that differ from the defaults, by name."""
    for name in usual.__dataclass_fields__:
        value, default = getattr(settings, name), getattr(usual, name)
        if hasattr(default, "__dataclass_fields__"):
            yield from _changed(value, default, f"{name}.")
        elif value != default:
            yield group + name, value


def refuse_inert(settings: Settings, algorithm: Outline) -> None:
    """Raise an error for a setting that changes nothing."""
    for inert in inert_settings(settings, algorithm).values():
        raise inert
    if algorithm.half_signal:
        if not settings.trust_region.signal_every:
            why = "trust_region.signal_every=0 measures no signal"
            raise InertSetting("target.half_signal", algorithm.half_signal, why)
        if settings.num_envs == 1:
            raise BadSetting(
                f"target.half_signal={algorithm.half_signal:g} needs a signal, and num_envs=1 measures none: it takes "
                f"two environments or more to tell signal from noise. Use a larger num_envs, or leave half_signal at 0."
            )


def refuse_unkeepable(settings: Settings, algorithm: Outline) -> None:
    """Raise an error for limits below zero: no cost is negative, so every state would count as a violation."""
    lowest = min(settings.limits) - settings.margin
    if algorithm.counts_violations and lowest < 0.0:
        raise BadSetting(
            f"limits={settings.limits} with margin={settings.margin:g} let learning aim at {lowest:g}. No cost is "
            f"below zero, so every episode would count as a violation. Use larger limits or a smaller margin, or "
            f"--target.kind own with a bound on the costs themselves (scpo, or ascpo with --mode paper)."
        )
