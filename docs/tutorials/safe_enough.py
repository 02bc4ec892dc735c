# %% [markdown]
# # Is it safe enough?
#
# You train a policy for a short while and ask how safe it is: first with figures from fresh episodes, then with a
# certificate. The commands are the ones that you would type on a terminal. The notebook takes a minute or two on two cores.

# %%
import json
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import ascpo

result = ascpo.train("Point-1-Hazard", seed=1, total_steps=3e5, probability=0.98, progress=False)
run = result.directory


def terminal(command):
    """Run a command, and show what it prints."""
    done = subprocess.run(command.split(), capture_output=True, text=True)
    print(done.stdout + done.stderr + f"exit status {done.returncode}")


terminal("ascpo list runs")

# %% [markdown]
# ## Fresh episodes
#
# The log of the training speaks of policies that still changed. `ascpo evaluate` plays episodes that the training has not
# seen, with the run's final policy.

# %%
terminal("ascpo evaluate runs/Point-1-Hazard-ascpo-seed1 --episodes 500")

# %% [markdown]
# Every episode has a row in a table. Most have no cost at all, so look at the largest costs of the others:

# %%
episodes = np.genfromtxt(run / "episodes-sampled.csv", delimiter=",", names=True)
print(episodes.dtype.names)
largest = episodes["EpMaxCost"]
print(f"{np.mean(largest > 0):.1%} of {len(largest)} episodes were inside the hazard at some time.")
plt.hist(largest[largest > 0], bins=20)
plt.xlabel("largest cost of an episode, in metres inside the hazard");

# %% [markdown]
# ## A statement that can be defended
#
# A share of safe episodes is an estimate. If you look at several policies, or several times, some estimate comes out well
# by chance. `ascpo certify` fixes the number of episodes before the first one is played, and bounds the probability from
# below. It fails with status 1 if the bound is too low: this policy was trained for half a minute only, so ask for less
# first.

# %%
terminal("ascpo certify runs/Point-1-Hazard-ascpo-seed1 --probability 0.5 --confidence 0.95 --episodes 500")

# %% [markdown]
# The certificate is a file. Anybody who has the run can play the same episodes again and compare all figures:

# %%
certificate = json.loads(Path(run, "certificate.json").read_text())
print(sorted(certificate))

# %%
terminal("ascpo certify --check runs/Point-1-Hazard-ascpo-seed1")

# %% [markdown]
# ## Is it enough?
#
# Now ask for what the policy was trained for. Looking again is allowed: looks at a run are counted, and all statements
# about it hold together.

# %%
terminal("ascpo certify runs/Point-1-Hazard-ascpo-seed1 --probability 0.98 --confidence 0.95 --episodes 500")

# %% [markdown]
# ## How many episodes?
#
# A single test shows 0.98 at a confidence of 0.95 with 149 episodes without a violation. With more episodes, some
# violations are allowed. The looks at a run [share the error](../certificate.md#look-as-often-as-you-like), so each needs
# a little more than the single test of this table: the first look needs 173 episodes.

# %%
from ascpo.evaluation.bound import allowed_violations, episodes_needed

print(episodes_needed(0.98, 0.95))
for count in (200, 500, 1000, 3000, 10_000):
    print(f"{count:6d} episodes: at most {allowed_violations(count, 0.98, 0.95)} violations")

# %% [markdown]
# What next, if it is not enough? Train longer, or with a target above what you want to show: `--probability 0.99` to show
# 0.98. [Recipes](../recipes.md) has more, [certificates](../certificate.md) says what the statement means and what not,
# and `ascpo replay` plays the worst episodes.
