"""One iteration, the same for every algorithm: judge a rollout, improve the policy, teach the critics.

A `Learner` is the compiled functions of an algorithm; what changes is in its `State`, arrays alone.
"""

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Key, PyTree

from ascpo.algorithms.algorithm import Algorithm, Clipped, CostCritics
from ascpo.engines.precision import precise
from ascpo.engines.rollout import Actor, Rollout
from ascpo.experience.advantages import explained_variance, judge, settled
from ascpo.experience.episodes import Totals, follow, none_yet, summarise
from ascpo.experience.memory import running_maximum, running_sum
from ascpo.experience.signals import Costs
from ascpo.experience.tail import Tail, tail_of
from ascpo.experience.window import Window, empty
from ascpo.networks.critics import Critic
from ascpo.networks.fitting import Fit, Lesson, optimiser, teach
from ascpo.networks.flat import flatten
from ascpo.networks.multiplier import Multiplier
from ascpo.networks.policy import Policy
from ascpo.networks.shield import lesson, shielded
from ascpo.surrogates.evidence import Evidence, Weights, centred, normalised
from ascpo.surrogates.reward import loss_of_reward
from ascpo.training.ask import asked, unknown
from ascpo.training.settings import Settings
from ascpo.training.state import Guard, Judge, Judgement, Mover, Sizes, State, Told
from ascpo.trust_region.descent import descend
from ascpo.trust_region.fisher import gauss_newton
from ascpo.trust_region.line_search import Evaluation
from ascpo.trust_region.projection import Projection, take_projected_step
from ascpo.trust_region.step import Report, take_step


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

    def start(self, seed: int, epochs: int = 1) -> State:
        """Before the first of so many epochs."""
        key, policy_key, value_key, cost_key = jax.random.split(jax.random.key(seed), 4)
        settings, view = self.settings, self.view_size
        policy = Policy(
            view, self.sizes.action, settings.hidden, initial_log_std=settings.initial_log_std, key=policy_key
        )
        networks: dict[str, eqx.Module] = {"value": Critic(view, 1, settings.hidden, key=value_key)}
        if critics := self.algorithm.cost_critics:
            k, bias = critics.per_constraint * self.sizes.m, settings.output_bias if critics.head != "linear" else None
            networks["cost"] = Critic(view, k, settings.hidden, head=critics.head, output_bias=bias, key=cost_key)
        if shield := self.algorithm.shield:
            sizes = (view, self.sizes.action, self.sizes.m, settings.hidden)
            networks["shield"] = shield.network(*sizes, jax.random.fold_in(cost_key, 1))
        theta, rebuild = flatten(policy)
        arrays, rest = eqx.partition(networks, eqx.is_inexact_array)
        if not self._parts:
            self._parts.update(rest, policy=rebuild, policy_size=theta.size)
            self._parts["unravel"] = ravel_pytree(arrays.get("shield"))[1]
        state = self._start(key, theta, arrays)
        if self.multiplier is not None:
            begun = self.multiplier.start(view, self.sizes.m, settings.hidden, jax.random.fold_in(cost_key, 2))
            state = replace(state, multiplier=begun)
        if shield and state.shield is not None:
            begins = jnp.asarray(math.ceil(shield.warm_up * epochs), jnp.int32)
            state = replace(state, shield=replace(state.shield, begins=begins))
        return state

    @partial(jax.jit, static_argnums=0)
    def _start(self, key: Key[Array, ""], theta: Float[Array, " p"], arrays: dict[str, PyTree]) -> State:
        """One program, where going step by step would be a hundred small ones to compile."""
        settings, algorithm, m = self.settings, self.algorithm, self.sizes.m
        cost, window, guard = None, None, None
        if critics := algorithm.cost_critics:
            cost = _judge(arrays["cost"], settings.cost_fit)
            steps = settings.cost_fit.window * settings.horizon
            window = empty(steps, self.sizes.num_envs, self.view_size, critics.per_constraint * m)
        if algorithm.shield:
            nothing = jnp.zeros((), jnp.int32)
            guard = Guard(_judge(arrays["shield"], algorithm.shield.fit), nothing, nothing)
        return State(
            key=key,
            theta=theta,
            value=_judge(arrays["value"], settings.value_fit),
            cost=cost,
            window=window,
            running=none_yet(self.sizes.num_envs, m),
            trend=unknown(m),
            adam=algorithm.step.descent.start(theta) if isinstance(algorithm.step, Clipped) else None,
            shield=guard,
            nu=jnp.zeros(m) if algorithm.tail else None,
        )

    @property
    def multiplier(self) -> Multiplier | None:
        return self.algorithm.penalty.multiplier if self.algorithm.penalty else None

    def actor(self) -> Actor:
        """The policy, as engines want it. After `start`."""
        if "actor" not in self._parts:
            # One for all trainings: what engines compile for an actor, they compile once.
            rebuild, memory, shield = self._parts["policy"], self.algorithm.memory, self.algorithm.shield
            size, unravel = self._parts["policy_size"], self._parts["unravel"]

            def act(theta: Array, view: Array, noise: Array) -> Array:
                return rebuild(theta if shield is None else theta[:size]).act(view, noise)

            def guard(theta: Array, view: Array, action: Array) -> Array:
                rest = theta[size:]
                return self._guarded(unravel(rest[:-1]), rest[-1] > 0, view, action)

            self._parts["actor"] = Actor(
                start=memory.start(self.sizes.m),
                after=memory.after,
                act=act,
                shield=None if shield is None else guard,
            )
        return self._parts["actor"]

    def acting(self, state: State) -> Float[Array, " p"]:
        """All that the actor goes by, as one vector: the policy's parameters, and its shield's."""
        if state.shield is None:
            return state.theta
        flat = ravel_pytree(state.shield.judge.arrays)[0]
        return jnp.concatenate([state.theta, flat, state.shield.active[None].astype(jnp.float32)])

    def noise(self, state: State) -> tuple[State, Float[Array, "time env act"]]:
        """For one epoch's actions."""
        key, noise_key = jax.random.split(state.key)
        shape = (self.settings.horizon, self.sizes.num_envs, self.sizes.action)
        return replace(state, key=key), _normal(noise_key, shape)

    def judge(self, state: State, rollout: Rollout) -> Judgement:
        return self._judge(state.value.arrays, state.cost, state.window, state.running, state.shield, state.nu, rollout)

    def improve(
        self, state: State, rollout: Rollout, judgement: Judgement
    ) -> tuple[State, tuple[Report, Float[Array, ""]]]:
        changed, report, share = self._improve(
            Mover(state.theta, state.trend, state.adam, state.multiplier, state.nu),
            rollout.view,
            rollout.action,
            judgement.evidence,
        )
        return replace(state, **vars(changed)), (report, share)

    def teach(self, state: State, judgement: Judgement) -> tuple[State, dict[str, Float[Array, ""]]]:
        """Fit the critics: each to its own lesson."""
        key, value_key, cost_key = jax.random.split(state.key, 3)
        value, value_loss = self._teach_value(state.value, judgement.lesson, value_key)
        state = replace(state, key=key, value=value, running=judgement.running)
        losses = {"value": value_loss}
        if judgement.window is not None:
            cost, losses["cost"] = self._teach_cost(state.cost, judgement.window, cost_key)
            state = replace(state, cost=cost, window=judgement.window)
        if state.shield is not None and judgement.shield_lesson is not None:
            taught, losses["shield"] = self._teach_shield(state.shield.judge, judgement.shield_lesson, cost_key)
            state = replace(state, shield=replace(state.shield, judge=taught, epochs=state.shield.epochs + 1))
        return state, losses

    def cut(self, state: State) -> State:
        """After all episodes have been cut: what follows them will never be known."""
        window = None if state.window is None else state.window.cut()
        return replace(state, running=none_yet(self.sizes.num_envs, self.sizes.m), window=window)

    def policy(self, theta: Float[Array, " p"]) -> Policy:
        return self._parts["policy"](theta)

    def tell(
        self,
        before: State,
        after: State,
        rollout: Rollout,
        judgement: Judgement,
        step: tuple[Report, Float[Array, ""]],
        losses: dict[str, Float[Array, ""]],
    ) -> Told:
        """Of an epoch, from the state before it and the state after it."""
        lesson = judgement.lesson.view if self.multiplier is not None else None
        told = (before.multiplier, lesson, judgement.evidence.tail, judgement.interventions)
        totals, extras = self._tell(after.theta, rollout.cost, *told)
        report, share = step
        log_std, total_cost, worst_cost, finite = totals
        return Told(
            episodes=judgement.evidence.episodes,
            report=report,
            share=share,
            losses=losses,
            explained=judgement.explained,
            cost_explained=judgement.cost_explained,
            cost_bias=judgement.cost_bias,
            log_std=log_std,
            total_cost=total_cost,
            worst_cost=worst_cost,
            finite=finite,
            extras=extras,
        )

    @partial(jax.jit, static_argnums=0)
    @precise
    def _tell(
        self,
        theta: Float[Array, " p"],
        cost: Float[Array, "time env m"],
        multiplier: PyTree,
        view: Float[Array, "time env view"] | None,
        tail: Tail | None,
        interventions: Float[Array, "2"] | None,
    ) -> tuple[tuple[Array, Array, Array, Array], dict[str, Float[Array, ""]]]:
        totals = (jnp.mean(self.policy(theta).log_std), jnp.sum(cost), jnp.max(cost), jnp.all(jnp.isfinite(theta)))
        extras: dict[str, Float[Array, ""]] = {}
        if self.multiplier is not None and view is not None:
            value = self.multiplier.value(multiplier, view)
            extras["Multiplier"] = jnp.max(jnp.mean(value.reshape(-1, self.sizes.m), axis=0))
        if interventions is not None:
            extras |= {"ShieldRate": interventions[0], "ShieldShift": interventions[1]}
        if self.algorithm.tail and tail is not None:
            extras |= {"VaR": jnp.max(tail.nu), "CVaR": jnp.max(tail.cvar(self.algorithm.tail.alpha))}
        return totals, extras

    def _network(self, which: str, arrays: PyTree) -> Any:
        return eqx.combine(arrays, self._parts[which])

    @partial(jax.jit, static_argnums=0)
    @precise
    def _judge(
        self,
        value: PyTree,
        cost: Judge | None,
        window: Window | None,
        running: Totals,
        guard: Guard | None,
        nu: Float[Array, " m"] | None,
        rollout: Rollout,
    ) -> Judgement:
        done, finished = rollout.done, settled(rollout.done)
        critic = self._network("value", value)
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
        of_value = Lesson(rollout.view, judged.target[..., None], everything, done, everything)
        blank = jnp.zeros((*done.shape, 0))
        evidence = Evidence(normalised(judged.advantage), blank, blank, episodes)
        explained = explained_variance(V, judged.target, finished)
        nothing = jnp.zeros(0)
        judgement = Judgement(evidence, of_value, None, still_running, explained, nothing, nothing)
        if guard is not None:
            judgement = self._watched(judgement, guard, rollout)
        if cost is None or window is None:
            return judgement

        critics = self._cost_critics
        critic = self._network("cost", cost.arrays)
        maxima = running_maximum(rollout.cost, done, running.maximum)
        sums = running_sum(rollout.cost, done, running.cost)
        at_risk = jnp.zeros(self.sizes.m) if nu is None else nu
        signal = critics.signal(Costs(rollout.cost, *maxima, jnp.array(self.limits), *sums, at_risk))
        W = critic(rollout.view)
        over_signals = jax.vmap(
            partial(
                judge,
                discount=critics.discount,
                decay=critics.decay if self.settings.cost_decay is None else self.settings.cost_decay,
                beyond_time_limit=critics.beyond_time_limit,
            ),
            in_axes=(-1, -1, -1, None, None),
            out_axes=-1,
        )
        costly = over_signals(signal, W, critic(rollout.next_view), rollout.terminated, rollout.truncated)
        newest = Window(rollout.view, signal, costly.following, done, everything)
        evidence = replace(
            evidence,
            cost_advantage=centred(costly.advantage),
            cost_residual=costly.residual,
            cost_to_go=costly.target if self.multiplier is not None and self.multiplier.of_states else None,
            tail=tail_of(sums[1], done, at_risk, self.algorithm.tail.alpha) if self.algorithm.tail else None,
        )
        cost_explained = jax.vmap(explained_variance, in_axes=(-1, -1, None))(W, costly.target, finished)
        return replace(
            judgement,
            evidence=evidence,
            window=window.push(newest),
            cost_explained=cost_explained,
            cost_bias=_bias(W, costly.target, finished),
        )

    def _guarded(
        self, arrays: PyTree, active: Bool[Array, ""], view: Float[Array, " view"], action: Float[Array, " act"]
    ) -> Float[Array, " act"]:
        """The action that is taken."""
        if self.algorithm.shield is None:
            return action
        limits = jnp.array(self.limits) - self.settings.margin
        return shielded(self.algorithm.shield, self._network("shield", arrays), active, view, action, limits)

    def _watched(self, judgement: Judgement, guard: Guard, rollout: Rollout) -> Judgement:
        """With what the shield did, and what it should learn."""
        shield, arrays = self.algorithm.shield, guard.judge.arrays
        taken = rollout.taken
        if shield is None or taken is None:
            return judgement
        shift = jnp.linalg.norm(jnp.clip(taken, -1, 1) - jnp.clip(rollout.action, -1, 1), axis=-1)
        changed = shift > 1e-6
        far = jnp.sum(shift * changed) / jnp.maximum(jnp.sum(changed), 1)
        network = self._network("shield", arrays)
        return replace(
            judgement,
            shield_lesson=lesson(shield, network, rollout.view, taken, rollout.cost, rollout.done),
            interventions=jnp.stack([jnp.mean(changed), far]),
        )

    @partial(jax.jit, static_argnums=0)
    @precise
    def _improve(
        self,
        at: Mover,
        view: Float[Array, "time env view"],
        action: Float[Array, "time env act"],
        evidence: Evidence,
    ) -> tuple[Mover, Report, Float[Array, ""]]:
        settings, algorithm = self.settings, self.algorithm
        constraint, rebuild = algorithm.constraint, self._parts["policy"]
        limits = jnp.array(self.limits) - settings.margin
        old = rebuild(at.theta)(view)
        old_log_prob = old.log_prob(action)
        clipped = algorithm.step if isinstance(algorithm.step, Clipped) else None
        multiplier = None if self.multiplier is None else self.multiplier.value(at.multiplier, view)

        def evaluate(theta: Float[Array, " p"]) -> Evaluation:
            new = rebuild(theta)(view)
            ratio = jnp.exp(new.log_prob(action) - old_log_prob)
            loss = loss_of_reward(evidence, Weights(ratio, clipped.clip if clipped else None))
            weights = Weights(ratio, clipped.clip if clipped and clipped.clip_costs else None)
            if algorithm.penalty:
                loss = algorithm.penalty.added(loss, evidence, weights, multiplier, limits)
            X = constraint.surrogate(evidence, weights) if constraint else jnp.zeros(0)
            return Evaluation(loss, X, jnp.mean(old.divergence(new)))

        trend = at.trend.after(evidence.episodes, settings.ask)
        share, wanted = asked(trend, settings.ask, settings.probability)
        after = replace(at, trend=trend, multiplier=self._climbed(at.multiplier, view, evidence, limits))
        if at.nu is not None and algorithm.tail and evidence.tail:
            kept = algorithm.tail.memory
            after = replace(after, nu=kept * at.nu + (1.0 - kept) * evidence.tail.quantile)
        told = jnp.asarray(share if share is not None else jnp.nan)
        if clipped:
            theta, adam, report = descend(evaluate, at.theta, at.adam, settings.trust_region.delta, clipped.descent)
            return replace(after, theta=theta, adam=adam), report, told

        some = view[:: settings.trust_region.fisher_stride]
        product = gauss_newton(
            lambda theta: rebuild(theta)(some),
            lambda at, tangent: at.metric(tangent),
            at.theta,
            settings.trust_region.damping,
        )
        c = constraint.offset(evidence, limits) if constraint else jnp.zeros(0)
        wanted = wanted if constraint else None
        if isinstance(algorithm.step, Projection):
            theta, report = take_projected_step(
                evaluate, product, at.theta, c, settings.trust_region, algorithm.step, wanted=wanted
            )
        else:
            theta, report = take_step(evaluate, product, at.theta, c, settings.trust_region, share=share, wanted=wanted)
        return replace(after, theta=theta), report, told

    def _climbed(
        self, multiplier: PyTree, view: Float[Array, "time env view"], evidence: Evidence, limits: Float[Array, " m"]
    ) -> PyTree:
        penalty = self.algorithm.penalty
        if penalty is None or penalty.multiplier is None:
            return multiplier
        violation = penalty.violation(evidence, limits) if penalty.violation else limits
        to_go = None if evidence.cost_to_go is None else evidence.cost_to_go - limits
        return penalty.multiplier.climb(multiplier, view, violation, to_go)

    @partial(jax.jit, static_argnums=0)
    @precise
    def _teach_value(self, value: Judge, lesson: Lesson, key: Key[Array, ""]) -> tuple[Judge, Float[Array, ""]]:
        critic, adam, loss = teach(
            self._network("value", value.arrays), value.adam, lesson, key, self.settings.value_fit
        )
        return Judge(eqx.filter(critic, eqx.is_inexact_array), adam), loss

    @partial(jax.jit, static_argnums=0)
    @precise
    def _teach_cost(self, cost: Judge, window: Window, key: Key[Array, ""]) -> tuple[Judge, Float[Array, ""]]:
        discount = self._cost_critics.discount
        told = Lesson(window.view, window.targets(discount), window.happened(), window.done, window.known)
        critic, adam, loss = teach(self._network("cost", cost.arrays), cost.adam, told, key, self.settings.cost_fit)
        return Judge(eqx.filter(critic, eqx.is_inexact_array), adam), loss

    @partial(jax.jit, static_argnums=0)
    @precise
    def _teach_shield(self, judge: Judge, lesson: Lesson, key: Key[Array, ""]) -> tuple[Judge, Float[Array, ""]]:
        fit = self.algorithm.shield.fit if self.algorithm.shield else Fit()
        network, adam, loss = teach(self._network("shield", judge.arrays), judge.adam, lesson, key, fit)
        return Judge(eqx.filter(network, eqx.is_inexact_array), adam), loss

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
