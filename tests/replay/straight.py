"""Short episodes for replays: a robot that drives straight on, and a user's own environments."""

import functools

import jax
import numpy as np

from ascpo.engines.actor import ScriptedActor
from ascpo.evaluation.records import Record
from ascpo.runs.environment import open_engine
from tests.own import Cart

HAZARD = ("Point-8-Hazard", 255)
"""This robot crosses a hazard on its way to the goal if it drives straight on."""
GHOST = ("Point-4-Ghost", 142)
OWN = "tests.replay.straight:Drawn"


class Drawn(Cart):
    """A cart whose frames are grey, and lighter in later steps."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def render(self):
        return np.full((30, 40, 3), 10 * self.t, np.uint8)


class Broken(Drawn):
    def render(self):
        raise RuntimeError("no screen")


@functools.cache
def straight(env: str, seed: int) -> Record:
    """Full thrust ahead, to the end of the episode."""
    engine = open_engine(env, 1)
    engine.start_at(ScriptedActor(), [(seed, 0)])
    ahead = np.eye(1, engine.action_size, dtype=np.float32)[0]
    (rollout,) = engine.collect([np.zeros((1, 0))], [np.tile(ahead, (1, 150, 1, 1))])
    rollout = jax.tree.map(lambda x: np.asarray(x)[0], rollout)
    engine.close()
    length = int(np.asarray(rollout.done[:, 0]).argmax()) + 1
    cost = np.asarray(rollout.cost[:length, 0], float)
    return Record(
        env=env,
        cost_names=engine.cost_names,
        limits=(0.0,) * cost.shape[1],
        seed=seed,
        episode=0,
        actions=np.tile(ahead, (length, 1)),
        reward=float(np.asarray(rollout.reward[:length, 0], float).sum()),
        maximum=tuple(cost.max(axis=0).tolist()),
        first_violation=tuple(int(over.argmax()) if over.any() else -1 for over in (cost > 0).T),
    )
