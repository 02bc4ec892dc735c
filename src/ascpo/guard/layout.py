"""Layouts: the positions of robot, goal and obstacles at the start of an episode.

Objects are placed in turn (robot, goal, obstacles), each uniformly in the arena without a border of its keepout. An
object is drawn again while it is nearer to an earlier one than the sum of their keepouts. After a hundred draws the
whole layout starts over. After all objects are placed, the goal is drawn once more, away from robot and obstacles.

`draw(rules, key)` is a pure function of one key. `draw_many` gives the same layouts for many keys, faster: it drops
finished layouts from the batch instead of waiting for the slowest one.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from ascpo.guard import goal
from ascpo.guard.costs import region_cost
from ascpo.guard.draws import hashed, uniform
from ascpo.guard.geometry import apply, turn
from ascpo.guard.ghosts import AIR
from ascpo.guard.kinds import DISC_HEIGHT, PILLAR_HEIGHT
from ascpo.guard.suites import ARENA, GOAL_KEEPOUT, ROBOT_KEEPOUT, Suite

DRAWS = 100
"""Draws for one object before the layout starts over."""
GOAL_DRAWS = 10_000
"""Draws for the goal's second place before the layout starts over."""
LAYOUTS = 10_000
"""Layouts that are tried before an error."""
ARM_REACH = 2.0
"""Largest distance from the origin of an anchored robot's obstacles (in the plane) and goal (in space)."""
_SHEET = 10
"""Number of draws that are examined together. It divides both numbers of draws, so that the rules hold exactly."""
_SHEETS_A_CALL = 8
"""Number of sheets between two checks for finished layouts."""
_WIDTH = 512
"""Number of layouts in progress at the same time. It is constant, so that one program is compiled."""


if TYPE_CHECKING:
    AnyArray: TypeAlias = Any
else:
    AnyArray = Array | np.ndarray
    """An array on the device or on the host. Type checkers see Any, because each side uses its own type."""


class LayoutError(ValueError):
    """No layout was found, because the suite has too many obstacles for the arena."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Layout:
    """Positions in the world."""

    robot: Float[AnyArray, "*env 2"]
    heading: Float[AnyArray, "*env"]
    goal: Float[AnyArray, "*env 3"]
    obstacles: Float[AnyArray, "*env n 3"]


@dataclass(frozen=True)
class Rules:
    """What a layout of a suite must satisfy. Slots are the objects in order of placement; the last one is the goal's
    second place."""

    suite: Suite
    start: tuple[tuple[float, float, float], ...]
    """The positions of the robot's frames at the start of an episode, for heading 0 at the origin."""

    @property
    def slots(self) -> int:
        return self.suite.count + 2

    def keepouts(self) -> np.ndarray:
        obstacles = [o.kind.keepout for o in self.suite.obstacles for _ in range(o.count)]
        return np.array([ROBOT_KEEPOUT, GOAL_KEEPOUT, *obstacles, GOAL_KEEPOUT], np.float32)

    def reaches(self) -> np.ndarray:
        """Half the side of the square in which each object is drawn."""
        reaches = ARENA - self.keepouts()
        if self.suite.robot.anchored:
            reaches[0] = 0.0
        return reaches

    def resting_heights(self) -> np.ndarray:
        """Heights of objects that do not float: goal and obstacles, by slot."""
        by_shape = {"disc": DISC_HEIGHT, "post": PILLAR_HEIGHT / 2, "ball": 0.0}
        obstacles = [by_shape[o.kind.shape] for o in self.suite.obstacles for _ in range(o.count)]
        return np.array([0.0, goal.HEIGHT, *obstacles], np.float32)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Drafts:
    """Layouts in progress. They are the last axis of every array, which the compiler vectorises."""

    key: UInt32[Array, "n 3"]
    sheet: Int[Array, " n"]
    """Sheets of draws used so far."""
    attempt: Int[Array, " n"]
    """Number of layouts that were started and discarded."""
    slot: Int[Array, " n"]
    """The object that is placed next."""
    draws: Int[Array, " n"]
    """Number of draws for it."""
    x: Float[Array, "slots n"]
    y: Float[Array, "slots n"]


def draw(rules: Rules, key: UInt32[Array, "3"]) -> Layout:
    """The layout of a key (see `draws.keys_for`). Its heading is NaN if the arena is too full."""
    return jax.tree.map(lambda leaf: leaf[0], draw_all(rules, key[None]))


def draw_all(rules: Rules, keys: UInt32[Array, "n 3"]) -> Layout:
    """The layouts of many keys, as one program that ends with the slowest, for accelerators."""
    unfinished, use_sheet = lambda d: jnp.any(~_finished(rules, d)), partial(_use_sheet, rules)
    return _finish(rules, jax.lax.while_loop(unfinished, use_sheet, _blank(rules, keys)))


def draw_many(rules: Rules, keys: UInt32[np.ndarray, "n 3"]) -> Layout:
    """The layouts of many keys, as NumPy arrays: the same as `draw` for each, and an error if the arena is too full.

    A batch of fixed width works through the keys; a row whose layout is finished takes the next key.
    """
    count = len(keys)
    layouts = Layout(*(np.empty((count, *shape), np.float32) for shape in ((2,), (), (3,), (rules.suite.count, 3))))
    if not count:
        return layouts
    # Row r works on key owner[r]. Surplus rows repeat the last key.
    owner = np.minimum(np.arange(_WIDTH), count - 1)
    following = _WIDTH
    drafts = _blank(rules, jnp.asarray(keys[owner]))
    while True:
        drafts, found, finished = _use_sheets(rules, drafts)
        done = np.flatnonzero(np.asarray(finished))
        for out, rows in zip(jax.tree.leaves(layouts), jax.tree.leaves(found), strict=True):
            out[owner[done]] = np.asarray(rows)[done]
        fresh = done[: max(count - following, 0)]
        if len(fresh):
            owner[fresh] = np.arange(following, following + len(fresh))
            following += len(fresh)
            drafts = _renew(rules, drafts, np.isin(np.arange(_WIDTH), fresh), keys[owner])
        elif len(done) == _WIDTH:
            break
    if np.isnan(layouts.heading).any():
        found = f"No layout of {rules.suite.name} was found in {LAYOUTS} tries"
        raise LayoutError(f"{found}: the arena of 4 m by 4 m is too full. Use fewer obstacles.")
    return layouts


@partial(jax.jit, static_argnums=0)
def _use_sheets(rules: Rules, drafts: _Drafts) -> tuple[_Drafts, Layout, Bool[Array, " n"]]:
    drafts = jax.lax.fori_loop(0, _SHEETS_A_CALL, lambda _, d: _use_sheet(rules, d), drafts)
    return drafts, _finish(rules, drafts), _finished(rules, drafts)


@partial(jax.jit, static_argnums=0)
def _renew(rules: Rules, drafts: _Drafts, renew: Bool[Array, " n"], keys: UInt32[Array, "n 3"]) -> _Drafts:
    """Reset the selected drafts, and keep the others."""

    def choose(new: Array, old: Array) -> Array:
        return jnp.where(renew[:, None] if new.shape == keys.shape else renew, new, old)

    return jax.tree.map(choose, _blank(rules, keys), drafts)


def _blank(rules: Rules, keys: UInt32[Array, "n 3"]) -> _Drafts:
    zero, places = jnp.zeros(len(keys), jnp.int32), jnp.zeros((rules.slots, len(keys)))
    return _Drafts(keys, zero, zero, zero, zero, places, places)


def _finished(rules: Rules, drafts: _Drafts) -> Bool[Array, " n"]:
    return (drafts.slot > rules.slots) | (drafts.attempt >= LAYOUTS)


def _use_sheet(rules: Rules, drafts: _Drafts) -> _Drafts:
    """Examine the next draws for the present object, and take the first that fits."""
    again = drafts.slot == rules.slots
    keepouts = rules.keepouts()
    keepout, reach = _at(keepouts, drafts.slot), _at(rules.reaches(), drafts.slot)
    seeds = hashed(drafts.key, 2 * drafts.sheet)
    counts = np.arange(_SHEET)[:, None]
    x, y = reach * (2 * uniform(seeds, counts) - 1)

    fits = jnp.ones(x.shape, bool)
    # Sequentially rather than as one array of all gaps, so that the compiler makes one loop of it.
    for slot in range(rules.slots):
        stands = (slot < drafts.slot) & ~(again & (slot == 1))
        gap2 = (x - drafts.x[slot]) ** 2 + (y - drafts.y[slot]) ** 2
        fits &= (gap2 >= (keepout + keepouts[slot]) ** 2) | ~stands
    if rules.suite.robot.anchored:
        fits &= _within_reach(rules, drafts, x, y)
    first = jnp.min(jnp.where(fits, counts, _SHEET), axis=0)

    going = ~_finished(rules, drafts)
    found = going & (first < _SHEET)
    x, y = reach * (2 * uniform(seeds, first[None]) - 1)
    here = found & (np.arange(rules.slots)[:, None] == jnp.where(again, 1, drafts.slot))
    placed = replace(
        drafts,
        sheet=drafts.sheet + 1,
        slot=drafts.slot + found,
        draws=jnp.where(found, 0, drafts.draws + _SHEET),
        x=jnp.where(here, x, drafts.x),
        y=jnp.where(here, y, drafts.y),
    )
    give_up = placed.draws >= jnp.where(again, GOAL_DRAWS, DRAWS)
    if rules.suite.robot.anchored:
        # Keepouts keep every robot clear of every region at the start, but for one with long arms.
        give_up |= (placed.slot > rules.slots) & ~_starts_clear(rules, placed)
    give_up &= going
    return replace(
        placed,
        attempt=drafts.attempt + give_up,
        slot=jnp.where(give_up, 0, placed.slot),
        draws=jnp.where(give_up, 0, placed.draws),
    )


def _at(table: Float[np.ndarray, " slots"], slot: Int[Array, " n"]) -> Float[Array, " n"]:
    """table[slot] as a chain of selections, which is faster than a gather for a few slots."""
    value = jnp.full(slot.shape, table[0])
    for i in range(1, len(table)):
        value = jnp.where(slot >= i, table[i], value)
    return value


def _attitude(rules: Rules, drafts: _Drafts) -> tuple[Float[Array, " n"], Float[Array, "slots n"]]:
    """Headings, and heights by slot, drawn once per attempt."""
    turns, shares = uniform(hashed(drafts.key, 2 * drafts.attempt + 1), np.arange(rules.slots)[:, None])
    resting = jnp.broadcast_to(rules.resting_heights()[:, None], shares.shape)
    heights = AIR[0] + (AIR[1] - AIR[0]) * shares if rules.suite.robot.spatial else resting
    return 2 * jnp.pi * turns[0], heights


def _finish(rules: Rules, drafts: _Drafts) -> Layout:
    heading, heights = _attitude(rules, drafts)
    placed = jnp.stack([drafts.x, drafts.y, heights], axis=-1)
    failed = drafts.attempt >= LAYOUTS
    return Layout(
        robot=placed[0, :, :2],
        heading=jnp.where(failed, jnp.nan, heading),
        goal=placed[1],
        obstacles=jnp.moveaxis(placed[2:], 0, 1),
    )


def _frames(rules: Rules, heading: Float[Array, ""]) -> Float[Array, "frames 3"]:
    """The positions of the frames of an anchored robot at the start."""
    return apply(turn(heading), jnp.asarray(rules.start, jnp.float32))


def _within_reach(
    rules: Rules, drafts: _Drafts, x: Float[Array, "draws n"], y: Float[Array, "draws n"]
) -> Bool[Array, "draws n"]:
    """For an anchored robot: obstacles and the goal's second place are near enough, and the goal is not reached yet."""
    heading, heights = _attitude(rules, drafts)
    z = heights[1]
    hand = jax.vmap(partial(_frames, rules))(heading)[:, rules.suite.robot.tracked_frame]
    as_obstacle = x**2 + y**2 <= ARM_REACH**2
    as_goal = x**2 + y**2 + z**2 <= ARM_REACH**2
    not_reached = (x - hand[:, 0]) ** 2 + (y - hand[:, 1]) ** 2 + (z - hand[:, 2]) ** 2 >= goal.RADIUS**2
    return jnp.where(drafts.slot == rules.slots, as_goal & not_reached, (drafts.slot < 2) | as_obstacle)


def _starts_clear(rules: Rules, drafts: _Drafts) -> Bool[Array, " n"]:
    """Whether no part of the robot is in a region at the start."""

    def clear(layout: Layout) -> Bool[Array, ""]:
        frames = _frames(rules, layout.heading)
        cost = partial(region_cost, robot=rules.suite.robot, frames=frames, overlap="closest")
        costs = [cost(kind, centres=layout.obstacles[rows]) for kind, rows in rules.suite.slices()]
        return jnp.all(jnp.stack(costs) == 0.0)

    return jax.vmap(clear)(_finish(rules, drafts))
