"""The memory of the host: a lower bound of what a training needs, which is refused if the machine has less.

The bound counts one copy of the arrays that exist at the same time, and is compared with the total memory of the
machine. So only runs are refused that could not have succeeded.
"""

import os
from collections.abc import Sequence

import jax

from ascpo.environments.registration import MAX_EPISODE_STEPS
from ascpo.environments.spaces import make_task
from ascpo.networks.settings import FitSettings
from ascpo.runs.config import Config
from ascpo.runs.environment import Environment, is_suite, name_of
from ascpo.runs.serialization import BadSetting
from ascpo.training.state import Sizes

_NUMBER = 4
"""Bytes of a number in single precision."""


def check_host_memory(configs: Sequence[Config], env: Environment) -> None:
    """Raise an error for runs that do not fit into the memory of the machine.

    An accelerator keeps the rollouts and has its own check, once its engine is open. Networks are drawn on the host.
    """
    room, sizes = _total(), _sizes(configs[0], env)
    least = least_bytes if jax.default_backend() == "cpu" else network_bytes
    needed = sum(least(config, sizes) for config in configs)
    if room is None or needed <= room:
        return
    settings = configs[0].settings
    runs = "1 run" if len(configs) == 1 else f"{len(configs)} runs"
    raise BadSetting(
        f"{runs} with num_envs={settings.num_envs}, horizon={settings.horizon} and hidden layers of "
        f"{settings.hidden[0]} need at least {_gigabytes(needed)} of memory, and this machine has {_gigabytes(room)}. "
        f"Use smaller ones, a smaller cost_fit.window or batch_size, or fewer runs at the same time."
    )


def least_bytes(config: Config, sizes: Sizes) -> int:
    """A lower bound of the memory of a run: its rollout, window, networks and minibatch indices."""
    settings, critics = config.settings, config.algorithm().cost_critics
    steps = settings.num_envs * settings.horizon
    rollout = steps * (2 * sizes.observation + sizes.action + sizes.m + 1)
    signals = critics.per_constraint * sizes.m if critics else 0
    window = settings.cost_fit.window * steps * (sizes.observation + 2 * signals) if critics else 0
    draws = max(_draws(settings.value_fit), _draws(settings.cost_fit) if critics else 0)
    return _NUMBER * (rollout + window + draws) + network_bytes(config, sizes)


def network_bytes(config: Config, sizes: Sizes) -> int:
    """The policy, and each critic with the two moments of Adam, without their biases and outputs."""
    layers, width = len(config.settings.hidden), config.settings.hidden[0]
    critics = 2 if config.algorithm().cost_critics else 1
    return _NUMBER * (1 + 3 * critics) * (sizes.observation * width + (layers - 1) * width**2)


def _draws(fit: FitSettings) -> int:
    """The states of all minibatches are drawn at once."""
    return fit.iterations * fit.batch_size


def _sizes(config: Config, env: Environment) -> Sizes:
    """The sizes of a suite. For users' environments, which are not opened for this, the smallest possible ones."""
    if not is_suite(env):
        return Sizes(config.settings.num_envs, 1, 1, 1)
    task = make_task(name_of(env), "paper", "closest", MAX_EPISODE_STEPS)
    suite = task.suite
    return Sizes(config.settings.num_envs, task.observer.size, suite.robot.actions, len(suite.cost_names))


def _total() -> int | None:
    """Bytes of the machine's memory. None if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GB"
