"""The settings that algorithms with a clipped objective share."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascpo.errors import InertSetting
from ascpo.ranges import Positive
from ascpo.trust_region.clipped import ClippedStep

if TYPE_CHECKING:
    from ascpo.surrogates.weights import RatioClip


@dataclass(frozen=True)
class PPOSettings:
    """The clipped objective of PPO, and how the policy descends on it."""

    clip: Positive = 0.2
    """ε: a step gains nothing by moving the ratio of new to old probability of an action beyond 1 ± ε."""
    clip_costs: bool = True
    """Clip what costs add to the loss as well."""
    optimistic_costs: bool = False
    """Of the clipped and the unclipped cost, take the smaller one, as the released PASCPO does. Then the loss no
    longer resists once a costly action has become much more likely."""
    descent: ClippedStep = field(default_factory=ClippedStep)
    """How the policy descends."""

    def __post_init__(self) -> None:
        if self.optimistic_costs and not self.clip_costs:
            raise InertSetting("optimistic_costs", True, "costs are not clipped")

    def ratio_clip(self) -> "RatioClip":
        from ascpo.surrogates.weights import RatioClip

        return RatioClip(self.clip, self.clip if self.clip_costs else None, self.optimistic_costs)
