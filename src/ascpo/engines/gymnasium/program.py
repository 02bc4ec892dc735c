"""The compiled functions with which a policy acts in all environments of the Gymnasium engine."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
from jaxtyping import Array, Float

from ascpo.engines.actor import Acted, Actor, Costs, Done, Noise, Remembered, Theta, act, remember


class PolicyProgram(NamedTuple):
    """The two compiled functions of a policy."""

    act: Callable[..., Acted]
    """(parameters, raw observations, augmentations, noise) → the policy's part of the first step of a rollout."""
    respond: Callable[..., tuple[Float[Array, "env _"], Float[Array, "env _"], Acted]]
    """After a step: (parameters, raw observations, augmentations, costs, margins, done, noise) → (augmentations after
    the step, augmentations after resets, the policy's part of the next step)."""


@functools.lru_cache(maxsize=8)
def policy_program(actor: Actor) -> PolicyProgram:
    def respond(
        theta: Theta,
        raw: Float[Array, " raw"],
        augmentation: Remembered,
        costs: Costs,
        margins: Costs | None,
        done: Done,
        noise: Noise,
    ) -> tuple[Remembered, Remembered, Acted]:
        after, augmentation = remember(actor, augmentation, costs, margins, done)
        return after, augmentation, act(actor, theta, raw, augmentation, noise)

    return PolicyProgram(
        act=jax.jit(jax.vmap(functools.partial(act, actor), in_axes=(None, 0, 0, 0))),
        respond=jax.jit(jax.vmap(respond, in_axes=(None, 0, 0, 0, 0, 0, 0))),
    )
