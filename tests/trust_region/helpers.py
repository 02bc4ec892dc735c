"""Random problems of every case, and a solver that shares no formula with the dual.

    min g·y   such that   cᵢ + bᵢ·y ≤ 0  for i = 1..m,   ‖y‖ ≤ 1        with ‖g‖ = ‖bᵢ‖ = 1

is what is left of a problem without its units. The dual gets it with units: see `solutions`.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import settings
from scipy.optimize import brentq, nnls

from ascpo.trust_region import dual
from ascpo.trust_region.dual import Case

# The first example compiles, so no example has a deadline; the same examples every time.
steady = settings(deadline=None, derandomize=True, max_examples=50)
DIMENSIONS = 6
BORDER = 0.01
"""Problems this near to another case are left out: rounding may take them for either."""


@dataclass(frozen=True)
class Problems:
    """n of them, without units."""

    g: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def __len__(self) -> int:
        return len(self.g)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        return zip(self.g, self.b, self.c, strict=True)

    def left(self, y: np.ndarray) -> np.ndarray:
        """c + b·y: by how much points violate the constraints."""
        return self.c + np.einsum("nmp,np->nm", self.b, y)


@dataclass(frozen=True)
class Solutions:
    """What the dual makes of problems, without units again."""

    case: np.ndarray
    along: np.ndarray
    against: np.ndarray
    asked: np.ndarray
    y: np.ndarray
    """The steps."""


@partial(jax.jit, static_argnums=4)
def _solve_all(q, r, S, c, delta, cap):
    def one(q, r, S, c):
        found = dual.solve(q, r, S, c, delta, cap)
        return found.case, found.along, found.against, found.asked

    return jax.vmap(one)(q, r, S, c)


def solutions(problems: Problems, cap: float | None = None, delta: float = 0.02) -> Solutions:
    """The dual's answers: all of its numbers are float32, all that is done here is float64.

    With units, g and every bᵢ are 10⁻⁴ to 10⁴ long, F = LLᵀ is random and the radius is √2δ, so that y = Lᵀx / √2δ.
    """
    rng, n, m = np.random.default_rng(0), len(problems), problems.c.shape[1]
    radius = np.sqrt(2 * delta)
    L = np.tril(rng.normal(size=(n, DIMENSIONS, DIMENSIONS)), -1) + np.eye(DIMENSIONS)
    g_norm, b_norm = 10 ** rng.uniform(-4, 4, (n, 1)), 10 ** rng.uniform(-4, 4, (n, m))
    rows = np.concatenate([(g_norm * problems.g)[:, None], b_norm[..., None] * problems.b], axis=1) @ L.swapaxes(1, 2)
    Finv_rows = np.linalg.solve(L @ L.swapaxes(1, 2), rows.swapaxes(1, 2)).swapaxes(1, 2)
    products = rows @ Finv_rows.swapaxes(1, 2)
    known = products[:, 0, 0], products[:, 1:, 0], products[:, 1:, 1:], problems.c * b_norm * radius
    found = _solve_all(*(jnp.asarray(v, jnp.float32) for v in known), delta, None if cap is None else jnp.float32(cap))
    case, along, against, asked = (np.asarray(v, np.float64) for v in found)
    x = -(along[:, None] * Finv_rows[:, 0] + np.einsum("nm,nmp->np", against, Finv_rows[:, 1:]))
    return Solutions(
        case=case,
        along=along * g_norm[:, 0] / radius,
        against=against * b_norm / radius,
        asked=asked / (b_norm * radius),
        y=np.einsum("npq,np->nq", L, x) / radius,
    )


def nearest(b: np.ndarray, c: np.ndarray, point: np.ndarray) -> np.ndarray | None:
    """The point nearest to another that satisfies all constraints, if there is one.

    min ‖z‖ such that Gz ≥ h is least squares with weights u ≥ 0 (Lawson and Hanson, Solving Least Squares Problems,
    chapter 23): ρ = (Gᵀ; hᵀ)u − (0, 1), as short as can be, is zero if no z exists, else z = −ρ / ρ_last.
    """
    E = np.concatenate([-b.T, (c + b @ point)[None]])
    f = np.append(np.zeros(len(point)), 1.0)
    u, length = nnls(E, f)
    if length < 1e-9:
        return None
    rho = E @ u - f
    return point - rho[:-1] / rho[-1]


def need(b: np.ndarray, c: np.ndarray) -> float:
    """How far away the nearest point is that satisfies all constraints."""
    point = nearest(b, c, np.zeros(b.shape[1]))
    return np.inf if point is None else float(np.linalg.norm(point))


def needs(problems: Problems) -> np.ndarray:
    return np.array([need(b, c) for _, b, c in problems])


def optimum(g: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The best point of the ball, for a problem that has one.

    At the ball's multiplier λ it is the feasible point nearest to −g/λ. That moves outwards as λ falls; the right λ
    puts it on the rim.
    """

    def point(log_lam: float) -> np.ndarray:
        y = nearest(b, c, -g * np.exp(-log_lam))
        assert y is not None
        return y

    return point(brentq(lambda log_lam: np.log(np.linalg.norm(point(log_lam))), -7.0, 7.0, xtol=1e-9))


def case_of(b: np.ndarray, c: np.ndarray) -> Case | None:
    """The case by its meaning, or None near the border between two."""
    if np.any(np.abs(c) < BORDER) or np.any(np.abs(c + 1) < BORDER):
        return None
    if np.all(c < 0):
        return Case.FREE if np.all(c < -1) else Case.BOUNDED
    distance = need(b, c)
    if abs(distance - 1) < BORDER:
        return None
    return Case.RECOVERING if distance < 1 else Case.INFEASIBLE


@cache
def random_problems(case: Case, m: int, count: int = 1000 if os.environ.get("ASCPO_SLOW") else 300) -> Problems:
    """Problems of one case, in uniform directions."""
    rng = np.random.default_rng((int(case), m))
    ends = {
        Case.INFEASIBLE: (-1.5, 3.0),
        Case.RECOVERING: (-1.5, 1.0),
        Case.BOUNDED: (-1.5, 0.0),
        Case.FREE: (-4.0, -1.0),
    }
    found = []
    while len(found) < count:
        vectors = rng.normal(size=(1 + m, DIMENSIONS))
        g, *b = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        c = rng.uniform(*ends[case], m)
        if case_of(np.array(b), c) == case:
            found.append((g, np.array(b), c))
    return Problems(*(np.array(v) for v in zip(*found, strict=True)))
