"""Scene replay: some episodes of a training replay a scene instead of playing a fresh one.

A scene of a training is identified by its environment and by its number among that environment's fresh episodes. The
learner offers a pool of scenes before each rollout. The seed of the environment and the number of the episode decide
whether an episode plays one of them, and which. So the choice does not depend on other runs. An episode that chooses an
empty slot of the pool plays a fresh scene.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, UInt32

from ascpo.engines.native.host import on_host
from ascpo.engines.settings import ReplaySettings
from ascpo.guard.draws import hashed, keys_of
from ascpo.guard.layout import AnyArray
from ascpo.seeding import replay_seeds, words

FRESH = -1
"""The slot of a fresh scene. Empty slots of a pool hold it, too."""
ScenePool: TypeAlias = Integer[AnyArray, "_run _slot 2"]
"""The scenes that each run may replay: environment and number, or `FRESH` twice in an empty slot."""
_BITS = 24
_SNAPSHOT = ("begun", "fresh", "scenes", "pool")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scene:
    """The origin of an episode's scene."""

    env: Int[AnyArray, "*axes"]
    """The environment that played it first."""
    number: Int[AnyArray, "*axes"]
    """Its number among the fresh episodes of that environment."""
    slot: Int[AnyArray, "*axes"]
    """The slot of the pool that it was taken from, or `FRESH`."""

    @property
    def fresh(self) -> Bool[AnyArray, "*axes"]:
        return self.slot < 0


class Rule(NamedTuple):
    """The rule by which the environments of a run decide what they replay."""

    seeds: UInt32[AnyArray, "env 2"]
    threshold: int | Int[AnyArray, ""]
    """The share of the episodes, in units of 2⁻²⁴."""
    slots: int | Int[AnyArray, ""]
    """The number of slots of the run's pool."""

    @staticmethod
    def of(settings: ReplaySettings, run: int, num_envs: int) -> "Rule":
        return Rule(words(replay_seeds(run, num_envs)), round(settings.share * 2**_BITS), settings.pool)


def empty_slots(settings: ReplaySettings) -> Int[np.ndarray, "slot 2"]:
    return np.full((settings.pool, 2), FRESH, np.int32)


@jax.jit
def choose_slots(rule: Rule, begun: Int[Array, " env"], pool: Int[Array, "slot 2"]) -> Int[Array, " env"]:
    """The slots that the next episodes play, or `FRESH`, after `begun` episodes of either kind.

    Even environments choose even slots, odd ones odd slots. So the two halves of a batch, whose comparison tells signal
    from noise, have no scene in common.
    """
    which, place = hashed(keys_of(jnp.asarray(rule.seeds), begun), jnp.zeros_like(begun))
    slots, odd = jnp.asarray(rule.slots, jnp.uint32), jnp.arange(len(begun), dtype=jnp.uint32) % 2
    mine = jnp.maximum((slots + 1 - odd) // 2, 1)
    slot = jnp.minimum(2 * (place % mine) + odd, slots - 1).astype(jnp.int32)
    again = (which >> (32 - _BITS)) < jnp.asarray(rule.threshold, jnp.uint32)
    return jnp.where(again & (pool[slot, 0] >= 0), slot, FRESH)


class SceneChoice:
    """Chooses the scene of every episode of one run, on the host."""

    def __init__(self, settings: ReplaySettings, run: int, num_envs: int) -> None:
        """The choice before the first episodes."""
        self.pool: Int[np.ndarray, "slot 2"] = empty_slots(settings)
        self.begun: Int[np.ndarray, " env"] = np.zeros(num_envs, np.int32)
        """Number of episodes that have started."""
        self.fresh: Int[np.ndarray, " env"] = np.full(num_envs, -1, np.int32)
        """The number of the latest fresh episode."""
        self.scenes: Int[np.ndarray, "3 env"] = np.full((3, num_envs), FRESH, np.int32)
        """The fields of the running episodes' `Scene`."""
        self._rule = Rule.of(settings, run, num_envs)
        self._choose()

    def offer(self, pool: Int[AnyArray, "slot 2"]) -> None:
        self.pool = np.array(pool, np.int32)
        self._choose()

    def begin(self, which: Int[np.ndarray, " n"]) -> None:
        """Choose the scenes of the episodes that start in these environments."""
        slots = self.slots[which]
        self.fresh[which] += slots < 0
        own = np.stack([which, self.fresh[which]])
        self.scenes[:2, which] = np.where(slots < 0, own, self.pool[slots].T)
        self.scenes[2, which] = slots
        self.begun[which] += 1
        self._choose()

    def snapshot(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name).copy() for name in _SNAPSHOT}

    def restore(self, snapshot: dict[str, np.ndarray]) -> None:
        for name in _SNAPSHOT:
            setattr(self, name, np.array(snapshot[name], np.int32))
        self._choose()

    @on_host
    def _choose(self) -> None:
        """The slots that the next episodes play, or `FRESH`."""
        self.slots: Int[np.ndarray, " env"] = np.asarray(choose_slots(self._rule, self.begun, self.pool))
