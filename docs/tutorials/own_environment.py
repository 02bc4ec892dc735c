# %% [markdown]
# # Your own environment
#
# You write a Gymnasium environment with a cost, check it, and train on it with and without a constraint. The notebook
# takes a minute or two on two cores.
#
# ## The environment
#
# A tank is heated, and a policy sets the power. Hot is good: the reward grows with the temperature. But above 80 degrees
# the tank is in danger. That is the **cost** of a state: by how many degrees, in tens, it is too hot. The heater acts with
# a delay, so an eager policy overshoots.

# %%
import gymnasium
import matplotlib.pyplot as plt
import numpy as np

import ascpo

LIMIT, OUTSIDE = 80.0, 20.0


class Tank(gymnasium.Env):
    """A tank of water that is heated. Episodes begin at some temperature between 20 and 60 degrees."""

    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (2,), np.float32)
    action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # All that is random comes from self.np_random.
        self.temperature, self.power = self.np_random.uniform(20.0, 60.0), 0.0
        return self._observation(), {}

    def step(self, action):
        self.power += 0.2 * (float(action[0]) - self.power)
        noise = self.np_random.normal(0.0, 0.3)
        self.temperature += 8.0 * self.power - 0.05 * (self.temperature - OUTSIDE) + noise
        cost = max(0.0, self.temperature - LIMIT) / 10.0
        return self._observation(), self.temperature / 100.0, False, False, {"cost": cost}

    def _observation(self):
        return np.array([(self.temperature - 60.0) / 40.0, self.power], np.float32)


def make():
    return gymnasium.wrappers.TimeLimit(Tank(), max_episode_steps=100)


# %% [markdown]
# On the command line, `ascpo check tank:make` tests whether an environment in `tank.py` can be trained on. What it looks
# at first is what Gymnasium's own checker looks at:

# %%
from gymnasium.utils.env_checker import check_env

check_env(make().unwrapped, skip_render_check=True)
env = make()
env.reset(seed=0)
env.step(np.array([1.0], np.float32))

# %% [markdown]
# ## Training, with and without a constraint
#
# TRPO knows no costs. ASCPO is to keep every state below the limit in 95 % of the episodes. Both make the same number of
# steps. A function is enough as an environment: `make` is called once for each of the 16 copies.

# %%
common = {"num_envs": 16, "horizon": 250, "total_steps": 8e4, "progress": False}
trpo = ascpo.train(make, algo="trpo", name="tank-trpo", **common)
careful = ascpo.train(make, algo="ascpo", probability=0.95, name="tank-ascpo", **common)

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for name, result in (("trpo", trpo), ("ascpo", careful)):
    for axis, column in zip(axes, ("EpRet", "SafeRate"), strict=True):
        axis.plot(result.metrics["TotalEnvInteracts"] / 1000, result.metrics[column], label=name)
        axis.set(title=column, xlabel="thousand steps")
axes[0].legend();

# %% [markdown]
# ## What they do
#
# Both policies in the same twenty episodes:

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for axis, (name, result) in zip(axes, (("trpo", trpo), ("ascpo", careful)), strict=True):
    kept = 0
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        result.policy.start()
        temperatures = [env.unwrapped.temperature]
        for _ in range(100):
            observation, _, _, _, info = env.step(result.policy.act(observation, info))
            temperatures.append(env.unwrapped.temperature)
        axis.plot(temperatures, color="tab:blue", linewidth=0.5)
        kept += max(temperatures) <= LIMIT
    axis.axhline(LIMIT, color="tab:red")
    axis.set(title=f"{name}: {kept} of 20 episodes kept the limit", xlabel="step", ylabel="degrees")

# %% [markdown]
# Twenty episodes show what a policy does. They do not show that it is safe: for that, see
# [is it safe enough?](safe-enough.ipynb) [Your own environment](../your-own-environment.md) has all the rest: several
# constraints, margins, processes of their own, and what is refused.
