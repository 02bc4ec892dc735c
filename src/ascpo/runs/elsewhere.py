"""Names of settings in other libraries, and their names here. This module imports nothing slow."""

import re

_PPO = "for pascpo and ppo-lagrangian"
_ADAM = (
    "--value-fit.learning-rate and --cost-fit.learning-rate (the critics) or --trust-region.delta (the policy; "
    f"--ppo.descent.learning-rate {_PPO})"
)
ELSEWHERE = {
    "gamma": "--discount",
    "lam": "--gae-lambda",
    "lr": _ADAM,
    "learning-rate": _ADAM,
    "timesteps": "--total-steps",
    "total-timesteps": "--total-steps",
    "steps": "--total-steps",
    "n-steps": "--horizon",
    "steps-per-epoch": "--horizon, the steps of each of --num-envs environments in an epoch",
    "epochs": "--total-steps: an epoch has --num-envs times --horizon steps",
    "cost-limit": "--limits",
    "limit": "--limits",
    "target-kl": "--trust-region.delta",
    "n-envs": "--num-envs",
    "vector-env-nums": "--num-envs",
    "parallel": "--num-envs",
    "batch-size": "--value-fit.batch-size and --cost-fit.batch-size",
    "wandb-project-name": "the variable WANDB_PROJECT, beside --wandb",
    "wandb-entity": "the variable WANDB_ENTITY, beside --wandb",
    "env-id": "--env",
    "algorithm": "--algo",
    "agent": "--algo",
    "exp-name": "--name",
    "log-dir": "--out",
    "logdir": "--out",
    "output": "--out",
    "hidden-sizes": "--hidden",
    "net-arch": "--hidden",
    "clip": f"--ppo.clip, {_PPO}",
    "clip-range": f"--ppo.clip, {_PPO}",
    "clip-ratio": f"--ppo.clip, {_PPO}",
    "n-epochs": f"--ppo.descent.iterations, {_PPO}",
    "update-iters": f"--ppo.descent.iterations, {_PPO}",
    "lam-c": "--cost-gae-lambda",
    "normalize-observations": "--normalise-observations",
    "obs-normalize": "--normalise-observations",
    "save-freq": "--checkpoint-every, in seconds",
    "tensorboard-log": "--tensorboard",
    "device": "--engine, and --devices for an accelerator",
}
"""Flags of other libraries, and their names here."""


def setting_elsewhere(name: str) -> str:
    """What a setting of another library is called here, as a keyword of `ascpo.train`. Empty if it is not known."""
    found = ELSEWHERE.get(name.replace("_", "-"), "")
    return re.sub(r"--([a-z][\w.-]*)", lambda flag: flag[1].replace("-", "_"), found)
