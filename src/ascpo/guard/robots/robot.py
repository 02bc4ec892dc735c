"""The description of a robot. Each file of this folder describes one robot completely."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Part:
    """A part of the robot's shape in distances: a ball (`start == end`) or a capsule between two frames' origins."""

    start: str
    end: str
    radius: float


@dataclass(frozen=True)
class Robot:
    """A robot: its bodies in MJCF, and those that are sensed, actuated and used for costs.

    The MJCF has one root body, named `robot`, at the world's origin. The layout's position and heading are applied
    outside the simulator (`guard/task.py`), so that the compiled model is the same for every episode.
    """

    name: str
    mjcf: str
    """Options, bodies and actuators. Each frame's body has a site of the same name, at its inertial unit."""
    actions: int
    frames: tuple[str, ...] = ("robot",)
    """Bodies with an inertial unit, whose position and attitude the task uses."""
    tracked: str = "robot"
    """The frame that must reach the goal, that ghosts follow, and that has the compass and the lidars."""
    compact_lidars: tuple[str, ...] = ("robot",)
    """Frames with compass and lidars in the `compact` observations."""
    parts: tuple[Part, ...] = (Part("robot", "robot", 0.0),)
    """The shape that must keep clear of 3D regions; by default the root's origin."""
    joints: tuple[str, ...] = ()
    """Joints with a position and a velocity sensor."""
    compact_joints: tuple[str, ...] | None = None
    """The same in the `compact` observations, if they differ."""
    touch: tuple[str, ...] = ()
    """Sites with a touch sensor."""
    paper_touch: bool = True
    """Whether the paper's table lists the touch sensors."""
    spatial: bool = False
    """Whether goal, obstacles, compass and lidars are three-dimensional."""
    anchored: bool = False
    """Whether the robot is fixed to the centre of the arena."""
    rotors: tuple[str, ...] = ()
    """Bodies that are pushed by rotor thrust; a robot without rotors is driven by its actuators."""
    can_touch: bool = True
    """Whether it can touch anything but a pillar. If not, contacts are switched off in suites without pillars,
    which changes no trajectory and makes them faster."""
    # A certificate's checksum of the world uses the repr of the other fields. These two do not affect the physics.
    plain_kinds: bool = field(default=False, repr=False)
    """Whether suites give its obstacles in the air the plain name, as in the paper: `Hazard` for `3DHazard`."""
    steps_per_second: float = field(default=5e3, repr=False)
    """Environment steps per second on two cores of an Intel Xeon at 2.5 GHz. Only estimates of time use it."""

    @property
    def tracked_frame(self) -> int:
        return self.frames.index(self.tracked)


def motors(side: str, gears: dict[str, int]) -> str:
    """MJCF of the motors of one side's joints."""
    names = ((f"{side}_{joint}", gear) for joint, gear in gears.items())
    return "\n".join(f'<motor name="{name}" joint="{name}" gear="{gear}"/>' for name, gear in names)
