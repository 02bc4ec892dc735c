"""Scenes in which fresh episodes violated a limit, to be replayed, and the weights of the replays.

Scenes s are drawn from p. In a scene the policy violates a limit with probability q(s), and v = Σ p·q is the share of
fresh episodes that do. Let f(s) be the mean contribution to the cost gradient of the episodes in a scene: for the
crossing of a limit ∇q(s). The aim is to estimate Σ p·f.

A scene enters the pool when its fresh episode violates, so that scenes of the pool follow p·q/v. The newest replaces
the oldest, and each is played equally often. So the mean over replays of f/q is Σ p·f/v over the scenes with q > 0,
and for every x

    x · mean of f over fresh episodes + (1 − x) · v · mean of f/q over replays = Σ p·f

without bias, as long as f = 0 where q = 0: a scene without violations contributes nothing to the gradient of crossings.
A fresh episode has the weight x, a replay (1 − x)·v/q, each divided by the number of such episodes.

x. The variance of f in a scene is near q: that of crossings is q·(1 − q). With h = v · mean of 1/q over replays, the
share of the scenes that violate at all, and a share r of replays among the episodes, the variance of the sum is least
with

    x = (1 − r)·h / (r + (1 − r)·h)

Solved scenes: a scene that was played `SOLVED` times in a row without a violation is not played any more, but keeps its
slot until it is replaced. With φ the share of the scenes of the pool that are left, the replays' mean stands
for the part φ: v becomes φ·v, and h is counted in the same way, which changes x to (1 − r)·φ·h / (r + (1 − r)·φ·h).

The estimates use earlier epochs only, so that no estimate depends on the episodes that it weights:

    v̂ = (violations + ½) / (fresh episodes + 1)        q̂ = (k + c·q̄) / (n + c)        q̄ as v̂, of all replays

k of a scene's n replays violated. The violation that brought it into the pool does not count: it chose the scene.

Bias: scene s has the total weight x + (1 − x)·q(s)·E[1/q̂] · v̂/v instead of 1, and a scene that is solved or never
violates has x. The policy changes while a scene is in the pool, so using q/v instead of q₀/v₀, from when it was fresh,
is another approximation. Rewards, critics and all measurements use fresh episodes only.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ascpo.engines.replay import FRESH, Scene, empty_slots
from ascpo.engines.settings import ReplaySettings

SOLVED = 10
"""Replays in a row without a violation after which a scene is solved."""
_PRIOR = 2.0
"""c: the weight of the mean over all scenes in the estimate for one, in replays."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tally:
    """Decayed sums over the last epochs, of fresh episodes or of replays."""

    steps: Float[Array, ""]
    ended: Float[Array, ""]
    violated: Float[Array, ""]
    """Number of ended episodes that violated a limit."""

    @property
    def violation_rate(self) -> Float[Array, ""]:
        return (self.violated + 0.5) / (self.ended + 1.0)

    def length(self, longest: Float[Array, ""]) -> Float[Array, ""]:
        """Mean length of an episode, at most that of the longest one."""
        return jnp.maximum(jnp.minimum(self.steps / jnp.maximum(self.ended, 1e-6), longest), 1.0)

    def after(
        self,
        which: Bool[Array, "time env"],
        done: Bool[Array, "time env"],
        violated: Bool[Array, "time env"],
        smoothing: float,
    ) -> "Tally":
        """The tally after an epoch. `which` are the steps that count."""
        epoch = Tally(*(jnp.sum(x, dtype=jnp.float32) for x in (which, which & done, which & done & violated)))
        return jax.tree.map(lambda before, now: smoothing * before + now, self, epoch)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepWeights:
    """Weights of the steps. The mean of `reward` is 1."""

    reward: Float[Array, "time env"]
    """Equal for all steps in fresh scenes, and 0 in replays."""
    cost: Float[Array, "time env"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReplayPool:
    """The latest scenes in which fresh episodes violated a limit, and counts of their replays."""

    scene: Int[Array, "slot 2"]
    """Environment and number, or `FRESH` in an empty slot."""
    plays: Int[Array, " slot"]
    """n: replays that ended."""
    violations: Int[Array, " slot"]
    """k: those that violated a limit."""
    safe: Int[Array, " slot"]
    """Replays since the last one that violated a limit."""
    oldest: Int[Array, ""]
    """The slot whose scene is replaced next."""
    fresh: Tally
    again: Tally

    @property
    def live(self) -> Bool[Array, " slot"]:
        """Whether a slot has a scene that is not solved."""
        return (self.scene[:, 0] >= 0) & (self.safe < SOLVED)

    @property
    def offered(self) -> Int[Array, "slot 2"]:
        """The scenes that the engine may replay."""
        return jnp.where(self.live[:, None], self.scene, FRESH)

    @property
    def q(self) -> Float[Array, " slot"]:
        """q̂: the probability that an episode in each scene violates a limit."""
        return (self.violations + _PRIOR * self.again.violation_rate) / (self.plays + _PRIOR)

    def holds(self, scene: Scene) -> Bool[Array, "time env"]:
        """Whether a step replays a scene that is still in the pool. Its slot may hold another scene by now."""
        own = jnp.stack([scene.env, scene.number], axis=-1)
        return ~scene.fresh & self.live[scene.slot] & jnp.all(self.scene[scene.slot] == own, axis=-1)

    def after(
        self, scene: Scene, done: Bool[Array, "time env"], violated: Bool[Array, "time env"], smoothing: float
    ) -> "ReplayPool":
        """The pool after an epoch. `violated` says of every step whether its episode has violated a limit so far."""
        fresh, again = self.fresh.after(scene.fresh, done, violated, smoothing), self.again
        again = again.after(~scene.fresh, done, violated, smoothing)
        played = self._played(scene, done & self.holds(scene), violated)
        return replace(played._joined_by(scene, done & scene.fresh & violated), fresh=fresh, again=again)

    def _played(self, scene: Scene, ended: Bool[Array, "time env"], violated: Bool[Array, "time env"]) -> "ReplayPool":
        """Count the replays that ended."""
        slots = len(self.plays)
        time = jnp.broadcast_to(jnp.arange(len(ended))[:, None], ended.shape)

        def per_slot(which: Bool[Array, "time env"]) -> Int[Array, " slot"]:
            return jnp.zeros(slots, jnp.int32).at[jnp.where(which, scene.slot, slots)].add(1, mode="drop")

        bad = ended & violated
        last = jnp.full(slots, -1).at[jnp.where(bad, scene.slot, slots)].max(time, mode="drop")
        safe_since = per_slot(ended & ~violated & (time > last[scene.slot]))
        return replace(
            self,
            plays=self.plays + per_slot(ended),
            violations=self.violations + per_slot(bad),
            safe=jnp.where(last >= 0, 0, self.safe) + safe_since,
        )

    def _joined_by(self, scene: Scene, which: Bool[Array, "time env"]) -> "ReplayPool":
        """Replace the oldest scenes by these. If they are more than the slots, the last of them are kept."""
        slots, count = len(self.plays), jnp.sum(which)
        rank = jnp.cumsum(which.ravel()) - 1
        kept = which.ravel() & (rank >= count - slots)
        at = jnp.where(kept, (self.oldest + rank) % slots, slots)
        own = jnp.stack([scene.env.ravel(), scene.number.ravel()], axis=-1)
        nothing = jnp.zeros(len(at), jnp.int32)
        return replace(
            self,
            scene=self.scene.at[at].set(own, mode="drop"),
            plays=self.plays.at[at].set(nothing, mode="drop"),
            violations=self.violations.at[at].set(nothing, mode="drop"),
            safe=self.safe.at[at].set(nothing, mode="drop"),
            oldest=(self.oldest + count) % slots,
        )


def empty_pool(settings: ReplaySettings) -> ReplayPool:
    """The pool before the first violation."""
    none, nothing = jnp.zeros(settings.pool, jnp.int32), Tally(*[jnp.zeros(())] * 3)
    return ReplayPool(jnp.asarray(empty_slots(settings)), none, none, none, jnp.zeros((), jnp.int32), nothing, nothing)


def step_weights(
    before: ReplayPool, after: ReplayPool, scene: Scene, share: float, longest: Float[Array, ""]
) -> StepWeights:
    """The weights of an epoch's steps. Rates come from the pool before the epoch, mean lengths from the one after
    it."""
    fresh, again, live = scene.fresh, before.holds(scene), before.live
    steps, of_fresh, of_again = (jnp.sum(which, dtype=jnp.float32) for which in (jnp.ones_like(fresh), fresh, again))
    left = jnp.sum(live) / jnp.maximum(jnp.sum(before.scene[:, 0] >= 0), 1)
    odds = before.fresh.violation_rate / before.q
    x = fresh_part(share * jnp.mean(live), left * left * _mean(odds, live))
    x = jnp.where(of_again > 0, x, 1.0)
    # The number of episodes of each kind is its number of steps over the mean length.
    per_fresh, per_again = after.fresh.length(longest) / of_fresh, after.again.length(longest) / of_again
    replays = (1.0 - x) * left * odds * jnp.where(of_again > 0, per_again / per_fresh, 0.0)
    scale = steps / jnp.maximum(of_fresh, 1.0)
    return StepWeights(scale * fresh, scale * jnp.where(fresh, x, jnp.where(again, replays[scene.slot], 0.0)))


def fresh_part(r: Float[Array, ""], h: Float[Array, ""]) -> Float[Array, ""]:
    """x, from the share r of replays among the episodes and the share h of the scenes that they stand for."""
    return jnp.where(r > 0, (1.0 - r) * h / jnp.maximum(r + (1.0 - r) * h, 1e-9), 1.0)


def _mean(x: Float[Array, " slot"], where: Bool[Array, " slot"]) -> Float[Array, ""]:
    return jnp.sum(jnp.where(where, x, 0.0)) / jnp.maximum(jnp.sum(where), 1)
