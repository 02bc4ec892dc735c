"""All that a viewer shows of an episode: its story, and where everything is, or pictures of it."""

from dataclasses import dataclass

import numpy as np

from ascpo.evaluation.records import Record
from ascpo.evaluation.retrace import retrace
from ascpo.guard.task import Task
from ascpo.replay.film import NoPictures, film
from ascpo.replay.poses import Poses, poses_of
from ascpo.replay.story import Story


@dataclass(frozen=True)
class Tale:
    """One of `task` with `poses`, `pictures`, or a `remark` on why there is neither."""

    story: Story
    task: Task | None = None
    poses: Poses | None = None
    pictures: tuple[bytes, ...] = ()
    """After each step, as JPEG: a thousand of them are to fit into memory."""
    remark: str = ""

    def picture(self, step: int) -> np.ndarray:
        import imageio.v3

        return imageio.v3.imread(self.pictures[step], extension=".jpg")


def tell(record: Record) -> Tale:
    """Play a recorded episode again, and keep what a viewer needs."""
    trajectory = retrace(record)
    story = Story(record, trajectory.reward, trajectory.cost)
    if trajectory.path is not None:
        return Tale(story, trajectory.path.task, poses_of(trajectory.path))
    try:
        return Tale(story, pictures=_pictures(record))
    except NoPictures as missing:
        return Tale(story, remark=f"{record.env} is shown by its traces alone. {missing}")


def _pictures(record: Record) -> tuple[bytes, ...]:
    import imageio.v3

    kept: list[bytes] = []
    film(record, lambda drawn: kept.append(imageio.v3.imwrite("<bytes>", drawn, extension=".jpg")))
    return tuple(kept)
