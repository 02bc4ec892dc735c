"""Episode means over the last epochs, from all steps, whether their episodes finished or not.

The cost of an episode, its largest cost, whether it violates a limit and whether it times out are all sums over its
steps (`signals.py`). So the mean of such a sum over episodes is its mean over all steps, times the mean length of an
episode (renewal–reward theorem):

    mean = Σ over steps / N        N = steps / L        L = min(steps / episodes that ended, longest episode seen)

With short horizons, the mean over the episodes that end within an epoch is biased: at first only the quickest episodes
end, and their number varies. All sums decay by the factor `smoothing` per epoch, so that epochs are weighted by their
numbers of episodes.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from ascpo.choices import LimitKind
from ascpo.engines.contract import Rollout
from ascpo.experience.axes import aligned
from ascpo.experience.episodes import EpisodeTotals
from ascpo.experience.signals import Costs, excesses, moments, passes


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeSums:
    """Sums over the steps of an epoch, or decayed sums over those of several."""

    steps: Float[Array, ""]
    ended: Float[Array, ""]
    """Episodes that ended."""
    cost: Float[Array, " m"]
    max_cost: Float[Array, " m"]
    """Increments of the largest cost."""
    max_cost_squared: Float[Array, " m"]
    """Increments of its square."""
    violations: Float[Array, " m"]
    """Episodes that are over a limit at their end, or so far."""
    timeouts: Float[Array, ""]
    excess: Float[Array, " m"]
    """Excess of the episodes over ν, the value at risk."""
    nu: Float[Array, " m"]
    """ν of the steps' episodes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeTrend:
    """Decayed sums over the last epochs, from which the means follow."""

    sums: EpisodeSums
    longest: Float[Array, ""]
    """Steps of the longest episode so far, ended or not."""

    def after(self, epoch: EpisodeSums, totals: EpisodeTotals, smoothing: float) -> "EpisodeTrend":
        """The trend after an epoch. `totals` are those after every step."""
        sums = jax.tree.map(lambda before, now: smoothing * before + now, self.sums, epoch)
        return EpisodeTrend(sums, jnp.maximum(self.longest, jnp.max(totals.length).astype(jnp.float32)))

    @property
    def length(self) -> Float[Array, ""]:
        """L: the mean length of an episode."""
        by_ends = self.sums.steps / jnp.maximum(self.sums.ended, 1e-6)
        return jnp.maximum(jnp.minimum(by_ends, self.longest), 1.0)

    def mean(self, total: Float[Array, "*m"]) -> Float[Array, "*m"]:
        """The mean over episodes of one of the sums."""
        return total * self.length / jnp.maximum(self.sums.steps, 1.0)

    @property
    def violation_rates(self) -> Float[Array, " m"]:
        return jnp.clip(self.mean(self.sums.violations), 0.0, 1.0)

    @property
    def timeout_rate(self) -> Float[Array, ""]:
        return jnp.minimum(self.mean(self.sums.timeouts), 1.0)

    @property
    def nu(self) -> Float[Array, " m"]:
        return self.sums.nu / jnp.maximum(self.sums.steps, 1.0)


def episode_sums(costs: Costs, rollout: Rollout, kind: LimitKind) -> EpisodeSums:
    """Sums over the steps of a rollout in fresh scenes."""
    fresh = rollout.fresh
    before, after = (costs.M, costs.M_next) if kind == "state" else (costs.Z, costs.Z_next)

    def total(x: Shaped[Array, "time env *m"]) -> Float[Array, "*m"]:
        if fresh is not None:
            x = jnp.where(aligned(fresh, x), x, jnp.zeros_like(x))
        return jnp.sum(x, axis=(0, 1), dtype=jnp.float32)

    first, second = jnp.split(moments(costs), 2, axis=-1)
    return EpisodeSums(
        steps=jnp.float32(rollout.done.size) if fresh is None else total(fresh),
        ended=total(rollout.done),
        cost=total(costs.C),
        max_cost=total(first),
        max_cost_squared=total(second),
        violations=total(passes(before, after, costs.w)),
        timeouts=total(rollout.truncated),
        excess=total(excesses(costs)),
        nu=total(jnp.broadcast_to(costs.nu, costs.C.shape)),
    )


def no_trend(m: int) -> EpisodeTrend:
    """The trend before the first epoch."""
    one, each = jnp.zeros(()), jnp.zeros(m)
    return EpisodeTrend(EpisodeSums(one, one, each, each, each, each, one, each, each), one)
