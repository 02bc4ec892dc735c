"""The trainings of one learner from several seeds, and how they are taught: one by one, or all at once.

One by one, each seed goes through the same programs as if it were alone, so the numbers are the same. All at once the
seeds are an axis of one program, which an accelerator does in little more time than one of them; sums are then taken
in another order, and the numbers differ by rounding.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ascpo.engines.gathering import here
from ascpo.engines.rollout import Rollout
from ascpo.training.journal import News, plain
from ascpo.training.learner import Learner
from ascpo.training.state import State

Lap = Callable[[str], None]
"""Told at the end of each part of an epoch."""


def nth(tree: Any, i: int) -> Any:
    """Of a stack of records."""
    return jax.tree.map(lambda leaf: leaf[i], tree)


class Pupils(Protocol):
    """States of one learner, by seed."""

    @property
    def learner(self) -> Learner: ...

    def __len__(self) -> int: ...

    def act(self) -> tuple[Float[Array, "seeds p"], Float[Array, "seeds time env act"]]:
        """What the actors go by in the next epoch: parameters and noise."""
        ...

    def one(self, rollout: Rollout) -> Any:
        """The rollout of the only seed, as `learn` wants it."""
        ...

    def several(self, rollout: Rollout) -> Any:
        """The rollouts of all seeds, which are the first axis of this one, as `learn` wants them."""
        ...

    def learn(self, rollouts: Any, lap: Lap) -> list[News]:
        """From a rollout for each seed. What is told is on the host."""
        ...

    def orders(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """Programs that it pays to compile side by side, each with what it will be called with."""
        ...

    def cut(self) -> None:
        """After all episodes have been cut."""
        ...

    def state(self, i: int) -> Callable[[], State]:
        """Where a training stands now, to be had later."""
        ...


class OneByOne:
    """Each goes its own way."""

    def __init__(self, learner: Learner, states: Sequence[State]) -> None:
        self.learner = learner
        self._states = list(states)

    def __len__(self) -> int:
        return len(self._states)

    def act(self) -> tuple[Float[Array, "seeds p"], Float[Array, "seeds time env act"]]:
        drawn = [self.learner.noise(state) for state in self._states]
        self._states = [state for state, _ in drawn]
        noise, theta = [noise for _, noise in drawn], [self.learner.acting(state) for state in self._states]
        return (theta[0][None], noise[0][None]) if len(drawn) == 1 else (jnp.stack(theta), jnp.stack(noise))

    def one(self, rollout: Rollout) -> list[Rollout]:
        return [rollout]

    def several(self, rollout: Rollout) -> list[Rollout]:
        return [nth(rollout, i) for i in range(len(self))]

    def orders(self) -> list[tuple[Any, tuple[Any, ...]]]:
        return []

    def learn(self, rollouts: Sequence[Rollout], lap: Lap) -> list[News]:
        learner, before = self.learner, self._states
        pairs = zip(before, rollouts, strict=True)
        judgements = jax.block_until_ready([learner.judge(state, rollout) for state, rollout in pairs])
        lap("TimeJudge")
        every = zip(before, rollouts, judgements, strict=True)
        improved = jax.block_until_ready([learner.improve(*each) for each in every])
        lap("TimePolicy")
        taught = [learner.teach(state, each) for (state, _), each in zip(improved, judgements, strict=True)]
        self._states = jax.block_until_ready([state for state, _ in taught])
        lap("TimeCritics")
        told = [
            learner.tell(before[i], self._states[i], rollouts[i], judgements[i], improved[i][1], taught[i][1])
            for i in range(len(before))
        ]
        return [News(**each) for each in jax.device_get(here([plain(each) for each in told]))]

    def cut(self) -> None:
        self._states = [self.learner.cut(state) for state in self._states]

    def state(self, i: int) -> Callable[[], State]:
        now = here(self._states[i])
        return lambda: now


class AllAtOnce:
    """One program for all: their states are stacked."""

    def __init__(self, learner: Learner, states: Sequence[State]) -> None:
        self.learner = learner
        self._count = len(states)
        self._states = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
        self._programs = _programs(learner)

    def __len__(self) -> int:
        return self._count

    def act(self) -> tuple[Float[Array, "seeds p"], Float[Array, "seeds time env act"]]:
        self._states, theta, noise = self._programs["act"](self._states)
        return theta, noise

    def one(self, rollout: Rollout) -> Rollout:
        return _stacked(rollout)

    def several(self, rollout: Rollout) -> Rollout:
        return rollout

    def learn(self, rollouts: Rollout, lap: Lap) -> list[News]:
        before = self._states
        judgement = jax.block_until_ready(self._programs["judge"](before, rollouts))
        lap("TimeJudge")
        state, step = jax.block_until_ready(self._programs["improve"](before, rollouts, judgement))
        lap("TimePolicy")
        self._states, losses = jax.block_until_ready(self._programs["teach"](state, judgement))
        lap("TimeCritics")
        told = self._programs["tell"](before, self._states, rollouts, judgement, step, losses)
        host = jax.device_get(here(plain(told)))
        return [News(**nth(host, i)) for i in range(self._count)]

    def cut(self) -> None:
        self._states = self._programs["cut"](self._states)

    def orders(self) -> list[tuple[Any, tuple[Any, ...]]]:
        programs, before, rollouts = self._programs, self._states, self._expected()
        judgement = jax.eval_shape(programs["judge"], before, rollouts)
        state, step = jax.eval_shape(programs["improve"], before, rollouts, judgement)
        after, losses = jax.eval_shape(programs["teach"], state, judgement)
        return [
            (programs["judge"], (before, rollouts)),
            (programs["improve"], (before, rollouts, judgement)),
            (programs["teach"], (state, judgement)),
            (programs["tell"], (before, after, rollouts, judgement, step, losses)),
        ]

    def _expected(self) -> Rollout:
        """The shape of what will come."""
        sizes, horizon = self.learner.sizes, self.learner.settings.horizon

        def shape(*rest: int, dtype: Any = jnp.float32) -> Any:
            return jax.ShapeDtypeStruct((self._count, horizon, sizes.num_envs, *rest), dtype)

        view, action, flag = shape(self.learner.view_size), shape(sizes.action), shape(dtype=bool)
        taken = action if self.learner.algorithm.shield else None
        return Rollout(view, view, action, shape(), shape(sizes.m), flag, flag, taken)

    def state(self, i: int) -> Callable[[], State]:
        now = here(self._states)
        return lambda: nth(now, i)


@jax.jit
def _stacked(rollout: Rollout) -> Rollout:
    """Of one seed, as if it were one of several."""
    return jax.tree.map(lambda leaf: leaf[None], rollout)


@lru_cache(maxsize=16)
def _programs(learner: Learner) -> dict[str, Callable[..., Any]]:
    def act(state: State) -> tuple[State, Array, Array]:
        state, noise = learner.noise(state)
        return state, learner.acting(state), noise

    parts = {
        "act": act,
        "judge": learner.judge,
        "improve": learner.improve,
        "teach": learner.teach,
        "tell": learner.tell,
        "cut": learner.cut,
    }
    return {name: jax.jit(jax.vmap(part)) for name, part in parts.items()}


def pupils(learner: Learner, states: Sequence[State]) -> Pupils:
    """As it is fastest: an accelerator has room for all of them at once, a host for one."""
    return OneByOne(learner, states) if jax.default_backend() == "cpu" else AllAtOnce(learner, states)


def compile_ahead(groups: Sequence[Pupils]) -> None:
    """All programs at the same time: those of an accelerator take a quarter of a minute each.

    They are kept on disk, and found there when they are first called. Where nothing is kept, there is nothing to gain.
    """
    if not jax.config.values["jax_compilation_cache_dir"]:
        return
    orders = [order for group in groups for order in group.orders()]
    lowered = [program.lower(*args) for program, args in orders]
    with ThreadPoolExecutor(max(1, len(lowered))) as pool:
        list(pool.map(lambda each: each.compile(), lowered))
