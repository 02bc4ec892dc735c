"""The steps of the last epochs, in order, for critics that need more data than one epoch has.

Returns are computed anew over the whole window each time. So an episode that the end of an epoch has cut gets its true
returns once the next epoch has finished it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.gae import returns


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Window:
    """Steps of several rollouts, the oldest first. Until the window is full, its first rows are not `known`."""

    observation: Float[Array, "time env obs"]
    signal: Float[Array, "time env k"]
    next_value: Float[Array, "time env k"]
    """The critic's value after each step, for the steps where an episode ended or was cut."""
    done: Bool[Array, "time env"]
    known: Bool[Array, "time env"]

    def push(self, newest: "Window") -> "Window":
        """Add the newest steps and drop the oldest."""
        n = len(newest.observation)
        return jax.tree.map(lambda old, new: jnp.concatenate([old[n:], new]), self, newest)

    def cut(self) -> "Window":
        """The window after all running episodes were cut off, so that the next steps belong to other episodes."""
        return replace(self, done=self.done.at[-1].set(True))

    def targets(self, discounts: Sequence[float]) -> Float[Array, "time env k"]:
        """The returns of every signal, each with its own discount."""
        found = [
            returns(self.signal[..., k], self.next_value[..., k], self.done, discount)
            for k, discount in enumerate(discounts)
        ]
        return jnp.stack(found, axis=-1)

    def happened(self) -> Bool[Array, "time env"]:
        """Whether some signal was observed after each state."""
        total = jnp.sum(jnp.abs(self.signal), axis=-1)
        return returns(total, jnp.zeros_like(total), self.done, 1.0) > 0


def empty_window(steps: int, num_envs: int, observation_size: int, k: int) -> Window:
    return Window(
        observation=jnp.zeros((steps, num_envs, observation_size)),
        signal=jnp.zeros((steps, num_envs, k)),
        next_value=jnp.zeros((steps, num_envs, k)),
        done=jnp.ones((steps, num_envs), bool),
        known=jnp.zeros((steps, num_envs), bool),
    )
