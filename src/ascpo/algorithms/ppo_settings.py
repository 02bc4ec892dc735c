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
    """The clipped objective of PPO, and its optimisation."""

    clip: Positive = 0.2
    """ε: the objective does not improve further if the ratio of an action's new and old probability leaves 1 ± ε."""
    clip_costs: bool = True
    """Clip the costs' part of the loss, too."""
    optimistic_costs: bool = False
    """Take the smaller of the clipped and the unclipped cost, as the released PASCPO does. Then the loss does not
    resist once a costly action has become much more likely."""
    descent: ClippedStep = field(default_factory=ClippedStep)
    """The steps of Adam on the objective."""

    def __post_init__(self) -> None:
        if self.optimistic_costs and not self.clip_costs:
            raise InertSetting("optimistic_costs", True, "costs are not clipped")

    def ratio_clip(self) -> "RatioClip":
        from ascpo.surrogates.weights import RatioClip

        return RatioClip(self.clip, self.clip if self.clip_costs else None, self.optimistic_costs)
