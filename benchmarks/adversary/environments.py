"""A cart on a line that misbehaves when it is told to, by the variable ADVERSARY=KIND:STEP."""

import os
import shutil
import signal

import gymnasium
import numpy as np

FAULTS = (
    "exception",
    "exit status 0",
    "broken pipe",
    "end of file",
    "NaN reward",
    "NaN cost",
    "NaN observation",
    "other shape",
    "no cost",
    "directory deleted",
)
WORKER_FAULTS = ("worker exits", "worker killed")
"""Only for environments in processes of their own."""


class Cart(gymnasium.Env):
    """Push a point along a line; the way made is the reward, the cost how far beyond 1 it is. Twenty steps."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
        self.lives = 0
        kind, _, step = os.environ.get("ADVERSARY", "").partition(":")
        self.fault, self.at = kind, int(step or 0)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.x, self.t = float(self.np_random.uniform(-0.1, 0.1)), 0
        return self._seen(), {}

    def step(self, action: np.ndarray) -> tuple:
        self.t += 1
        self.lives += 1
        moved = 0.1 * float(action[0]) + 0.01 * self.np_random.normal()
        self.x += moved
        out = [self._seen(), moved, False, self.t >= 20, {"cost": max(0.0, self.x - 1.0)}]
        return tuple(self._misbehave(out) if self.lives == self.at else out)

    def _seen(self) -> np.ndarray:
        return np.array([self.x, self.t / 20], np.float32)

    def _misbehave(self, out: list) -> list:
        match self.fault:
            case "exception":
                raise RuntimeError("the link to the robot is gone")
            case "exit status 0":
                raise SystemExit(0)
            case "broken pipe":
                raise BrokenPipeError("the robot has hung up")
            case "end of file":
                raise EOFError
            case "NaN reward":
                out[1] = float("nan")
            case "NaN cost":
                out[4] = {"cost": float("nan")}
            case "NaN observation":
                out[0] = np.array([np.nan, 0.0], np.float32)
            case "other shape":
                out[0] = np.zeros(3, np.float32)
            case "no cost":
                out[4] = {}
            case "directory deleted":
                shutil.rmtree(os.environ["ADVERSARY_DIRECTORY"])
            case "worker exits":
                os._exit(0)
            case "worker killed":
                os.kill(os.getpid(), signal.SIGKILL)
        return out


def make() -> Cart:
    return Cart()
