"""Render the pictures in `docs/pictures`: each robot among its obstacles, and all of them in one image.

python -m benchmarks.pictures
"""

from pathlib import Path

import numpy as np
from PIL import Image

import ascpo

SUITES = (
    "Point-8-Hazard",
    "Swimmer-4-Hazard",
    "Ant-8-Hazard",
    "Walker-8-Hazard",
    "Humanoid-8-Hazard",
    "Arm3-8-Hazard",
    "Drone-8-3DHazard",
    "Point-4-Pillar",
    "Point-8-Ghost",
    "Point-4-Hazard+2-Pillar",
)
FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
SIZE = 320
COLUMNS = 5


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    pictures = [picture_of(name) for name in SUITES]
    for name, picture in zip(SUITES, pictures, strict=True):
        Image.fromarray(picture).quantize(64).save(FOLDER / f"{name}.png", optimize=True)
    rows = [np.concatenate(pictures[i : i + COLUMNS], axis=1) for i in range(0, len(pictures), COLUMNS)]
    Image.fromarray(np.concatenate(rows)).quantize(128).save(FOLDER / "all.png", optimize=True)
    Image.fromarray(violation()).quantize(64).save(FOLDER / "violation.png", optimize=True)
    print(f"{len(SUITES) + 2} pictures in {FOLDER}")


def picture_of(name: str) -> np.ndarray:
    """The scene of a seed after a second or two of random actions."""
    env = ascpo.make(name, render_mode="rgb_array", width=SIZE, height=SIZE)
    env.reset(seed=1)
    env.action_space.seed(0)
    for _ in range(10):
        env.step(env.action_space.sample())
    picture = env.render()
    env.close()
    assert isinstance(picture, np.ndarray)
    return picture


def violation() -> np.ndarray:
    """The same robot inside a hazard."""
    env = ascpo.make("Point-1-Hazard", render_mode="rgb_array", width=SIZE, height=SIZE)
    env.reset(seed=0, options={"robot": [0.0, 0.0, 0.5], "goal": [1.2, 0.8], "obstacles": [[0.1, 0.1]]})
    env.step(np.zeros(2, np.float32))
    picture = env.render()
    env.close()
    assert isinstance(picture, np.ndarray)
    return picture


if __name__ == "__main__":
    main()
