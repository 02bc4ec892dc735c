"""Fitting: the critics and the shield of an agent learn from an epoch, each from its own batch."""

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from ascpo.engines.precision import precise
from ascpo.experience.window import Window
from ascpo.networks.fit import FitBatch, fit
from ascpo.networks.normaliser import Normaliser
from ascpo.networks.settings import FitSettings
from ascpo.training.agent import Agent
from ascpo.training.state import CriticState, Estimates, LearnerState

Losses = dict[str, Float[Array, ""]]


def fit_critics(agent: Agent, state: LearnerState, estimates: Estimates) -> tuple[LearnerState, Losses]:
    """The state after the epoch, with fitted critics, and their last losses."""
    key, value_key, cost_key = jax.random.split(state.key, 3)
    value, value_loss = _fit_value(agent, state.value, estimates.value_batch, value_key)
    state = replace(_carried_over(state, estimates), key=key, value=value)
    losses: Losses = {"value": value_loss}
    if state.cost is not None and state.window is not None:
        cost, losses["cost"] = _fit_cost(agent, state.cost, state.normaliser, state.window, cost_key)
        state = replace(state, cost=cost)
    if state.shield is not None and estimates.shield_batch is not None:
        fitted, losses["shield"] = _fit_shield(agent, state.shield.critic, estimates.shield_batch, cost_key)
        state = replace(state, shield=replace(state.shield, critic=fitted, epochs=state.shield.epochs + 1))
    return state, losses


def _carried_over(state: LearnerState, estimates: Estimates) -> LearnerState:
    """The state with what the estimates of an epoch pass on to the next one."""
    return replace(
        state,
        running=estimates.running,
        trend=estimates.evidence.trend,
        episode_nu=estimates.episode_nu,
        window=estimates.window,
        near_miss=estimates.near_miss,
        pool=estimates.pool,
    )


@partial(jax.jit, static_argnums=0)
@precise
def _fit_value(
    agent: Agent, value: CriticState, batch: FitBatch, key: Key[Array, ""]
) -> tuple[CriticState, Float[Array, ""]]:
    return _fitted(agent.value_critic(value.params), value, batch, key, agent.settings.value_fit)


@partial(jax.jit, static_argnums=0)
@precise
def _fit_cost(
    agent: Agent, cost: CriticState, normaliser: Normaliser | None, window: Window, key: Key[Array, ""]
) -> tuple[CriticState, Float[Array, ""]]:
    targets = window.targets([critics.discount for critics in agent.critics_by_signal])
    observation = agent.network_input(normaliser, window.observation)
    batch = FitBatch(observation, targets, window.happened(), window.done, window.known)
    return _fitted(agent.cost_critic(cost.params), cost, batch, key, agent.settings.cost_fit)


@partial(jax.jit, static_argnums=0)
@precise
def _fit_shield(
    agent: Agent, shield: CriticState, batch: FitBatch, key: Key[Array, ""]
) -> tuple[CriticState, Float[Array, ""]]:
    if agent.algorithm.shield is None:
        raise ValueError(f"{agent.algorithm.name} has no shield to fit.")
    return _fitted(agent.shield_network(shield.params), shield, batch, key, agent.algorithm.shield.fit)


def _fitted(
    network: eqx.Module, state: CriticState, batch: FitBatch, key: Key[Array, ""], settings: FitSettings
) -> tuple[CriticState, Float[Array, ""]]:
    network, opt_state, loss = fit(network, state.opt_state, batch, key, settings)
    return CriticState(eqx.filter(network, eqx.is_inexact_array), opt_state), loss
