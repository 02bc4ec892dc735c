"""The other end of examples/other_python.py: plays an environment with a cost for another process.

    python3.10 serve.py safety_gymnasium SafetyPointGoal1-v0

Each line of its input is a seed to reset with or an action to take, and each line of its output is the answer, all as
JSON, which keeps every bit of a float. It needs Python 3.8 or newer, and the package of the environment.
"""

import importlib
import json
import os
import signal
import sys


def serve(module: str, name: str) -> None:
    """Play the environment `module.make(name)`, whose steps return six values, with the cost third."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What packages print is no answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that asks.

    def answer(value: object) -> None:
        print(json.dumps(value), file=answers, flush=True)

    env = importlib.import_module(module).make(name)
    low, high = env.action_space.low.tolist(), env.action_space.high.tolist()
    shape, limit = env.observation_space.shape, env.spec.max_episode_steps
    answer({"observation": shape, "low": low, "high": high, "time_limit": limit})
    for line in sys.stdin:
        asked = json.loads(line)
        if "seed" in asked:
            observation, _ = env.reset(seed=asked["seed"])
            answer(observation.tolist())
        else:
            observation, reward, cost, terminated, truncated, _ = env.step(asked["action"])
            answer([observation.tolist(), float(reward), float(cost), bool(terminated), bool(truncated)])


if __name__ == "__main__":
    serve(*sys.argv[1:])
