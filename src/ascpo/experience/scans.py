"""Scans over time, forwards or backwards, that restart with every episode.

A CPU goes through the steps sequentially. On an accelerator an iteration costs as much as all its arithmetic, so there
an associative scan takes log₂(time) rounds instead. Both give the same maxima and lengths, and the same sums up to
rounding.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.experience.axes import aligned

Steps = TypeVar("Steps")
"""A tree of arrays. Those of all steps begin with the axes time and env, those of one step with env."""
Join = Callable[[Steps, Steps], Steps]
"""An associative, elementwise function of an earlier and a later value."""


def accumulate(join: Join[Steps], x: Steps, done: Bool[Array, "time env"], start: Steps) -> tuple[Steps, Steps, Steps]:
    """yₜ₊₁ = join(yₜ, xₜ), with y₀ = `start`, and with 0 for yₜ where an episode begins.

    Returns yₜ of every step, yₜ₊₁ of every step (after the last step of an episode, that of this episode), and y for
    the step after the last.
    """
    after: Steps = jax.lax.platform_dependent(
        x, done, start, cpu=partial(accumulate_in_turn, join), default=partial(accumulate_at_once, join)
    )
    kept = _anew(done, after)
    before = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest[:-1]]), start, kept)
    return before, after, jax.tree.map(lambda y: y[-1], kept)


def accumulate_in_turn(join: Join[Steps], x: Steps, done: Bool[Array, "time env"], start: Steps) -> Steps:
    """yₜ₊₁ of every step, sequentially."""

    def step(before: Steps, now: tuple[Steps, Bool[Array, " env"]]) -> tuple[Steps, Steps]:
        x, ended = now
        after = join(before, x)
        return _anew(ended, after), after

    return jax.lax.scan(step, start, (x, done))[1]


# Also a CPU traces this function, which it never runs. `jit` caches the trace for all calls.
@partial(jax.jit, static_argnums=0)
def accumulate_at_once(join: Join[Steps], x: Steps, done: Bool[Array, "time env"], start: Steps) -> Steps:
    """yₜ₊₁ of every step, by an associative scan."""
    first = jnp.concatenate([jnp.ones_like(done[:1]), done[:-1]])
    begun = jax.tree.map(lambda y, x: jnp.zeros_like(x).at[0].set(y), start, x)
    return _joined(join, _where(first, join(begun, x), x), first)


def backwards(
    x: Float[Array, "time env"], follows: Float[Array, "time env"], done: Bool[Array, "time env"], factor: float
) -> Float[Array, "time env"]:
    """yₜ = xₜ + factor·yₜ₊₁, with `follows` in place of yₜ₊₁ where an episode ends, and after the last step."""
    return jax.lax.platform_dependent(
        x,
        follows,
        done,
        cpu=partial(backwards_in_turn, factor=factor),
        default=partial(backwards_at_once, factor=factor),
    )


def backwards_in_turn(
    x: Float[Array, "time env"], follows: Float[Array, "time env"], done: Bool[Array, "time env"], factor: float
) -> Float[Array, "time env"]:
    """`backwards`, sequentially."""

    def step(y: Float[Array, " env"], now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        x, follows, ended = now
        y = x + factor * jnp.where(ended, follows, y)
        return y, y

    return jax.lax.scan(step, follows[-1], (x, follows, done), reverse=True)[1]


@jax.jit
def backwards_at_once(
    x: Float[Array, "time env"],
    follows: Float[Array, "time env"],
    done: Bool[Array, "time env"],
    factor: float | Float[Array, ""],
) -> Float[Array, "time env"]:
    """`backwards`, by an associative scan: the steps are maps y ↦ a·y + b, and so are their compositions."""
    last = done.at[-1].set(True)
    lines = jnp.full_like(x, factor), jnp.where(last, x + factor * follows, x)

    def join(later: tuple[Array, Array], earlier: tuple[Array, Array]) -> tuple[Array, Array]:
        (a, b), (c, d) = later, earlier
        return a * c, c * b + d

    return _joined(join, lines, last, reverse=True)[1]


def _joined(join: Join[Steps], x: Steps, first: Bool[Array, "time env"], *, reverse: bool = False) -> Steps:
    """For every step, all of x joined since the last step with `first`."""

    def both(
        left: tuple[Bool[Array, "part env"], Steps], right: tuple[Bool[Array, "part env"], Steps]
    ) -> tuple[Bool[Array, "part env"], Steps]:
        (begins, x), (anew, y) = left, right
        return begins | anew, _where(anew, y, join(x, y))

    return jax.lax.associative_scan(both, (first, x), reverse=reverse)[1]


def _anew(ended: Bool[Array, "*axes"], x: Steps) -> Steps:
    """0 where an episode has ended."""
    return _where(ended, jax.tree.map(jnp.zeros_like, x), x)


def _where(which: Bool[Array, "*axes"], x: Steps, y: Steps) -> Steps:
    return jax.tree.map(lambda x, y: jnp.where(aligned(which, x), x, y), x, y)
