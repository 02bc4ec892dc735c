"""The last steps of several epochs, in order, for a critic that needs more cases than one epoch has.

Returns are worked out anew over the whole window each time, so that an episode which an epoch's end has cut becomes
known once the next epoch has finished it.
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
    """Steps of several rollouts, oldest first. Before it is full, the first rows are not `known`."""

    observation: Float[Array, "time env obs"]
    signal: Float[Array, "time env k"]
    next_value: Float[Array, "time env k"]
    """What the critic expected to follow each step, where an episode ended or was cut."""
    done: Bool[Array, "time env"]
    known: Bool[Array, "time env"]

    def push(self, newest: "Window") -> "Window":
        """The window with the newest steps in place of the oldest."""
        n = len(newest.observation)
        return jax.tree.map(lambda old, new: jnp.concatenate([old[n:], new]), self, newest)

    def cut(self) -> "Window":
        """The window with all running episodes cut: the next rollout's steps belong to other episodes."""
        return replace(self, done=self.done.at[-1].set(True))

    def targets(self, discounts: Sequence[float]) -> Float[Array, "time env k"]:
        """The returns of every signal, each with its own discount."""
        found = [
            returns(self.signal[..., k], self.next_value[..., k], self.done, discount)
            for k, discount in enumerate(discounts)
        ]
        return jnp.stack(found, axis=-1)

    def happened(self) -> Bool[Array, "time env"]:
        """Whether some signal did come after each state, whatever a critic expected."""
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
