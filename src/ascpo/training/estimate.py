"""Estimates from a rollout: advantages, episode statistics, and the batches that the critics are fitted to."""

from dataclasses import replace
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ascpo.algorithms.algorithm import CostCritics
from ascpo.engines.contract import Rollout
from ascpo.engines.precision import precise
from ascpo.experience.augmentation import running_maximum, running_sum
from ascpo.experience.cvar import cost_tail, nu_of_episodes
from ascpo.experience.episodes import EpisodeTotals, accumulate_totals, episode_statistics, over_limit
from ascpo.experience.gae import Advantages, ends_within, explained_variance, gae, relative_bias
from ascpo.experience.near_miss import NearMiss
from ascpo.experience.scene_replay import ReplayPool, StepWeights, step_weights
from ascpo.experience.signals import Costs
from ascpo.experience.trend import episode_sums
from ascpo.experience.window import Window
from ascpo.networks.fit import FitBatch
from ascpo.networks.shield import CHANGED, Shield, moved_by, shield_batch
from ascpo.surrogates.evidence import Evidence, centred, normalised
from ascpo.surrogates.maximum import ChernoffBound
from ascpo.training.agent import Agent
from ascpo.training.state import CriticQuality, Estimates, LearnerState, ShieldState

Part = TypeVar("Part")


@partial(jax.jit, static_argnums=0)
@precise
def estimate(agent: Agent, state: LearnerState, rollout: Rollout) -> Estimates:
    """All estimates of an epoch."""
    raw, network_input = rollout.observation, partial(agent.network_input, state.normaliser)
    rollout = replace(rollout, observation=network_input(raw), next_observation=network_input(rollout.next_observation))
    running, totals = accumulate_totals(state.running, rollout)
    estimates = _reward_estimates(agent, state, rollout, totals, running)
    shield, critics = agent.algorithm.shield, agent.algorithm.cost_critics
    if shield is not None and state.shield is not None:
        estimates = _with_shield(agent, shield, state.shield, rollout, estimates)
    if critics is not None:
        nu, episode_nu = _nu_of_steps(state, rollout)
        costs = _costs(agent, state, rollout, nu)
        estimates = _with_trend(agent, state, rollout, totals, costs, replace(estimates, episode_nu=episode_nu))
        if state.near_miss is not None:
            costs, near_miss = _near_miss_costs(agent, state.near_miss, rollout, nu)
            estimates = replace(estimates, near_miss=near_miss)
        if state.pool is not None:
            estimates = _with_replay(agent, state.pool, rollout, costs, estimates)
        estimates = _with_costs(agent, critics, state, rollout, raw, costs, estimates)
    return estimates


def _reward_estimates(
    agent: Agent, state: LearnerState, rollout: Rollout, totals: EpisodeTotals, running: EpisodeTotals
) -> Estimates:
    done = rollout.done
    critic = agent.value_critic(state.value.params)
    V = critic(rollout.observation)[..., 0]
    reward = gae(
        rollout.reward,
        V,
        critic(rollout.next_observation)[..., 0],
        rollout.terminated,
        rollout.truncated,
        discount=agent.settings.discount,
        gae_lambda=agent.settings.gae_lambda,
        bootstrap_on_timeout=True,
    )
    kind, fresh = agent.algorithm.limits_on, rollout.fresh
    of_finished = partial(episode_statistics, totals, running, done, rollout.truncated, kind=kind, fresh=fresh)
    episodes = of_finished(limits=jnp.array(agent.limits))
    learned_from = of_finished(limits=agent.learning_limits) if agent.settings.margin else episodes
    everything, no_costs, nothing = jnp.ones_like(done), jnp.zeros((*done.shape, 0)), jnp.zeros(0)
    explained = explained_variance(V, reward.target, _in_fresh_scenes(fresh, ends_within(done)))
    advantage = normalised(reward.advantage, None if fresh is None else fresh.astype(jnp.float32))
    return Estimates(
        evidence=Evidence(advantage, no_costs, no_costs, learned_from),
        value_batch=FitBatch(
            rollout.observation, reward.target[..., None], everything, done, _in_fresh_scenes(fresh, everything)
        ),
        running=running,
        quality=CriticQuality(explained, nothing, nothing),
        episodes=episodes,
    )


def _with_trend(
    agent: Agent, state: LearnerState, rollout: Rollout, totals: EpisodeTotals, costs: Costs, estimates: Estimates
) -> Estimates:
    """Add the statistics of the last epochs, and the number of episodes that the steps of the rollout amount to."""
    sums = episode_sums(costs, rollout, agent.algorithm.limits_on)
    trend = _required(state.trend).after(sums, totals, agent.smoothing)
    episodes = replace(estimates.evidence.episodes, count=rollout.done.size / trend.length)
    return replace(estimates, evidence=replace(estimates.evidence, episodes=episodes, trend=trend))


def _with_replay(agent: Agent, pool: ReplayPool, rollout: Rollout, costs: Costs, estimates: Estimates) -> Estimates:
    """Add the weight of every step, and the scenes that the next epoch may replay."""
    trend, scene = _required(estimates.evidence.trend), rollout.scene
    if scene is None:
        raise ValueError("A rollout with replays must say which scenes it plays. Give the engine a batch with replay.")
    limited = costs.M_next if agent.algorithm.limits_on == "state" else costs.Z_next
    violated = jnp.any(over_limit(limited, costs.w), axis=-1)
    after = pool.after(scene, rollout.done, violated, agent.smoothing)
    weights = step_weights(pool, after, scene, agent.settings.replay.share, trend.longest)
    return replace(estimates, pool=after, evidence=replace(estimates.evidence, step_weights=weights))


def _costs(agent: Agent, state: LearnerState, rollout: Rollout, nu: Float[Array, "time env m"]) -> Costs:
    M, M_next = running_maximum(rollout.cost, rollout.done, state.running.max_cost)
    Z, Z_next = running_sum(rollout.cost, rollout.done, state.running.cost)
    return Costs(rollout.cost, M, M_next, agent.learning_limits, Z, Z_next, nu)


def _near_miss_costs(
    agent: Agent, near_miss: NearMiss, rollout: Rollout, nu: Float[Array, "time env m"]
) -> tuple[Costs, NearMiss]:
    """The costs that include near misses, and the state of the near misses after the epoch."""
    if rollout.signed_cost is None:
        raise ValueError("The rollout does not say how near its costs are. Give the engine's margins.")
    extended, done = near_miss.extended_cost(rollout.signed_cost), rollout.done
    (M, M_next), (Z, Z_next) = near_miss.maxima(extended, done), near_miss.sums(extended, done)
    costs = Costs(extended, M, M_next, agent.learning_limits, Z, Z_next, nu, near_miss.h)
    return costs, near_miss.after(M_next[-1], Z_next[-1], done[-1])


def _nu_of_steps(
    state: LearnerState, rollout: Rollout
) -> tuple[Float[Array, "time env m"], Float[Array, "env m"] | None]:
    """ν of the episode of every step, and of the episodes that continue in the next rollout."""
    if state.policy.nu is None or state.episode_nu is None:
        return jnp.zeros_like(rollout.cost), None
    return nu_of_episodes(rollout.done, state.episode_nu, state.policy.nu)


def _with_costs(
    agent: Agent,
    critics: CostCritics,
    state: LearnerState,
    rollout: Rollout,
    raw: Float[Array, "time env obs"],
    costs: Costs,
    estimates: Estimates,
) -> Estimates:
    """Add the advantages of the cost signals, and the window that their critics are fitted to.

    The window keeps raw observations, because their units change after every epoch.
    """
    done, cvar, fresh = rollout.done, agent.algorithm.cvar, rollout.fresh
    step_weights = estimates.evidence.step_weights
    critic, signal = agent.cost_critic(_required(state.cost).params), critics.signal(costs)
    if agent.bounds_timeouts:
        signal = jnp.append(signal, rollout.truncated[..., None].astype(jnp.float32), axis=-1)
    W = critic(rollout.observation)
    advantages = _cost_advantages(agent, rollout, signal, W, critic(rollout.next_observation))
    newest = Window(raw, signal, advantages.next_value, done, _in_fresh_scenes(fresh, jnp.ones_like(done)))
    measures_signal = isinstance(agent.algorithm.constraint, ChernoffBound)
    evidence = replace(
        estimates.evidence,
        cost_advantage=centred(advantages.advantage, step_weights.cost if step_weights else None),
        cost_td_error=advantages.td_error,
        cost_signal=_measured_signal(signal, step_weights) if measures_signal else None,
        cost_to_go=advantages.target if agent.multiplier is not None and agent.multiplier.state_dependent else None,
        cost_tail=cost_tail(costs.Z_next, _in_fresh_scenes(fresh, done), costs.nu, cvar.alpha) if cvar else None,
    )
    known = _in_fresh_scenes(fresh, ends_within(done))
    quality = replace(
        estimates.quality,
        cost=jax.vmap(explained_variance, in_axes=(-1, -1, None))(W, advantages.target, known),
        cost_bias=relative_bias(W, advantages.target, known),
    )
    return replace(estimates, evidence=evidence, window=_required(state.window).push(newest), quality=quality)


def _cost_advantages(
    agent: Agent,
    rollout: Rollout,
    signal: Float[Array, "time env k"],
    value: Float[Array, "time env k"],
    next_value: Float[Array, "time env k"],
) -> Advantages:
    """The advantages of every cost signal, each with its own discount and λ."""
    chosen = agent.settings.cost_gae_lambda
    found = [
        gae(
            signal[..., k],
            value[..., k],
            next_value[..., k],
            rollout.terminated,
            rollout.truncated,
            discount=critics.discount,
            gae_lambda=critics.gae_lambda if chosen is None else chosen,
            bootstrap_on_timeout=critics.bootstrap_on_timeout,
        )
        for k, critics in enumerate(agent.critics_by_signal)
    ]
    return jax.tree.map(lambda *parts: jnp.stack(parts, axis=-1), *found)


def _with_shield(agent: Agent, shield: Shield, state: ShieldState, rollout: Rollout, estimates: Estimates) -> Estimates:
    """Add the batch that the shield is fitted to, and how often and how far it changed actions."""
    taken = rollout.taken
    if taken is None:
        raise ValueError("A shielded policy's rollout must say which actions were taken. Give the engine its actor.")
    shift = moved_by(rollout.action, taken)
    changed = shift > CHANGED
    mean_shift = jnp.sum(shift * changed) / jnp.maximum(jnp.sum(changed), 1)
    network = agent.shield_network(state.critic.params)
    return replace(
        estimates,
        shield_batch=shield_batch(shield, network, rollout.observation, taken, rollout.cost, rollout.done),
        interventions=jnp.stack([jnp.mean(changed), mean_shift]),
    )


def _measured_signal(signal: Float[Array, "time env k"], weights: StepWeights | None) -> Float[Array, "time env k"]:
    """The signals, where steps of replayed scenes count 0 and those of fresh scenes make up for them."""
    return signal if weights is None else signal * weights.reward[..., None]


def _in_fresh_scenes(fresh: Bool[Array, "time env"] | None, which: Bool[Array, "time env"]) -> Bool[Array, "time env"]:
    """Which of these steps are in fresh scenes."""
    return which if fresh is None else which & fresh


def _required(part: Part | None) -> Part:
    """A part of the state that every algorithm with cost critics has."""
    if part is None:
        raise ValueError("The state has no part for costs: begin with what `Agent.init` gives.")
    return part
