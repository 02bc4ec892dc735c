"""The memory of an accelerator: estimate what a training needs, and refuse it if that is too much."""

from collections.abc import Sequence

import jax

from ascpo.runs.serialization import BadSetting
from ascpo.training.agent import Agent

_COPIES = 8
"""Copies of a rollout: the engine's, the agent's, and XLA's temporaries."""


def check_memory(agents: Sequence[Agent], devices: int = 1) -> None:
    """Raise an error for runs that do not fit on this number of devices (0: all). `host_memory` checks the host."""
    room = _available()
    needed = sum(bytes_of(agent) for agent in agents) / (devices or jax.device_count())
    if room is None or needed <= room:
        return
    settings = agents[0].settings
    fits = int(len(agents) * room / needed)
    if len(agents) > 1 and fits:
        way = f"Train at most {fits} runs at the same time"
    else:
        way = f"Use --num-envs {max(1, int(settings.num_envs * room / needed))}, or a shorter --horizon"
    raise BadSetting(
        f"{len(agents)} runs of {settings.num_envs} × {settings.horizon} steps need about {needed / 2**30:.1f} GB on "
        f"each accelerator, which has {room / 2**30:.1f} GB. {way}, or a smaller --cost-fit.window."
    )


def bytes_of(agent: Agent) -> int:
    """The memory of one run: a rollout, and the window that its cost critics learn from, in single precision."""
    settings, sizes = agent.settings, agent.sizes
    steps = settings.horizon * sizes.num_envs
    step = 2 * agent.observation_size + 2 * sizes.action + sizes.m + 4
    window = 0
    if critics := agent.algorithm.cost_critics:
        window = settings.cost_fit.window * (agent.observation_size + 2 * critics.per_constraint * sizes.m + 2)
    # Measured: some 600 MB for a run with 30 000 steps per epoch. The window exists twice during an update.
    return 4 * steps * (_COPIES * step + 4 * window)


def _available() -> int | None:
    """Bytes of an accelerator that JAX may use."""
    stats = jax.local_devices()[0].memory_stats() if jax.default_backend() != "cpu" else None
    return int(stats["bytes_limit"]) if stats and "bytes_limit" in stats else None
