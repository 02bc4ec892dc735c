"""Suites by name: `Point-8-Hazard`, `Ant-4-Ghost`, `Point-4-Hazard+2-Pillar`.

    suite     = robot "-" obstacles { "+" obstacles } [ "-Indicator" ]
    obstacles = number "-" kind

Every kind is a separate constraint, so the last one above has two costs. The benchmark's own spelling
(`Goal_Point_8Hazards_noconti`) works too. With `-Indicator`, the cost of a state is 1 if it has any, as in Safety
Gymnasium, so that an episode's cost is its number of steps inside forbidden regions.
"""

import difflib
import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from ascpo.guard.kinds import IN_THE_AIR, KINDS, Kind
from ascpo.guard.robots import ROBOTS, Robot
from ascpo.ranges import shown

ARENA = 2.0
"""Half the side of the square in which everything is placed."""
ROBOT_KEEPOUT = GOAL_KEEPOUT = 0.4
_INDICATOR = "-Indicator"

PAPER_SUITES: tuple[str, ...] = (
    *(f"Point-{n}-{kind}" for kind in ("Hazard", "Pillar", "Ghost") for n in (1, 4, 8)),
    *(f"Swimmer-{n}-Hazard" for n in (1, 4, 8)),
    *(f"Drone-{n}-3DHazard" for n in (1, 4, 8)),
    *(f"{robot}-8-Hazard" for robot in ("Arm3", "Humanoid", "Ant", "Walker")),
)
"""The nineteen suites of the paper."""


class UnknownSuite(ValueError):
    """A name that is not a suite, with the nearest ones that are."""


@dataclass(frozen=True)
class Obstacles:
    """A number of obstacles of one kind."""

    count: int
    kind: Kind


@dataclass(frozen=True)
class Suite:
    """A robot among obstacles."""

    robot: Robot
    obstacles: tuple[Obstacles, ...]
    indicator: bool = field(default=False, repr=False)
    """Whether every positive cost is 1. Checksums of suites leave it out if it is not set."""

    @property
    def name(self) -> str:
        """The canonical spelling. As in the paper, Arm3's 3D hazards have the plain name, unlike the drone's."""
        short = {kind.title: plain for plain, kind in IN_THE_AIR.items()} if self.robot.plain_kinds else {}
        parts = (f"{o.count}-{short.get(o.kind.title, o.kind.title)}" for o in self.obstacles)
        return f"{self.robot.name}-{'+'.join(parts)}{_INDICATOR if self.indicator else ''}"

    @property
    def cost_names(self) -> tuple[str, ...]:
        """One cost per kind of obstacle, in the order of the name."""
        return tuple(o.kind.name for o in self.obstacles)

    @property
    def count(self) -> int:
        """All obstacles together."""
        return sum(o.count for o in self.obstacles)

    @property
    def moves(self) -> bool:
        return any(o.kind.moves for o in self.obstacles)

    @property
    def pillars(self) -> int:
        return sum(o.count for o in self.obstacles if o.kind.shape == "post")

    def slices(self) -> tuple[tuple[Kind, slice], ...]:
        """Each kind with its rows in an array of all obstacles."""
        rows = consecutive(o.count for o in self.obstacles)
        return tuple((o.kind, where) for o, where in zip(self.obstacles, rows, strict=True))


def consecutive(sizes: Iterable[int]) -> list[slice]:
    """Consecutive slices of these sizes."""
    return [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))]


def suite(name: "str | Suite") -> Suite:
    """The suite of that name."""
    if isinstance(name, Suite):
        return name
    plain = name.strip().removesuffix(_INDICATOR)
    robot_name, wanted = _read(plain)
    robot = ROBOTS[robot_name]
    obstacles = tuple(Obstacles(count, _kind_for(robot, title, name)) for count, title in wanted)
    names = [o.kind.name for o in obstacles]
    if len(set(names)) < len(names):
        raise UnknownSuite(f"{shown(name)} names a kind of obstacle twice. Write each kind once, with its number.")
    if not _has_room(obstacles):
        room = "the arena of 4 m by 4 m has room for"
        raise UnknownSuite(f"{shown(name)} has more obstacles than {room}. Use fewer.")
    return Suite(robot, obstacles, indicator=plain != name.strip())


def is_suite(name: str) -> bool:
    try:
        suite(name)
    except UnknownSuite:
        return False
    return True


def _read(name: str) -> tuple[str, list[tuple[int, str]]]:
    """Robot, and (number, kind) pairs, of a name in either spelling."""
    text = name.strip()
    if guard := re.fullmatch(r"Goal_([A-Za-z0-9]+)_(-?\d+)([A-Za-z0-9]+?)(_noconti)?", text):
        text = f"{guard[1]}-{guard[2]}-{guard[3]}"
    robot, _, rest = text.partition("-")
    pairs = [re.fullmatch(r"(-?\d+)-(\w+?)s?", part) for part in rest.split("+")]
    if robot not in ROBOTS or not all(pair and pair[2] in KINDS for pair in pairs):
        raise UnknownSuite(f"{shown(name)} is not a suite. {_did_you_mean(text[:100])}")
    wanted = [(_count(pair[1]), pair[2]) for pair in pairs if pair]
    for count, title in wanted:
        if count < 1:
            raise UnknownSuite(f"{shown(name)} has {count} obstacles of kind {title}. Use at least one.")
    return robot, wanted


def _count(digits: str) -> int:
    """A number of obstacles. Larger numbers are read as a million, which no arena has room for."""
    return min(int(digits[:20]), 10**6)


def _kind_for(robot: Robot, title: str, name: str) -> Kind:
    kind = IN_THE_AIR.get(title, KINDS[title]) if robot.spatial else KINDS[title]
    if kind.spatial == robot.spatial:
        return kind
    if robot.spatial:
        why = f"moves in the air and takes hazards and ghosts; {title.lower()}s are for robots on the ground."
    else:
        plain = name.replace(title, title.removeprefix("3D"))
        why = f"stays on the ground, where {title}s are out of reach. Try {plain!r}."
    raise UnknownSuite(f"{shown(name)}: {robot.name} {why}")


def _has_room(obstacles: tuple[Obstacles, ...]) -> bool:
    """Whether discs can be placed at random one after another, which jams when they cover 0.547 of the plane."""
    discs = [(1, ROBOT_KEEPOUT), (1, GOAL_KEEPOUT), *((o.count, o.kind.keepout) for o in obstacles)]
    return sum(count * math.pi * radius**2 for count, radius in discs) <= 0.547 * (2 * ARENA) ** 2


@functools.lru_cache(maxsize=256)
def _did_you_mean(text: str) -> str:
    numbers = re.findall(r"\d+", re.sub(r"(?i)arm3|3d", "", text)) or ["8"]
    counts = sorted({1, 4, 8, _count(numbers[0])} - {0})
    names = {_plain(name): name for name in all_suites(counts)}
    close = difflib.get_close_matches(_plain(text), names, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(names[match] for match in close)}?"
    return f"A name is robot-number-kind, with a robot of {', '.join(ROBOTS)} and a kind of {', '.join(KINDS)}."


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower()).removesuffix("s")


def all_suites(counts: "list[int] | range") -> list[str]:
    """Every robot with every kind it can meet, in the given numbers."""
    return [
        Suite(robot, (Obstacles(count, kind),)).name
        for robot in ROBOTS.values()
        for kind in KINDS.values()
        if kind.spatial == robot.spatial
        for count in counts
        if _has_room((Obstacles(count, kind),))
    ]
