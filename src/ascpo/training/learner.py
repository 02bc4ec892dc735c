"""One iteration, the same for every algorithm: judge a rollout, improve the policy, teach the critics.

A `Learner` is the compiled functions of an algorithm; what changes is in its `State`, arrays alone.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from ascpo.algorithms.algorithm import Algorithm, CostCritics
from ascpo.engines.rollout import Actor, Rollout
from ascpo.experience.advantages import explained_variance, judge, settled
from ascpo.experience.episodes import Totals, follow, none_yet, summarise
from ascpo.experience.memory import running_maximum
from ascpo.experience.signals import Costs
from ascpo.experience.window import Window, empty
from ascpo.networks.critics import Critic
from ascpo.networks.fitting import Fit, Lesson, optimiser, teach
from ascpo.networks.flat import flatten
from ascpo.networks.policy import Policy
from ascpo.surrogates.evidence import Evidence, centred, normalised
from ascpo.surrogates.reward import expected_reward
from ascpo.training.ask import Trend, asked, unknown
from ascpo.training.settings import Settings
from ascpo.trust_region.fisher import gauss_newton
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.step import Report, take_step


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Judge:
    """A critic and its optimiser's state: arrays alone."""

    arrays: PyTree
    adam: PyTree


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """All that a training carries from epoch to epoch."""

    key: Key[Array, ""]
    theta: Float[Array, " p"]
    """The policy's parameters."""
    value: Judge
    cost: Judge | None
    window: Window | None
    running: Totals
    """Of the episodes that go on."""
    trend: Trend


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Judgement:
    """What a rollout says, and what the critics should learn from it."""

    evidence: Evidence
    lesson: Lesson
    window: Window | None
    running: Totals
    explained: Float[Array, ""]
    """Explained variance of the reward's critic, on episodes it has not seen."""
    cost_explained: Float[Array, " k"]
    cost_bias: Float[Array, " k"]
    """By how much the cost critics expect too much, as a multiple of the truth's mean."""


@dataclass(frozen=True)
class Sizes:
    """Of an environment."""

    num_envs: int
    observation: int
    action: int
    m: int


@dataclass(frozen=True)
class Learner:
    """An algorithm, compiled for an environment's sizes."""

    algorithm: Algorithm
    settings: Settings
    sizes: Sizes
    limits: tuple[float, ...]
    _parts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def view_size(self) -> int:
        return self.sizes.observation + len(self.algorithm.memory.start(self.sizes.m))

    def start(self, seed: int) -> State:
        """Before the first epoch."""
        key, policy_key, value_key, cost_key = jax.random.split(jax.random.key(seed), 4)
        settings, view = self.settings, self.view_size
        policy = Policy(
            view, self.sizes.action, settings.hidden, initial_log_std=settings.initial_log_std, key=policy_key
        )
        value, cost = Critic(view, 1, settings.hidden, key=value_key), None
        if critics := self.algorithm.cost_critics:
            k = critics.per_constraint * self.sizes.m
            cost = Critic(view, k, settings.hidden, head=critics.head, output_bias=critics.output_bias, key=cost_key)
        theta, rebuild = flatten(policy)
        networks = {"value": value, "cost": cost}
        arrays, rest = eqx.partition(networks, eqx.is_inexact_array)
        if not self._parts:
            self._parts.update(rest, policy=rebuild)
        return self._start(key, theta, arrays)

    @partial(jax.jit, static_argnums=0)
    def _start(self, key: Key[Array, ""], theta: Float[Array, " p"], critic_arrays: PyTree) -> State:
        """One program, where going step by step would be a hundred small ones to compile."""
        cost, window = None, None
        if critics := self.algorithm.cost_critics:
            cost = _judge(critic_arrays["cost"], critics.fit)
            k = critics.per_constraint * self.sizes.m
            window = empty(critics.fit.window * self.settings.horizon, self.sizes.num_envs, self.view_size, k)
        return State(
            key=key,
            theta=theta,
            value=_judge(critic_arrays["value"], self.settings.value_fit),
            cost=cost,
            window=window,
            running=none_yet(self.sizes.num_envs, self.sizes.m),
            trend=unknown(self.sizes.m),
        )

    def actor(self) -> Actor:
        """The policy, as engines want it. After `start`."""
        if "actor" not in self._parts:
            # One for all trainings: what engines compile for an actor, they compile once.
            rebuild, memory = self._parts["policy"], self.algorithm.memory
            self._parts["actor"] = Actor(
                start=memory.start(self.sizes.m),
                after=memory.after,
                act=lambda theta, view, noise: rebuild(theta).act(view, noise),
            )
        return self._parts["actor"]

    def noise(self, state: State) -> tuple[State, Float[np.ndarray, "time env act"]]:
        """For one epoch's actions."""
        key, noise_key = jax.random.split(state.key)
        shape = (self.settings.horizon, self.sizes.num_envs, self.sizes.action)
        return replace(state, key=key), np.asarray(_normal(noise_key, shape))

    def judge(self, state: State, rollout: Rollout) -> Judgement:
        return self._judge(state.value.arrays, state.cost, state.window, state.running, rollout)

    def improve(
        self, state: State, rollout: Rollout, judgement: Judgement
    ) -> tuple[State, tuple[Report, Float[Array, ""]]]:
        theta, trend, report, share = self._improve(
            state.theta, state.trend, rollout.view, rollout.action, judgement.evidence
        )
        return replace(state, theta=theta, trend=trend), (report, share)

    def teach(self, state: State, judgement: Judgement) -> tuple[State, dict[str, Float[Array, ""]]]:
        """Fit the critics: each to its own lesson."""
        key, value_key, cost_key = jax.random.split(state.key, 3)
        value, value_loss = self._teach_value(state.value, judgement.lesson, value_key)
        state = replace(state, key=key, value=value, running=judgement.running)
        losses = {"value": value_loss}
        if judgement.window is not None:
            cost, losses["cost"] = self._teach_cost(state.cost, judgement.window, cost_key)
            state = replace(state, cost=cost, window=judgement.window)
        return state, losses

    def cut(self, state: State) -> State:
        """After all episodes have been cut: what follows them will never be known."""
        window = None if state.window is None else state.window.cut()
        return replace(state, running=none_yet(self.sizes.num_envs, self.sizes.m), window=window)

    def policy(self, theta: Float[Array, " p"]) -> Policy:
        return self._parts["policy"](theta)

    @partial(jax.jit, static_argnums=0)
    def log_std(self, theta: Float[Array, " p"]) -> Float[Array, " act"]:
        return self.policy(theta).log_std

    def _critic(self, which: str, arrays: PyTree) -> Critic:
        return eqx.combine(arrays, self._parts[which])

    @partial(jax.jit, static_argnums=0)
    def _judge(
        self, value: PyTree, cost: Judge | None, window: Window | None, running: Totals, rollout: Rollout
    ) -> Judgement:
        done, finished = rollout.done, settled(rollout.done)
        critic = self._critic("value", value)
        V = critic(rollout.view)[..., 0]
        judged = judge(
            rollout.reward,
            V,
            critic(rollout.next_view)[..., 0],
            rollout.terminated,
            rollout.truncated,
            discount=self.settings.discount,
            decay=self.settings.decay,
            beyond_time_limit=True,
        )
        still_running, totals = follow(running, rollout)
        episodes = summarise(totals, still_running, done, rollout.truncated, jnp.array(self.limits))
        everything = jnp.ones_like(done)
        lesson = Lesson(rollout.view, judged.target[..., None], everything, done, everything)
        blank = jnp.zeros((*done.shape, 0))
        evidence = Evidence(normalised(judged.advantage), blank, blank, episodes)
        explained = explained_variance(V, judged.target, finished)
        nothing = jnp.zeros(0)
        if cost is None or window is None:
            return Judgement(evidence, lesson, None, still_running, explained, nothing, nothing)

        critics = self._cost_critics
        critic = self._critic("cost", cost.arrays)
        maxima = running_maximum(rollout.cost, done, running.maximum)
        signal = critics.signal(Costs(rollout.cost, *maxima, jnp.array(self.limits)))
        W = critic(rollout.view)
        over_signals = jax.vmap(
            partial(
                judge,
                discount=critics.discount,
                decay=critics.decay,
                beyond_time_limit=critics.beyond_time_limit,
            ),
            in_axes=(-1, -1, -1, None, None),
            out_axes=-1,
        )
        costly = over_signals(signal, W, critic(rollout.next_view), rollout.terminated, rollout.truncated)
        newest = Window(rollout.view, signal, costly.following, done, everything)
        evidence = replace(evidence, cost_advantage=centred(costly.advantage), cost_residual=costly.residual)
        cost_explained = jax.vmap(explained_variance, in_axes=(-1, -1, None))(W, costly.target, finished)
        return Judgement(
            evidence,
            lesson,
            window.push(newest),
            still_running,
            explained,
            cost_explained,
            _bias(W, costly.target, finished),
        )

    @partial(jax.jit, static_argnums=0)
    def _improve(
        self,
        theta: Float[Array, " p"],
        trend: Trend,
        view: Float[Array, "time env view"],
        action: Float[Array, "time env act"],
        evidence: Evidence,
    ) -> tuple[Float[Array, " p"], Trend, Report, Float[Array, ""]]:
        settings, constraint = self.settings, self.algorithm.constraint
        rebuild = self._parts["policy"]
        old = rebuild(theta)(view)
        old_log_prob = old.log_prob(action)

        def evaluate(theta: Float[Array, " p"]) -> Evaluation:
            new = rebuild(theta)(view)
            ratio = jnp.exp(new.log_prob(action) - old_log_prob)
            X = constraint.surrogate(evidence, ratio) if constraint else jnp.zeros(0)
            return Evaluation(-expected_reward(evidence, ratio), X, jnp.mean(old.divergence(new)))

        some = view[:: settings.trust_region.fisher_stride]
        product = gauss_newton(
            lambda theta: rebuild(theta)(some),
            lambda at, tangent: at.metric(tangent),
            theta,
            settings.trust_region.damping,
        )
        limits = jnp.array(self.limits) - settings.margin
        c = constraint.offset(evidence, limits) if constraint else jnp.zeros(0)
        trend = trend.after(evidence.episodes, settings.ask)
        share, wanted = asked(trend, settings.ask, settings.probability)
        theta, report = take_step(
            evaluate, product, theta, c, settings.trust_region, share=share, wanted=wanted if constraint else None
        )
        return theta, trend, report, jnp.asarray(share if share is not None else jnp.nan)

    @partial(jax.jit, static_argnums=0)
    def _teach_value(self, value: Judge, lesson: Lesson, key: Key[Array, ""]) -> tuple[Judge, Float[Array, ""]]:
        critic, adam, loss = teach(
            self._critic("value", value.arrays), value.adam, lesson, key, self.settings.value_fit
        )
        return Judge(eqx.filter(critic, eqx.is_inexact_array), adam), loss

    @partial(jax.jit, static_argnums=0)
    def _teach_cost(self, cost: Judge, window: Window, key: Key[Array, ""]) -> tuple[Judge, Float[Array, ""]]:
        critics = self._cost_critics
        lesson = Lesson(window.view, window.targets(critics.discount), window.happened(), window.done, window.known)
        critic, adam, loss = teach(self._critic("cost", cost.arrays), cost.adam, lesson, key, critics.fit)
        return Judge(eqx.filter(critic, eqx.is_inexact_array), adam), loss

    @property
    def _cost_critics(self) -> CostCritics:
        if self.algorithm.cost_critics is None:
            raise ValueError(f"{self.algorithm.name} has no cost critics.")
        return self.algorithm.cost_critics

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _judge(arrays: PyTree, fit: Fit) -> Judge:
    return Judge(arrays, optimiser(fit).init(arrays))


@partial(jax.jit, static_argnums=1)
def _normal(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "time env act"]:
    return jax.random.normal(key, shape)


def _bias(
    prediction: Float[Array, "time env k"], truth: Float[Array, "time env k"], where: Float[Array, "time env"]
) -> Float[Array, " k"]:
    def total(x: Float[Array, "time env k"]) -> Float[Array, " k"]:
        return jnp.sum(jnp.where(where[..., None], x, 0.0), axis=(0, 1))

    return total(prediction) / jnp.maximum(total(truth), 1e-9) - 1.0
