"""The seven robots, by name."""

from ascpo.guard.robots.ant import ANT
from ascpo.guard.robots.arm3 import ARM3
from ascpo.guard.robots.drone import DRONE
from ascpo.guard.robots.humanoid import HUMANOID
from ascpo.guard.robots.point import POINT
from ascpo.guard.robots.robot import Part, Robot
from ascpo.guard.robots.swimmer import SWIMMER
from ascpo.guard.robots.walker import WALKER

ROBOTS: dict[str, Robot] = {robot.name: robot for robot in (POINT, SWIMMER, ARM3, DRONE, HUMANOID, ANT, WALKER)}

__all__ = ["ROBOTS", "Part", "Robot"]
