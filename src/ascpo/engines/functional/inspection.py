"""The inspection of a world of JAX functions. Its functions are traced, and nothing is computed."""

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ascpo.engines.functional.world import Transition, World
from ascpo.engines.gymnasium.errors import FAILURES, Unsuitable, described
from ascpo.engines.inspection import Inspection, refuse_limit

ENDLESS = (
    "The world names no max_episode_steps. If its steps do not end every episode, some may never end: use "
    "--max-episode-steps 1000."
)
UNBOUNDED = (
    "The world has no action_bounds: actions are passed on as the policy draws them, which is about -1 to 1 at first."
)


def inspect_world(world: World, max_episode_steps: int | None = None) -> Inspection:
    """Inspect a world. Raises `Unsuitable` with all of its faults, and an error for a time limit that changes
    nothing."""
    limit = getattr(world, "max_episode_steps", None)
    if faults := _faults_of_attributes(world, limit):
        raise Unsuitable(*faults)
    begun, observation, moved = _traced(world)
    if faults := _faults_of_step(world, begun, observation, moved):
        raise Unsuitable(*faults)
    low, high = _bounds(world)
    notes = [] if np.isfinite([low, high]).all() else [UNBOUNDED]
    if max_episode_steps is not None:
        refuse_limit(max_episode_steps, limit)
        limit = max_episode_steps
    notes += [ENDLESS] if limit is None else []
    return Inspection(
        observation_size=world.observation_size,
        action_size=world.action_size,
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        cost_names=tuple(world.cost_names),
        has_margins=moved["margins"] is not None,
        notes=tuple(notes),
        time_limit=limit,
    )


def _faults_of_attributes(world: World, limit: object) -> list[str]:
    faults = [
        f"{name} is {getattr(world, name)!r}. Give a whole number above 0."
        for name in ("observation_size", "action_size")
        if not _is_count(getattr(world, name))
    ]
    if limit is not None and not _is_count(limit):
        faults.append(f"max_episode_steps is {limit!r}. Give a whole number above 0, or None.")
    names = world.cost_names
    plain = isinstance(names, tuple) and all(isinstance(x, str) and re.fullmatch(r"\w[\w.+-]*", x) for x in names)
    if not plain or not names or len(set(names)) < len(names):
        faults.append(f'cost_names is {names!r}. Give a tuple of different plain words, such as ("speed",).')
    if not faults and any(np.asarray(bound).shape != (world.action_size,) for bound in _given_bounds(world)):
        faults.append(
            f"action_bounds are not two arrays of {world.action_size} numbers. Give (low, high), one number for each "
            f"of the {world.action_size} actions."
        )
    try:
        hash(world)
    except TypeError:
        faults.append("The world has no hash, so its programs cannot be found again. Use @dataclass(frozen=True).")
    return faults


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _given_bounds(world: World) -> tuple[object, ...]:
    given = getattr(world, "action_bounds", None)
    return () if given is None else tuple(given) if len(given) == 2 else (given,)


def _bounds(world: World) -> tuple[np.ndarray, np.ndarray]:
    infinite = np.full(world.action_size, np.inf)
    low, high = (np.asarray(bound, float) for bound in _given_bounds(world) or (-infinite, infinite))
    return low, high


def _traced(world: World) -> tuple[PyTree, PyTree, dict[str, PyTree]]:
    """The shapes of a first state, of its observation, and of a step from it."""
    key, action = jax.random.key(0), jax.ShapeDtypeStruct((world.action_size,), jnp.float32)
    begun = _shape("begin", world.begin, key)
    observation = _shape("observe", world.observe, begun)
    # As a dictionary, since the fields of a `Transition` must be arrays, and these are shapes.
    return begun, observation, _shape("step", lambda *step: _fields(world.step(*step)), begun, action, key)


def _fields(moved: object) -> dict[str, PyTree]:
    if not isinstance(moved, Transition):
        raise Unsuitable(f"step returns a {type(moved).__name__}. Return an ascpo.Transition.")
    return dict(vars(moved))


def _shape(name: str, function: Callable[..., object], *arguments: PyTree) -> PyTree:
    try:
        return jax.eval_shape(function, *arguments)
    except Unsuitable:
        raise
    except FAILURES as error:
        raise Unsuitable(f"{name} raises {described(error)}.") from error


def _faults_of_step(world: World, begun: PyTree, observation: PyTree, moved: dict[str, PyTree]) -> list[str]:
    m, real, boolean = len(world.cost_names), jnp.floating, jnp.bool_
    wanted = [
        ("The observation", observation, (world.observation_size,), real),
        ("The reward", moved["reward"], (), real),
        ("costs", moved["costs"], (m,), real),
        ("terminated", moved["terminated"], (), boolean),
        ("truncated", moved["truncated"], (), boolean),
    ]
    wanted += [("margins", moved["margins"], (m,), real)] if moved["margins"] is not None else []
    faults = [
        f"{name} has the shape {_shown(found)}. It must be {shape} of {'bool' if kind is boolean else 'float32'}."
        for name, found, shape, kind in wanted
        if getattr(found, "shape", None) != shape or not jnp.issubdtype(found.dtype, kind)
    ]
    before, after = jax.tree.map(_shown, begun), jax.tree.map(_shown, moved["state"])
    if jax.tree.structure(begun) != jax.tree.structure(moved["state"]) or before != after:
        faults.append(f"step returns another kind of state than begin: {after} after {before}. Make them agree.")
    return faults


def _shown(found: PyTree) -> str:
    return f"{found.shape} of {found.dtype}" if hasattr(found, "shape") else f"a {type(found).__name__}"
