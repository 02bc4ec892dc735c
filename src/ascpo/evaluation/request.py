"""What a certificate should show, as it is asked for."""

from dataclasses import dataclass

from ascpo.choices import Actions, LimitKind
from ascpo.ranges import Probability


@dataclass(frozen=True)
class Request:
    """What a certificate should show."""

    probability: Probability = 0.98
    """The probability to show: that an episode keeps its limits."""
    confidence: Probability = 0.95
    """The confidence of all statements together: those about one run, however often you look at it, and those about all
    policies of one command."""
    episodes: int = 3000
    """The number of episodes. It is fixed before the first one, whatever comes out."""
    limits: tuple[float, ...] | None = None
    """The limit of each constraint. The default is the limits of the training."""
    limits_on: LimitKind | None = None
    """Whether the limits bound the cost of every state, or the sum of an episode's costs. The default is what the
    algorithm's limits bound; limits of zero bound every state."""
    actions: Actions = "sampled"
    """Which actions the policy takes: those that it samples, or its mean actions."""
