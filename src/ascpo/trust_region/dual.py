"""A linear objective under linear constraints in a ball, solved exactly.

    min gᵀx   such that   cᵢ + bᵢᵀx ≤ 0  for i = 1..m,   ½ xᵀFx ≤ δ

The inner products q = gᵀF⁻¹g, rᵢ = bᵢᵀF⁻¹g, Sᵢⱼ = bᵢᵀF⁻¹bⱼ determine the solution:

    x = −(1/λ) F⁻¹(g + Σ νᵢ bᵢ)

For a set 𝒜 of constraints that hold with equality,

    A = q − r_𝒜ᵀ S_𝒜⁻¹ r_𝒜      B = 2δ − c_𝒜ᵀ S_𝒜⁻¹ c_𝒜      λ = √(A/B)      ν_𝒜 = S_𝒜⁻¹ (λ c_𝒜 − r_𝒜)

and the solution is that of the set for which ν ≥ 0 and all other constraints hold. With m = 1 this is the dual of CPO
(arXiv:1705.10528). All 2ᵐ sets are tried, so m must be small.

q, S and c differ by many powers of ten. So everything is computed in units in which ‖g‖ = ‖bᵢ‖ = 1 and the radius of
the ball is 1 (norms of F⁻¹ and F). Then cᵢ is the share of the radius that constraint i alone takes.
"""

from dataclasses import dataclass
from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

MOST_CONSTRAINTS = 6
_SMALL = 1e-20
_PARALLEL = 1e-6
"""The objective is in the span of the active constraints if less than this share of ‖g‖² is outside of it."""
_SLACK = 1e-5
"""How far rounding may break an inequality."""


class Case(IntEnum):
    """How the constraints affect a step."""

    INFEASIBLE = 0
    """No point of the region satisfies them. The step reduces the violation and ignores the objective."""
    RECOVERING = 1
    """Some are violated now, and can be satisfied within the region."""
    BOUNDED = 2
    """All are satisfied now, and some are violated in a part of the region."""
    FREE = 3
    """All are satisfied in the whole region."""
    NO_GRADIENT = 4
    """No step can change any constraint."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Dual:
    """The solution, x = −(along·F⁻¹g + Σ against·F⁻¹b)."""

    case: Int[Array, ""]
    along: Float[Array, ""]
    """1/λ. 0 if the step ignores the objective."""
    against: Float[Array, " m"]
    """ν/λ."""
    asked: Float[Array, " m"]
    """c after the cap."""

    @property
    def lam(self) -> Float[Array, ""]:
        """λ. 0 if the step ignores the objective."""
        return jnp.where(self.along > 0, 1.0 / jnp.where(self.along > 0, self.along, 1.0), 0.0)

    @property
    def nu(self) -> Float[Array, " m"]:
        """ν. If the step ignores the objective, the weights of the constraints in it."""
        return self.against * jnp.where(self.along > 0, self.lam, 1.0)


def solve(
    q: Float[Array, ""],
    r: Float[Array, " m"],
    S: Float[Array, "m m"],
    c: Float[Array, " m"],
    delta: float,
    cap: Float[Array, ""] | None = None,
) -> Dual:
    """The step, as weights of F⁻¹g and F⁻¹b.

    `cap` is the largest share of the region's radius that the constraints may take. If they need more, all cᵢ > 0 are
    multiplied by a common factor, so that 1 − cap² of the region is left to the objective. The cap does not apply to
    constraints that contradict each other: then the step goes against them to the boundary of the region.
    """
    _check_number(len(c))
    g_norm, radius = jnp.sqrt(jnp.maximum(q, 0.0)), np.sqrt(2 * delta)
    b_norm = jnp.sqrt(jnp.maximum(jnp.diagonal(S), 0.0))
    has_g, has_b = g_norm > _SMALL, b_norm > _SMALL
    g_unit = jnp.where(has_g, 1.0 / jnp.where(has_g, g_norm, 1.0), 0.0)
    b_unit = jnp.where(has_b, 1.0 / jnp.where(has_b, b_norm, 1.0), 0.0)
    r = jnp.clip(r * b_unit * g_unit, -1.0, 1.0)
    S = jnp.clip(S * b_unit[:, None] * b_unit, -1.0, 1.0)
    # No demand on a constraint that no step changes.
    c = jnp.where(has_b, c * b_unit / radius, -jnp.inf)

    nearest, need, reachable = _nearest(S, c)
    fits = reachable & (need <= 1.0)
    asked = c
    if cap is not None:
        scale = jnp.where(need > cap, cap / jnp.maximum(need, _SMALL), 1.0)
        asked = jnp.where(c > 0, c * scale, c)
        fits = reachable
    along, against, solved = _best(has_g, r, S, asked)
    recovery = jnp.where(reachable, nearest / jnp.maximum(need, _SMALL), _towards_all(S, c))

    satisfied = jnp.all(c <= 0)
    case = jnp.select(
        [~jnp.any(has_b), ~(fits & solved), ~satisfied, jnp.any(c > -1.0)],
        [Case.NO_GRADIENT, Case.INFEASIBLE, Case.RECOVERING, Case.BOUNDED],
        Case.FREE,
    )
    infeasible = case == Case.INFEASIBLE
    # Back to the units of the arguments.
    c_unit = jnp.where(has_b, b_norm * radius, 1.0)
    return Dual(
        case=case,
        along=jnp.where(infeasible, 0.0, along) * g_unit * radius,
        against=jnp.where(infeasible, recovery, against) * b_unit * radius,
        asked=jnp.where(has_b, jnp.where(infeasible, c, asked) * c_unit, 0.0),
    )


def _check_number(m: int) -> None:
    if m > MOST_CONSTRAINTS:
        raise ValueError(
            f"{m} constraints: all subsets are tried, so at most {MOST_CONSTRAINTS} are possible. Add some of the "
            f"costs up before they become constraints."
        )


def _subsets(m: int) -> np.ndarray:
    """All sets of constraints, as rows of zeros and ones."""
    return (np.arange(2**m)[:, None] >> np.arange(m) & 1).astype(np.float32)


def _active(S: Float[Array, "m m"], mask: Float[Array, " m"], y: Float[Array, " m"]) -> Float[Array, " m"]:
    """S_𝒜⁻¹ y_𝒜, and 0 outside 𝒜. Parallel constraints make S singular, so a little is added to its diagonal."""
    inside = mask[:, None] * mask
    S_active = S * inside + jnp.diag(1.0 - mask) + 1e-7 * jnp.eye(len(y))
    return mask * jnp.linalg.solve(S_active, jnp.where(mask > 0, jnp.where(jnp.isfinite(y), y, 0.0), 0.0))


def _nearest(
    S: Float[Array, "m m"], c: Float[Array, " m"]
) -> tuple[Float[Array, " m"], Float[Array, ""], Bool[Array, ""]]:
    """The nearest point to the centre that satisfies all constraints: its weights, its distance, and if it exists."""
    m = len(c)
    if m == 0:
        return jnp.zeros(0), jnp.zeros(()), jnp.ones((), bool)

    def candidate(mask: Float[Array, " m"]) -> tuple[Array, Array, Array]:
        n = _active(S, mask, c)
        holds = jnp.all((mask > 0) | (c - S @ n <= _SLACK))
        return n, _length(S, n), jnp.all(n >= -_SLACK) & holds & _have_gradients(mask, c) & _exact(S, mask, c, n)

    weights, distances, valid = jax.vmap(candidate)(jnp.asarray(_subsets(m)))
    best = jnp.argmin(jnp.where(valid, distances, jnp.inf))
    return jnp.maximum(weights[best], 0.0), distances[best], valid[best]


def _have_gradients(mask: Float[Array, " m"], c: Float[Array, " m"]) -> Bool[Array, ""]:
    """Whether all constraints of a set have gradients. c is −∞ for those without."""
    return jnp.all(jnp.where(mask > 0, jnp.isfinite(c), True))


def _exact(
    S: Float[Array, "m m"], mask: Float[Array, " m"], c: Float[Array, " m"], n: Float[Array, " m"]
) -> Bool[Array, ""]:
    """Whether the weights solve S_𝒜 n = c_𝒜. They do not if constraints contradict each other."""
    c = jnp.where((mask > 0) & jnp.isfinite(c), c, 0.0)
    left = jnp.where(mask > 0, c - S @ n, 0.0)
    return jnp.all(jnp.abs(left) <= 1e-3 * (1.0 + jnp.max(jnp.abs(c))))


def _best(
    has_g: Bool[Array, ""], r: Float[Array, " m"], S: Float[Array, "m m"], c: Float[Array, " m"]
) -> tuple[Float[Array, ""], Float[Array, " m"], Bool[Array, ""]]:
    """The best point of the ball: the weights of g and of the constraints, and whether it was found."""
    m = len(c)
    gg = jnp.where(has_g, 1.0, 0.0)
    if m == 0:
        return gg, jnp.zeros(0), jnp.ones((), bool)

    def candidate(mask: Float[Array, " m"]) -> tuple[Array, Array, Array, Array]:
        n, p = _active(S, mask, c), _active(S, mask, r)
        A, B = gg - r @ p, 1.0 - n @ S @ n
        along = jnp.sqrt(jnp.maximum(B, 0.0) / jnp.maximum(A, _PARALLEL))
        # If g is in the span of the active constraints, all points where they hold are equally good. Take the one with
        # the least of g for which ν ≥ 0.
        least = jnp.max(jnp.where((p < 0) & (n < 0), n / jnp.where(p < 0, p, -1.0), 0.0))
        along = jnp.where(A > _PARALLEL, along, jnp.minimum(along, least))
        against = n - along * p
        others = (mask > 0) | (c - along * r - S @ against <= _SLACK)
        active = _have_gradients(mask, c) & _exact(S, mask, c, n)
        valid = (B >= -_SLACK) & jnp.all(against >= -_SLACK) & jnp.all(others) & active
        return along, jnp.maximum(against, 0.0), -(along * gg + r @ against), valid

    along, against, objective, valid = jax.vmap(candidate)(jnp.asarray(_subsets(m)))
    best = jnp.argmin(jnp.where(valid, objective, jnp.inf))
    return along[best], against[best], valid[best]


def _towards_all(S: Float[Array, "m m"], c: Float[Array, " m"]) -> Float[Array, " m"]:
    """Weights of a step to the boundary against the violated constraints, in proportion to their violations."""
    weights = jnp.where(jnp.isfinite(c), jnp.maximum(c, 0.0), 0.0)
    # If the constraints cancel each other, what remains is rounding error, which must not be scaled up.
    least = jnp.sqrt(_PARALLEL) * jnp.max(weights, initial=_SMALL)
    return weights / jnp.maximum(_length(S, weights), least)


def _length(S: Float[Array, "m m"], n: Float[Array, " m"]) -> Float[Array, ""]:
    """√(nᵀSn), the length of a step with these weights, scaled so that squares do not overflow float32."""
    size = jnp.max(jnp.abs(n), initial=_SMALL)
    return size * jnp.sqrt(jnp.maximum((n / size) @ S @ (n / size), 0.0))
