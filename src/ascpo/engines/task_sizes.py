"""What every engine of a task tells a learner about it."""

import numpy as np

from ascpo.engines.contract import Bounds
from ascpo.guard.task import Task


class TaskSizes:
    """Sizes, names and bounds, as the task has them."""

    task: Task
    has_margins: bool = True

    @property
    def observation_size(self) -> int:
        return self.task.observer.size

    @property
    def action_size(self) -> int:
        return self.task.suite.robot.actions

    @property
    def cost_names(self) -> tuple[str, ...]:
        return self.task.suite.cost_names

    @property
    def action_bounds(self) -> Bounds:
        ones = np.ones(self.action_size, np.float32)
        return -ones, ones
