"""The sizes of a task, for its engines."""

import numpy as np

from ascpo.engines.contract import Bounds
from ascpo.guard.task import Task


class TaskSizes:
    """Base of the engines of a task: sizes, cost names and action bounds come from the task."""

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
