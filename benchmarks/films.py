"""The films in `docs/pictures`: a policy of the zoo for each robot, doing its task.

python -m benchmarks.films
python -m benchmarks.films Humanoid-8-Hazard      # only this one

Each film is the policy's first episode, from seed 1 on, that keeps its limits, reaches the goal, and is not too short.
Long episodes are shown faster.
"""

import argparse
from itertools import count
from pathlib import Path

import numpy as np
from PIL import Image

import ascpo
from ascpo.runs.trained_policy import TrainedPolicy
from ascpo.runs.zoo import zoo_policies

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
SIZE = 240
FEWEST, MOST = 40, 400
"""Steps of an episode that is shown."""
FRAMES = 120
FRAME_MILLISECONDS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*")
    wanted = parser.parse_args().suites
    names = {policy.suite: policy.name for policy in zoo_policies() if policy.algo == "ascpo"}
    hardest: dict[str, str] = {}
    for suite in sorted(names):
        robot, _, obstacles = suite.partition("-")
        # Of Point there is one film for each kind of obstacle.
        hardest[robot if robot != "Point" else f"{robot} {obstacles.partition('-')[2]}"] = suite
    if unknown := set(wanted) - set(hardest.values()):
        parser.error(f"no film is made of {', '.join(sorted(unknown))}, but of {', '.join(hardest.values())}")
    for suite in wanted or hardest.values():
        frames = film_of(suite, f"zoo:{names[suite]}")
        file = FOLDER / f"{suite}.webp"
        first, *others = frames
        first.save(file, save_all=True, append_images=others, duration=FRAME_MILLISECONDS, loop=0, quality=30, method=6)
        print(f"{file.name}: {len(frames)} frames, {file.stat().st_size / 1e3:.0f} kB", flush=True)


def film_of(suite: str, policy_name: str) -> list[Image.Image]:
    policy = ascpo.load(policy_name)
    for seed in count(1):
        steps = episode(suite, policy, seed, render=False)
        if steps is not None and FEWEST <= len(steps) <= MOST:
            shown = episode(suite, policy, seed, render=True)
            assert shown is not None
            every = -(-len(shown) // FRAMES)
            return [Image.fromarray(frame) for frame in shown[::every]]
    raise AssertionError


def episode(suite: str, policy: TrainedPolicy, seed: int, *, render: bool) -> list[np.ndarray] | None:
    """The frames of an episode, or nothing if it violates a limit or does not reach the goal."""
    env = ascpo.make(suite, render_mode="rgb_array" if render else None, width=SIZE, height=SIZE)
    try:
        observation, info = env.reset(seed=seed)
        policy.start()
        rng = np.random.default_rng(seed)
        frames: list[np.ndarray] = []
        while True:
            frames.append(np.asarray(env.render()) if render else np.zeros(0))
            observation, _, terminated, truncated, info = env.step(policy.act(observation, info, rng=rng))
            if info["cost"] > 0.0 or truncated:
                return None
            if terminated:
                return frames
    finally:
        env.close()


if __name__ == "__main__":
    main()
