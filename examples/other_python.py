"""Environments of a package that needs another Python: each runs in a process of that Python, behind a pipe.

    python3.10 -m venv safety && safety/bin/pip install safety-gymnasium
    export SAFETY_PYTHON=safety/bin/python
    ascpo check examples.other_python:point_goal
    ascpo train --env examples.other_python:point_goal --num-envs 10 --horizon 1000 --total-steps 300e3

The other process runs examples/serve.py, which needs nothing of this package.
"""

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

SERVE = Path(__file__).with_name("serve.py")


class OtherPython(gymnasium.Env[np.ndarray, np.ndarray]):
    """An environment in a process of another Python."""

    def __init__(self, python: str, module: str, name: str) -> None:
        """Start the interpreter `python` and let it call `module.make(name)`."""
        self.name = f"{module}:{name}"
        command = [python, str(SERVE), module, name]
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except OSError as error:
            raise ValueError(
                f"{python} does not start: {error.strerror}. Name the Python that has {module}."
            ) from error
        about = self._answer()
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, about["observation"], np.float64)
        low, high = np.array(about["low"], np.float32), np.array(about["high"], np.float32)
        self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.time_limit: int = about["time_limit"]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31)) if seed is None else seed
        return np.array(self._ask({"seed": drawn})), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, reward, cost, terminated, truncated = self._ask({"action": action.tolist()})
        return np.array(observation), reward, terminated, truncated, {"cost": cost}

    def close(self) -> None:
        """End the process: it stops when nobody can ask it any more."""
        self.process.communicate()

    def _ask(self, question: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # Its end is noticed where its answer is missing.
            print(json.dumps(question), file=self.process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        if line := self.process.stdout.readline():
            return json.loads(line)
        raise RuntimeError(
            f"The process of {self.name} has ended with status {self.process.wait()}. See above for why."
        )


def point_goal() -> gymnasium.Env[np.ndarray, np.ndarray]:
    """A point of Safety-Gymnasium that drives to goals among hazards. `SAFETY_PYTHON` names the interpreter."""
    python = os.environ.get("SAFETY_PYTHON", "safety/bin/python")
    env = OtherPython(python, "safety_gymnasium", "SafetyPointGoal1-v0")
    return gymnasium.wrappers.TimeLimit(env, env.time_limit)
