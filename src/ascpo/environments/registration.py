"""Registration of the suites with Gymnasium, and `make` by a suite's name."""

from typing import TYPE_CHECKING, Any

import gymnasium

from ascpo.guard.suites import PAPER_SUITES, all_suites, suite

if TYPE_CHECKING:
    from ascpo.environments.vector import GuardVectorEnv

MAX_EPISODE_STEPS = 1000


def register() -> None:
    """Register `ascpo/<suite>-v0` for every robot and kind with up to eight obstacles.

    Gymnasium's names have no "+", so any other suite is `ascpo/Guard-v0` with the argument `suite`.
    """
    ids = {"Guard": {}} | {name: {"suite": name} for name in (*PAPER_SUITES, *all_suites(range(1, 9)))}
    for name, kwargs in ids.items():
        if f"ascpo/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"ascpo/{name}-v0",
                entry_point="ascpo.environments.single:GuardEnv",
                vector_entry_point="ascpo.environments.vector:GuardVectorEnv",
                max_episode_steps=MAX_EPISODE_STEPS,
                kwargs=kwargs,
            )


def make(name: str, **options: Any) -> gymnasium.Env:
    """One environment of any suite: `make("Point-4-Hazard+2-Pillar")`. docs/environments.md lists the options."""
    return gymnasium.make("ascpo/Guard-v0", suite=suite(name).name, **options)


def make_vec(name: str, num_envs: int, **options: Any) -> "GuardVectorEnv":
    """Many environments of any suite, stepped together. docs/environments.md lists the options."""
    from ascpo.environments.vector import GuardVectorEnv

    return GuardVectorEnv(num_envs, suite(name).name, **options)
