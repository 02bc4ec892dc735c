"""Options of users' environments: whether each runs in its own process, and whether processes are restarted."""

from dataclasses import dataclass

from ascpo.engines.settings import STEP_TIMEOUT
from ascpo.errors import InertSetting
from ascpo.ranges import Positive


@dataclass(frozen=True)
class Hosting:
    """How your own environments run."""

    processes: bool = False
    """Run each of your own environments in its own process. This is faster if steps take long, and a crash of one
    environment does not end the command."""
    step_timeout: Positive | None = None
    """With --processes: the seconds that a step may take, 60 by default. A reset may take ten times as long, and at
    least a minute. A process that needs longer is ended, and counts as dead."""
    restart_environments: bool = False
    """With --processes: restart the process of an environment when it dies, at most ten times each. Its episode counts
    as violated. Without this flag, the command fails, and a training keeps its finished epochs."""

    def __post_init__(self) -> None:
        for name, value in (("step_timeout", self.step_timeout), ("restart_environments", self.restart_environments)):
            if value not in (None, False) and not self.processes:
                raise InertSetting(name, value, "without --processes, environments do not have processes")

    @property
    def seconds_per_step(self) -> float:
        return STEP_TIMEOUT if self.step_timeout is None else self.step_timeout


PLAIN = Hosting()
"""All environments in this process."""
