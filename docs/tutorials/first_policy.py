# %% [markdown]
# # Your first policy
#
# You train a robot that drives to a goal and must not enter a hazard on its way. You look at what it learned, and let it
# drive. The notebook takes a minute or two on two cores.
#
# ## The environment
#
# `Point` is a robot that turns and drives. A suite's name says what stands in its way: `Point-1-Hazard` has one hazard.
# The cost of a state is the depth inside the hazard, and the limit is 0: every state shall be outside.

# %%
import gymnasium
import matplotlib.pyplot as plt

import ascpo

env = gymnasium.make("ascpo/Point-1-Hazard-v0", render_mode="rgb_array")
observation, info = env.reset(seed=3)
print(observation.shape, env.action_space, sorted(info))
plt.imshow(env.render())
plt.axis("off");

# %% [markdown]
# ## Training
#
# 300 000 steps are ten epochs: enough to find the goal most of the time, but not enough for a careful policy. The
# [quick start](../quick-start.md) trains six times as long.

# %%
result = ascpo.train("Point-1-Hazard", algo="ascpo", seed=0, total_steps=3e5, probability=0.98, progress=False)
result.directory

# %% [markdown]
# The directory holds everything about the run. `metrics` has the columns of its [log](../log.md). `SafeRate` is the share
# of episodes in which no state was inside the hazard.

# %%
metrics = result.metrics
figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for axis, column in zip(axes, ("EpRet", "EpLen", "SafeRate"), strict=True):
    axis.plot(metrics["TotalEnvInteracts"] / 1000, metrics[column], marker="o")
    axis.set(title=column, xlabel="thousand steps")

# %% [markdown]
# ## The policy drives
#
# `policy.act` needs the `info` of the last step, because ASCPO's policy also sees the largest cost of the episode so far.
# `policy.start` says that an episode begins.

# %%
policy = result.policy


def episode(seed):
    """One episode: its steps, its return, its largest cost, and whether it reached the goal."""
    observation, info = env.reset(seed=seed)
    policy.start()
    steps, total, largest, done = 0, 0.0, 0.0, False
    while not done:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        steps, total, largest = steps + 1, total + reward, max(largest, info["cost"])
        done = terminated or truncated
    return steps, total, largest, info["goal_met"]


for seed in range(5):
    steps, total, largest, goal_met = episode(seed)
    print(f"seed {seed}: {steps:4d} steps, return {total:5.2f}, largest cost {largest:.3f}, goal met: {goal_met}")

# %% [markdown]
# ## The policy later
#
# A policy is one file. `ascpo.load` reads it, from the run's directory or from the file itself, and executes nothing that
# the file contains.

# %%
again = ascpo.load(result.directory)
observation, info = env.reset(seed=0)
again.start()
policy.start()
print(again.act(observation, info), policy.act(observation, info))

# %% [markdown]
# Next: [your own environment](own-environment.ipynb), or [is it safe enough?](safe-enough.ipynb)
