"""The kinds of obstacles in the names of suites."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Kind:
    """One kind of obstacle. Lengths are in metres, and do not depend on the number of obstacles."""

    title: str
    """Its name in suites."""
    name: str
    """Its name in observations and costs."""
    shape: Literal["disc", "ball", "post"]
    """A disc on the floor and a ball in the air are regions to stay out of; a post is solid."""
    radius: float
    keepout: float
    """Objects are placed at least the sum of their keepouts apart, seen from above."""
    moves: bool = False

    @property
    def spatial(self) -> bool:
        return self.shape == "ball"


HAZARD = Kind("Hazard", "hazard", "disc", radius=0.3, keepout=0.4)
HAZARD3D = Kind("3DHazard", "hazard3d", "ball", radius=0.3, keepout=0.4)
PILLAR = Kind("Pillar", "pillar", "post", radius=0.2, keepout=0.3)
GHOST = Kind("Ghost", "ghost", "disc", radius=0.3, keepout=0.5, moves=True)
GHOST3D = Kind("3DGhost", "ghost3d", "ball", radius=0.3, keepout=0.5, moves=True)

KINDS: dict[str, Kind] = {kind.title: kind for kind in (HAZARD, HAZARD3D, PILLAR, GHOST, GHOST3D)}
IN_THE_AIR: dict[str, Kind] = {"Hazard": HAZARD3D, "Ghost": GHOST3D}
"""What a plain name means for a robot whose world is three-dimensional."""

PILLAR_HEIGHT = 1.0
DISC_HEIGHT = 0.02
"""Where discs are drawn; no distance depends on it."""
