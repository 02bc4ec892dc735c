"""Memory, planned before it is taken: what a training needs on an accelerator, and a sentence if that is too much."""

from collections.abc import Sequence

import jax

from ascpo.runs.serialization import BadSetting
from ascpo.training.learner import Learner

_COPIES = 8
"""Of what a rollout holds: as the engine collects it, as the learner reads it, and what XLA needs on the way."""


def check_room(learners: Sequence[Learner], devices: int = 1) -> None:
    """Refuse what will not fit on so many devices, 0 for all. A host has no limit that could be known."""
    room = _room()
    needed = sum(bytes_of(learner) for learner in learners) / (devices or jax.device_count())
    if room is None or needed <= room:
        return
    settings = learners[0].settings
    fits = int(len(learners) * room / needed)
    if len(learners) > 1 and fits:
        way = f"Train at most {fits} runs together"
    else:
        way = f"Use --num-envs {max(1, int(settings.num_envs * room / needed))}, or a shorter --horizon"
    raise BadSetting(
        f"{len(learners)} runs of {settings.num_envs} × {settings.horizon} steps need about {needed / 2**30:.1f} GB on "
        f"each accelerator, which has {room / 2**30:.1f} GB. {way}, or a smaller --cost-fit.window."
    )


def bytes_of(learner: Learner) -> int:
    """What one training needs: a rollout, and the window that its cost critics learn from, in single precision."""
    settings, sizes = learner.settings, learner.sizes
    steps = settings.horizon * sizes.num_envs
    step = 2 * learner.view_size + 2 * sizes.action + sizes.m + 4
    window = 0
    if critics := learner.algorithm.cost_critics:
        window = settings.cost_fit.window * (learner.view_size + 2 * critics.per_constraint * sizes.m + 2)
    # Measured: some 600 MB for a run of 30 000 steps an epoch. The window is there before and after it is pushed on.
    return 4 * steps * (_COPIES * step + 4 * window)


def _room() -> int | None:
    """Bytes of an accelerator that JAX may take."""
    stats = jax.local_devices()[0].memory_stats() if jax.default_backend() != "cpu" else None
    return int(stats["bytes_limit"]) if stats and "bytes_limit" in stats else None
