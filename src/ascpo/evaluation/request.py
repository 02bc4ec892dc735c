"""The request for a certificate: the probability to show, and how."""

from dataclasses import dataclass

from ascpo.choices import Actions, LimitKind
from ascpo.ranges import Probability


@dataclass(frozen=True)
class Request:
    """The options of a certificate."""

    probability: Probability = 0.98
    """The probability to show: that an episode keeps its limits."""
    confidence: Probability = 0.95
    """The confidence of all statements together: all certificates of one run, however many there are, and those of all
    policies of one command."""
    episodes: int = 3000
    """The number of episodes. It is fixed before the first one, whatever the result is."""
    limits: tuple[float, ...] | None = None
    """The limit of each constraint. The default is the limits of the training."""
    limits_on: LimitKind | None = None
    """Whether the limits bound the cost of every state, or the sum of an episode's costs. The default is what the
    algorithm's limits bound; limits of zero bound every state."""
    actions: Actions = "sampled"
    """The actions of the policy: sampled ones, or its mean actions."""
