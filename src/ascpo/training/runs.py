"""The runs of one agent as one axis, and the maps that apply learning to all of them.

On the host, each run goes through the same programs as if it were alone, and has the same numbers. On an accelerator,
the runs are an axis of one program, which takes little longer than a single run. There sums have another order, so that
numbers differ by rounding.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int, PyTree

from ascpo.engines.contract import Rollout
from ascpo.engines.gathering import gather
from ascpo.engines.replay import Scene
from ascpo.training.agent import Agent
from ascpo.training.estimate import estimate
from ascpo.training.fit import fit_critics
from ascpo.training.metrics import measure
from ascpo.training.state import EpochMetrics, LearnerState
from ascpo.training.update import update

Tree = TypeVar("Tree")
OfRuns: TypeAlias = Any
"""Values of all runs, in the form that a `RunMap` gives them: a list of trees, or one tree of stacked arrays."""
OfRun: TypeAlias = Callable[..., Any]
"""A function of an agent and of values of one run."""
Program = tuple[jax.stages.Wrapped, tuple[PyTree, ...]]
"""A compiled function, and its arguments or their shapes."""
Lap = Callable[[str], None]
"""Called at the end of each part of an epoch."""


def nth(tree: Tree, i: int) -> Tree:
    """Element i of a tree of stacked arrays."""
    leaves = jax.tree.leaves(tree)
    if all(isinstance(leaf, np.ndarray) for leaf in leaves):
        return jax.tree.map(lambda leaf: leaf[i], tree)
    return _nth(tree, jnp.int32(i))


@jax.jit
def _nth(tree: Tree, i: Int[Array, ""]) -> Tree:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[i], tree)


@runtime_checkable
class RunMap(Protocol):
    """Applies a function of one run to all runs."""

    def stack(self, runs: Sequence[PyTree]) -> OfRuns: ...

    def split(self, rollout: Rollout, runs: int) -> OfRuns:
        """The rollouts of a batch, whose first axis is the run."""
        ...

    def __call__(self, function: OfRun, agent: Agent, *batches: OfRuns) -> OfRuns: ...

    def nth(self, batch: OfRuns, i: int) -> PyTree:
        """The value of one run."""
        ...

    def arrays(self, batch: OfRuns) -> Array:
        """An array of each run, stacked along a first axis."""
        ...


class HostMap:
    """Applies functions to one run after the other. The form is a list."""

    def stack(self, runs: Sequence[Tree]) -> list[Tree]:
        return list(runs)

    def split(self, rollout: Rollout, runs: int) -> list[Rollout]:
        return [jax.tree.map(jnp.asarray, nth(rollout, i)) for i in range(runs)]

    def __call__(self, function: OfRun, agent: Agent, *batches: Sequence[PyTree]) -> OfRuns:
        results = [function(agent, *each) for each in zip(*batches, strict=True)]
        return tuple(map(list, zip(*results, strict=True))) if isinstance(results[0], tuple) else results

    def nth(self, batch: Sequence[Tree], i: int) -> Tree:
        return batch[i]

    def arrays(self, batch: Sequence[Array]) -> Array:
        return batch[0][None] if len(batch) == 1 else jnp.stack(batch)


class VectorMap:
    """Applies functions to all runs at once, as one program. The form is a tree of stacked arrays."""

    def stack(self, runs: Sequence[Tree]) -> Tree:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *runs)

    def split(self, rollout: Rollout, runs: int) -> Rollout:
        return rollout

    def __call__(self, function: OfRun, agent: Agent, *batches: PyTree) -> OfRuns:
        return vectorised(function, agent)(*batches)

    def nth(self, batch: Tree, i: int) -> Tree:
        return nth(batch, i)

    def arrays(self, batch: Array) -> Array:
        return batch


@lru_cache(maxsize=128)
def vectorised(function: OfRun, agent: Agent) -> jax.stages.Wrapped:
    """The function for all runs, as one program."""
    return jax.jit(jax.vmap(partial(function, agent)))


def fastest_map() -> RunMap:
    """`VectorMap` on an accelerator, `HostMap` on the host."""
    return HostMap() if jax.default_backend() == "cpu" else VectorMap()


class RunGroup:
    """Runs of one agent, and their states."""

    def __init__(self, agent: Agent, states: Sequence[LearnerState], over_runs: RunMap | None = None) -> None:
        self.agent = agent
        self._count = len(states)
        self._map = over_runs or fastest_map()
        self._states = self._map.stack(states)

    def __len__(self) -> int:
        return self._count

    def act(self) -> tuple[Float[Array, "run q"], Float[Array, "run time env act"]]:
        """The parameters and the noise with which the actors act in the next epoch."""
        self._states, noise = self._map(Agent.noise, self.agent, self._states)
        theta = self._map(Agent.acting, self.agent, self._states)
        return self._map.arrays(theta), self._map.arrays(noise)

    def scenes(self) -> Int[Array, "run slot 2"] | None:
        """The scenes that the next epoch may replay. None if it plays fresh scenes only."""
        if not self.agent.settings.replay.share:
            return None
        return self._map.arrays(self._map(_offered_scenes, self.agent, self._states))

    def learn(self, rollout: Rollout, lap: Lap) -> list[EpochMetrics]:
        """Learn from a rollout of each run. The metrics are on the host."""
        over_runs, agent, before = self._map, self.agent, self._states
        rollouts = over_runs.split(rollout, len(self))
        estimates = jax.block_until_ready(over_runs(estimate, agent, before, rollouts))
        lap("TimeEstimates")
        states, steps, caps = jax.block_until_ready(over_runs(update, agent, before, rollouts, estimates))
        lap("TimePolicy")
        self._states, losses = jax.block_until_ready(over_runs(fit_critics, agent, states, estimates))
        if agent.settings.normalise_observations:
            self._states = over_runs(_update_normaliser, agent, self._states, rollouts)
        lap("TimeCritics")
        metrics = over_runs(measure, agent, before, self._states, rollouts, estimates, steps, caps, losses)
        host = jax.device_get(gather(metrics))
        return [over_runs.nth(host, i) for i in range(len(self))]

    def cut(self) -> None:
        """Update the states after all running episodes were cut off."""
        self._states = self._map(Agent.cut, self.agent, self._states)

    def state(self, i: int) -> Callable[[], LearnerState]:
        """A function that returns the present state of a run, also after later epochs."""
        now = gather(self._states)
        return lambda: self._map.nth(now, i)

    def acting_programs(self) -> list[Program]:
        """The programs that prepare the rollout."""
        if not isinstance(self._map, VectorMap):
            return []
        return [(vectorised(function, self.agent), (self._states,)) for function in (Agent.noise, Agent.acting)]

    def learning_programs(self) -> list[Program]:
        """The programs that learn from the rollout."""
        if not isinstance(self._map, VectorMap):
            return []
        before, rollouts = self._states, self._rollout_shapes()
        programs = {f: vectorised(f, self.agent) for f in (estimate, update, fit_critics, _update_normaliser, measure)}
        estimates = jax.eval_shape(programs[estimate], before, rollouts)
        state, step, cap = jax.eval_shape(programs[update], before, rollouts, estimates)
        after, losses = jax.eval_shape(programs[fit_critics], state, estimates)
        called: list[Program] = [
            (programs[update], (before, rollouts, estimates)),
            (programs[estimate], (before, rollouts)),
            (programs[fit_critics], (state, estimates)),
            (programs[measure], (before, after, rollouts, estimates, step, cap, losses)),
        ]
        if self.agent.settings.normalise_observations:
            called.append((programs[_update_normaliser], (after, rollouts)))
        return called

    def _rollout_shapes(self) -> Rollout:
        """A rollout of shapes instead of arrays."""
        sizes, horizon = self.agent.sizes, self.agent.settings.horizon

        def of_shape(*rest: int, dtype: DTypeLike = jnp.float32) -> PyTree:
            return jax.ShapeDtypeStruct((self._count, horizon, sizes.num_envs, *rest), dtype)

        observation, action, flag = of_shape(self.agent.observation_size), of_shape(sizes.action), of_shape(dtype=bool)
        taken = action if self.agent.algorithm.shield else None
        cost, number = of_shape(sizes.m), of_shape(dtype=jnp.int32)
        signed = cost if sizes.margins else None
        scene = Scene(number, number, number) if self.agent.settings.replay.share else None
        return Rollout(observation, observation, action, of_shape(), cost, flag, flag, taken, signed, scene)


@partial(jax.jit, static_argnums=0)
def _update_normaliser(agent: Agent, state: LearnerState, rollout: Rollout) -> LearnerState:
    """Add the observations of a rollout to the statistics of the normaliser."""
    if state.normaliser is None:
        return state
    return replace(state, normaliser=state.normaliser.after(rollout.observation[..., : agent.sizes.observation]))


def _offered_scenes(agent: Agent, state: LearnerState) -> Int[Array, "slot 2"]:
    if state.pool is None:
        raise ValueError("The state has no pool of scenes: begin with what `Agent.init` gives.")
    return state.pool.offered


@contextlib.contextmanager
def compiling(groups: Sequence[RunGroup]) -> Iterator[Callable[[], None]]:
    """Compile all programs in parallel. On an accelerator each takes a quarter of a minute.

    The programs that learn are compiled while the first rollout is collected. The function that this context manager
    yields waits for them. Compiled programs are passed on by JAX's cache on disk, so that without one nothing is done.
    """
    if not jax.config.values["jax_compilation_cache_dir"]:
        yield lambda: None
        return
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        acting = [pool.submit(_compile, program) for group in groups for program in group.acting_programs()]
        learning = [pool.submit(_submit_all, pool, group) for group in groups]
        _wait_for(acting)
        yield lambda: _wait_for(program for submitted in learning for program in submitted.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _submit_all(pool: ThreadPoolExecutor, group: RunGroup) -> "list[Future[None]]":
    return [pool.submit(_compile, program) for program in group.learning_programs()]


def _compile(program: Program) -> None:
    function, given = program
    function.lower(*given).compile()


def _wait_for(compiled: "Iterable[Future[None]]") -> None:
    for each in compiled:
        each.result()
