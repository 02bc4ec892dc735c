"""The compiled programs of a world: begin episodes, and let a policy act in them.

A training compiles policy and world into one scan. There the compiler merges them, and rounds the world's numbers
otherwise for another policy. Lists of episodes are therefore played step by step, by a program of the world alone: so
recorded actions repeat an episode bit for bit.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from ascpo.engines.actor import Acted, Actor, Theta, act, augment, remember
from ascpo.engines.contract import Rollout, scaled
from ascpo.engines.functional.episodes import Episodes, step_keys
from ascpo.engines.functional.world import RandomKey, State, Transition, World
from ascpo.engines.precision import precise
from ascpo.guard.layout import AnyArray


@dataclass(frozen=True)
class Rules:
    """What decides a step beside the policy."""

    world: World
    low: tuple[float, ...]
    """Bounds of the actions; infinite where there are none."""
    high: tuple[float, ...]
    max_episode_steps: int | None
    limits: tuple[float, ...]
    """A step that breaks the simulation costs one more."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Course:
    """Environments in the middle of their episodes."""

    episodes: Episodes
    steps: Int[Array, " env"]
    state: State
    observation: Float[Array, "env obs"]
    """Raw."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Running:
    """The environments of a run, and what its policy remembers of their episodes."""

    course: Course
    augmentation: Float[Array, "env augmentation"]


class Moved(NamedTuple):
    """What a step of one environment did, before an episode that it ended begins anew."""

    result: Transition
    observation: Float[Array, "*axes obs"]


class Trace(NamedTuple):
    """By time and environment: whether the step broke the simulation, and which step of which episode it was."""

    broken: Bool[AnyArray, "*time _env"]
    ids: UInt32[AnyArray, "*time _env 3"]
    steps: Int[AnyArray, "*time _env"]


Collect: TypeAlias = Callable[
    [Theta, Running, Float[AnyArray, "_time _env _act"]],
    tuple[Running, Rollout, Trace],
]


class Programs(NamedTuple):
    """Begin episodes; let a policy act for as many steps as there is noise for, in a scan or step by step."""

    begin: Callable[[Episodes], Running]
    collect: Collect
    play: Collect


@functools.lru_cache(maxsize=8)
def programs(rules: Rules, actor: Actor) -> Programs:
    """Compiled when they are first called, and found again by the value of the rules and of the actor."""
    world = world_programs(rules)
    acting = jax.jit(precise(jax.vmap(functools.partial(act, actor), in_axes=(None, 0, 0, 0))))
    settling = jax.jit(precise(functools.partial(_settle, actor)))

    def begin(episodes: Episodes) -> Running:
        return Running(world.begin(episodes), jnp.tile(actor.initial(), (len(episodes.ids), 1)))

    def step(theta: Theta, now: Running, noise: Float[AnyArray, "env act"]) -> tuple[Running, tuple[Rollout, Trace]]:
        acted = acting(theta, now.course.observation, now.augmentation, noise)
        course, moved, trace = world.advance(now.course, acted.executed)
        augmentation, rollout = settling(now.augmentation, acted, moved)
        return Running(course, augmentation), (rollout, trace)

    @jax.jit
    def collect(theta: Theta, running: Running, noise: Float[Array, "time env act"]) -> tuple[Running, Rollout, Trace]:
        running, (rollout, trace) = jax.lax.scan(functools.partial(step, theta), running, noise)
        return running, rollout, trace

    def play(
        theta: Theta, running: Running, noise: Float[np.ndarray, "time env act"]
    ) -> tuple[Running, Rollout, Trace]:
        found = []
        for each in noise:
            running, now = step(theta, running, each)
            found.append(now)
        rollout, trace = jax.tree.map(lambda *steps: np.stack(steps), *jax.device_get(found))
        return running, rollout, trace

    return Programs(begin, collect, play)


class WorldPrograms(NamedTuple):
    """Begin episodes, and take a step of all environments, after which episodes that ended begin anew."""

    begin: Callable[[Episodes], Course]
    advance: Callable[[Course, Float[Array, "_env _act"]], tuple[Course, Moved, Trace]]


@functools.lru_cache(maxsize=8)
def world_programs(rules: Rules) -> WorldPrograms:
    """The same for every policy."""
    return WorldPrograms(
        jax.jit(precise(functools.partial(_begin, rules.world))),
        jax.jit(precise(functools.partial(_advance, rules))),
    )


def _begin(world: World, episodes: Episodes) -> Course:
    steps = jnp.zeros(len(episodes.ids), jnp.int32)
    state = _strong(jax.vmap(world.begin)(step_keys(episodes.ids, steps)))
    return Course(episodes, steps, state, jax.vmap(world.observe)(state))


def _advance(rules: Rules, now: Course, drawn: Float[Array, "env act"]) -> tuple[Course, Moved, Trace]:
    ids, steps = now.episodes.ids, now.steps + 1
    move = jax.vmap(functools.partial(_move, rules))
    moved, broken = move(now.state, now.observation, steps, drawn, step_keys(ids, steps))
    done = moved.result.terminated | moved.result.truncated
    episodes = now.episodes.end(done)
    on = Course(episodes, steps, _strong(moved.result.state), moved.observation)
    # To begin an episode may take longer than a step, and few steps end one.
    course = jax.lax.cond(
        jnp.any(done),
        lambda: jax.tree.map(functools.partial(_where, done), _begin(rules.world, episodes), on),
        lambda: on,
    )
    # The state is large, and the policy has no use for it.
    moved = Moved(replace(moved.result, state=None), moved.observation)
    return replace(course, episodes=episodes), moved, Trace(broken, ids, steps)


def _strong(state: State) -> State:
    """With types that no constant left open: programs would be compiled once more for each such type."""
    is_key = jax.dtypes.prng_key
    return jax.tree.map(
        lambda x: x if jnp.issubdtype(x.dtype, is_key) else jax.lax.convert_element_type(x, x.dtype), state
    )


def _where(done: Bool[Array, " env"], new: Array, old: Array) -> Array:
    """The new value where an episode is done. What environments share is no part of an episode."""
    if new.shape[:1] != done.shape:
        return old
    return jnp.where(done.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _move(
    rules: Rules,
    state: State,
    observation: Float[Array, " obs"],
    step: Int[Array, ""],
    drawn: Float[Array, " act"],
    key: RandomKey,
) -> tuple[Moved, Bool[Array, ""]]:
    """One environment. Where it is NaN or infinite, the simulation broke down: the episode ends over every limit.

    A reward alone that is not finite is a mistake in the world. It is left as it is, and stops a training.
    """
    action = scaled(drawn, np.array(rules.low, np.float32), np.array(rules.high, np.float32))
    moved = rules.world.step(state, action, key)
    after = rules.world.observe(moved.state)
    numbers = (observation, after, moved.costs, moved.margins)
    broken = ~jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(numbers)]))
    over = 1.0 + jnp.maximum(jnp.resize(jnp.array(rules.limits, jnp.float32), moved.costs.shape), 0.0)
    late = jnp.zeros((), bool) if rules.max_episode_steps is None else step >= rules.max_episode_steps
    result = replace(
        moved,
        reward=jnp.where(broken, 0.0, moved.reward),
        costs=jnp.where(broken, over, moved.costs),
        margins=None if moved.margins is None else jnp.where(broken, over, moved.margins),
        terminated=moved.terminated | broken,
        truncated=moved.truncated | late,
    )
    return Moved(result, jnp.where(broken, observation, after)), broken


def _settle(
    actor: Actor, augmentation: Float[Array, "env augmentation"], acted: Acted, moved: Moved
) -> tuple[Float[Array, "env augmentation"], Rollout]:
    """What the policy remembers from now on, and the step as the learner sees it."""
    result = moved.result
    done = result.terminated | result.truncated
    of_costs = result.costs, result.margins, done
    after, augmentation = jax.vmap(functools.partial(remember, actor))(augmentation, *of_costs)
    return augmentation, Rollout.of(acted, result, augment(moved.observation, after))
