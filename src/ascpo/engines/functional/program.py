"""The compiled programs of a world: start episodes, and let a policy act in them.

For a training, policy and world are compiled into one scan. There the compiler fuses them, so that the world's rounding
depends on the policy. Lists of episodes are therefore played step by step, by a program of the world alone. So recorded
actions repeat an episode bit for bit.
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
from ascpo.engines.contract import Rollout, over_every_limit, scaled
from ascpo.engines.functional.episodes import Episodes, step_keys
from ascpo.engines.functional.world import RandomKey, State, Transition, World
from ascpo.engines.precision import precise
from ascpo.guard.layout import AnyArray


@dataclass(frozen=True)
class Rules:
    """Everything that decides a step, except for the policy."""

    world: World
    low: tuple[float, ...]
    """Lowest actions. Infinite if there is no bound."""
    high: tuple[float, ...]
    max_episode_steps: int | None
    limits: tuple[float, ...]
    """One for each cost. A step that breaks the simulation exceeds them, and so does the sum of its episode's costs."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnvStates:
    """The state of the environments within their episodes."""

    episodes: Episodes
    steps: Int[Array, " env"]
    state: State
    observation: Float[Array, "env obs"]
    """Raw."""
    cost: Float[Array, "env m"]
    """The sums of the costs of the episodes so far."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RunState:
    """The state of a run's environments, and the augmentation of its policy."""

    envs: EnvStates
    augmentation: Float[Array, "env augmentation"]


class Moved(NamedTuple):
    """The result of a step, before any reset."""

    result: Transition
    observation: Float[Array, "*axes obs"]


class Trace(NamedTuple):
    """For each step and environment: whether the simulation broke down, and which step of which episode it was."""

    broken: Bool[AnyArray, "*time _env"]
    ids: UInt32[AnyArray, "*time _env 3"]
    steps: Int[AnyArray, "*time _env"]


Collect: TypeAlias = Callable[
    [Theta, RunState, Float[AnyArray, "_time _env _act"]],
    tuple[RunState, Rollout, Trace],
]


class Programs(NamedTuple):
    """Programs that start episodes, and let a policy act for as many steps as the noise has: in a scan, or stepwise."""

    begin: Callable[[Episodes], RunState]
    collect: Collect
    play: Collect


@functools.lru_cache(maxsize=8)
def programs(rules: Rules, actor: Actor) -> Programs:
    """The programs for these rules and this actor. They are cached by value, and compiled when first called."""
    world = world_programs(rules)
    acting = jax.jit(precise(jax.vmap(functools.partial(act, actor), in_axes=(None, 0, 0, 0))))
    settling = jax.jit(precise(functools.partial(_settle, actor)))

    def begin(episodes: Episodes) -> RunState:
        return RunState(world.begin(episodes), jnp.tile(actor.initial(), (len(episodes.ids), 1)))

    def step(theta: Theta, now: RunState, noise: Float[AnyArray, "env act"]) -> tuple[RunState, tuple[Rollout, Trace]]:
        acted = acting(theta, now.envs.observation, now.augmentation, noise)
        envs, moved, trace = world.advance(now.envs, acted.executed)
        augmentation, rollout = settling(now.augmentation, acted, moved)
        return RunState(envs, augmentation), (rollout, trace)

    @jax.jit
    def collect(
        theta: Theta, running: RunState, noise: Float[Array, "time env act"]
    ) -> tuple[RunState, Rollout, Trace]:
        running, (rollout, trace) = jax.lax.scan(functools.partial(step, theta), running, noise)
        return running, rollout, trace

    def play(
        theta: Theta, running: RunState, noise: Float[np.ndarray, "time env act"]
    ) -> tuple[RunState, Rollout, Trace]:
        found = []
        for each in noise:
            running, now = step(theta, running, each)
            found.append(now)
        rollout, trace = jax.tree.map(lambda *steps: np.stack(steps), *jax.device_get(found))
        return running, rollout, trace

    return Programs(begin, collect, play)


class WorldPrograms(NamedTuple):
    """Programs that start episodes, and take a step of all environments, with resets after it."""

    begin: Callable[[Episodes], EnvStates]
    advance: Callable[[EnvStates, Float[Array, "_env _act"]], tuple[EnvStates, Moved, Trace]]


@functools.lru_cache(maxsize=8)
def world_programs(rules: Rules) -> WorldPrograms:
    """The programs that do not depend on the policy."""
    return WorldPrograms(
        jax.jit(precise(functools.partial(_begin, rules))),
        jax.jit(precise(functools.partial(_advance, rules))),
    )


def _begin(rules: Rules, episodes: Episodes) -> EnvStates:
    steps = jnp.zeros(len(episodes.ids), jnp.int32)
    state = _strong(jax.vmap(rules.world.begin)(step_keys(episodes.ids, steps)))
    cost = jnp.zeros((len(episodes.ids), len(rules.limits)))
    return EnvStates(episodes, steps, state, jax.vmap(rules.world.observe)(state), cost)


def _advance(rules: Rules, now: EnvStates, drawn: Float[Array, "env act"]) -> tuple[EnvStates, Moved, Trace]:
    ids, steps = now.episodes.ids, now.steps + 1
    move = jax.vmap(functools.partial(_move, rules))
    moved, broken = move(now.state, now.observation, now.cost, steps, drawn, step_keys(ids, steps))
    done = moved.result.terminated | moved.result.truncated
    episodes = now.episodes.end(done)
    on = EnvStates(episodes, steps, _strong(moved.result.state), moved.observation, now.cost + moved.result.costs)
    # Starting an episode may take longer than a step, and few steps end one.
    envs = jax.lax.cond(
        jnp.any(done),
        lambda: jax.tree.map(functools.partial(_where, done), _begin(rules, episodes), on),
        lambda: on,
    )
    # The state is large, and the policy does not need it.
    moved = Moved(replace(moved.result, state=None), moved.observation)
    return replace(envs, episodes=episodes), moved, Trace(broken, ids, steps)


def _strong(state: State) -> State:
    """The state without weak types, each of which would have programs compiled once more."""
    is_key = jax.dtypes.prng_key
    return jax.tree.map(
        lambda x: x if jnp.issubdtype(x.dtype, is_key) else jax.lax.convert_element_type(x, x.dtype), state
    )


def _where(done: Bool[Array, " env"], new: Array, old: Array) -> Array:
    """The new value where an episode is done. Arrays without the axis of environments stay."""
    if new.shape[:1] != done.shape:
        return old
    return jnp.where(done.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _move(
    rules: Rules,
    state: State,
    observation: Float[Array, " obs"],
    sums: Float[Array, " m"],
    step: Int[Array, ""],
    drawn: Float[Array, " act"],
    key: RandomKey,
) -> tuple[Moved, Bool[Array, ""]]:
    """A step of one environment. If its numbers are not finite, the episode ends over every limit.

    A reward that is not finite is a mistake in the world. It is not replaced, and stops a training.
    """
    action = scaled(drawn, np.array(rules.low, np.float32), np.array(rules.high, np.float32))
    moved = rules.world.step(state, action, key)
    after = rules.world.observe(moved.state)
    numbers = (observation, after, moved.costs, moved.margins)
    broken = ~jnp.all(jnp.array([jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(numbers)]))
    over = over_every_limit(jnp.array(rules.limits, jnp.float32), sums)
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
    """The augmentation after the step, and the step of the rollout."""
    result = moved.result
    done = result.terminated | result.truncated
    of_costs = result.costs, result.margins, done
    after, augmentation = jax.vmap(functools.partial(remember, actor))(augmentation, *of_costs)
    return augmentation, Rollout.of(acted, result, augment(moved.observation, after))
