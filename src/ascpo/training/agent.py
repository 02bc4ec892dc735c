"""An agent: an algorithm with networks of the sizes that an environment needs.

An agent is a value without parameters. It builds its networks from its fields alone, so that methods can be called in
any order. Equal settings make equal agents, which share compiled programs.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key, PyTree

from ascpo.algorithms.algorithm import Algorithm, CostCritics
from ascpo.engines.contract import Engine
from ascpo.errors import BadSetting, InertSetting
from ascpo.experience.augmentation import Augmentation, RunningMaximum
from ascpo.experience.episodes import no_totals
from ascpo.experience.near_miss import NearMiss, begin_near_miss
from ascpo.experience.scene_replay import empty_pool
from ascpo.experience.signals import ChernoffWeights, UnionBound
from ascpo.experience.trend import no_trend
from ascpo.experience.window import empty_window
from ascpo.networks.critics import Critic
from ascpo.networks.fit import optimiser
from ascpo.networks.multiplier import Multiplier
from ascpo.networks.normaliser import Normaliser, no_observations
from ascpo.networks.policy import Policy
from ascpo.networks.settings import FitSettings
from ascpo.networks.shield import CostModel
from ascpo.surrogates.evidence import Constraint
from ascpo.surrogates.settings import SMOOTHING
from ascpo.surrogates.target import RadiusShare
from ascpo.surrogates.timeouts import WithTimeouts
from ascpo.training.actor import AgentActor
from ascpo.training.recent import no_policies
from ascpo.training.settings import Settings
from ascpo.training.state import CriticState, LearnerState, PolicyState, ShieldState, Sizes
from ascpo.training.structure import Networks
from ascpo.trust_region.signal import no_signal


@dataclass(frozen=True)
class Agent:
    """An algorithm, its settings, and the sizes of an environment."""

    algorithm: Algorithm
    settings: Settings
    sizes: Sizes
    limits: tuple[float, ...]

    def __post_init__(self) -> None:
        critics = self.algorithm.cost_critics
        if critics and isinstance(critics.signal, ChernoffWeights | UnionBound) and not self.settings.near_miss:
            raise BadSetting("mode=chernoff learns from near misses. Use for example near_miss=0.3.")
        # Built here: networks draw with NumPy, which is not possible while a program is traced.
        _ = self.actor, self._critics

    @property
    def observation_size(self) -> int:
        """Size of the policy's input: the environment's observation, then the augmentation."""
        return self.actor.observation_size

    @property
    def augmentation(self) -> Augmentation:
        """The augmentation of the observation. With near misses, running maxima start below zero."""
        of_algorithm = self.algorithm.augmentation
        if self.settings.near_miss and isinstance(of_algorithm, RunningMaximum):
            return replace(of_algorithm, start=-self.settings.near_miss)
        return of_algorithm

    @property
    def constraint(self) -> Constraint | None:
        """The algorithm's constraints, and that of the time-outs if they are bounded."""
        constraint, radius = self.algorithm.constraint, self._radius
        if constraint is None or radius is None or radius.timeout_limit is None:
            return constraint
        return WithTimeouts(constraint, radius.timeout_limit)

    @property
    def bounds_timeouts(self) -> bool:
        return isinstance(self.constraint, WithTimeouts)

    @property
    def multiplier(self) -> Multiplier | None:
        return self.algorithm.penalty.multiplier if self.algorithm.penalty else None

    @property
    def critics_by_signal(self) -> tuple[CostCritics, ...]:
        """How the critic of each cost signal is trained. That of the time-outs comes last, if they are bounded.

        It predicts the probability of a time-out, so it is undiscounted and has no value after the end of an episode.
        """
        critics = self.algorithm.cost_critics
        if critics is None:
            return ()
        of_timeouts = replace(critics, discount=1.0, bootstrap_on_timeout=False)
        return (critics,) * (critics.per_constraint * self.sizes.m) + (of_timeouts,) * self.bounds_timeouts

    @property
    def signals(self) -> int:
        """Number of cost signals, each with a critic."""
        return len(self.critics_by_signal)

    @property
    def learning_limits(self) -> Float[Array, " m"]:
        """The limits that learning aims at: the real limits, less the margin."""
        return jnp.array(self.limits) - self.settings.margin

    @property
    def smoothing(self) -> float:
        """Weight of earlier epochs in the statistics of the episodes."""
        return self._radius.smoothing if self._radius else SMOOTHING

    @property
    def _radius(self) -> RadiusShare | None:
        return self.algorithm.target.radius if self.algorithm.target else None

    @cached_property
    def actor(self) -> AgentActor:
        """The acting part. Algorithms that differ only in how they learn have the same."""
        sizes, settings, shield = self.sizes, self.settings, self.algorithm.shield
        return AgentActor(
            raw_size=sizes.observation,
            action_size=sizes.action,
            costs=sizes.m,
            hidden=settings.hidden,
            augmentation=self.augmentation,
            normalised=settings.normalise_observations,
            shield=shield,
            limits=self.limits if shield else (),
            margin=settings.margin if shield else 0.0,
        )

    def init(self, seed: int, epochs: int = 1) -> LearnerState:
        """The state before training. `epochs` is the length of the training, on which some schedules depend."""
        key, policy_key, value_key, cost_key = jax.random.split(jax.random.key(seed), 4)
        params, _ = eqx.partition(self._networks(policy_key, value_key, cost_key), eqx.is_inexact_array)
        multiplier = None
        if self.multiplier is not None:
            multiplier_key = jax.random.fold_in(cost_key, 2)
            multiplier = self.multiplier.init(self.observation_size, self.sizes.m, self.settings.hidden, multiplier_key)
        warm_up = math.ceil(self.algorithm.shield.warm_up * epochs) if self.algorithm.shield else 0
        near_miss = self._near_miss(epochs)
        theta = ravel_pytree(params.policy)[0]
        return _init(self, key, theta, params._replace(policy=None), multiplier, warm_up, near_miss)

    def _near_miss(self, epochs: int) -> NearMiss | None:
        settings, sizes = self.settings, self.sizes
        if not settings.near_miss or self.algorithm.cost_critics is None or self.algorithm.cvar is not None:
            return None
        return begin_near_miss(settings.near_miss, settings.near_miss_end, epochs, sizes.num_envs, sizes.m)

    def policy(self, theta: Float[Array, " p"]) -> Policy:
        return self.actor.policy(theta)

    def value_critic(self, params: PyTree) -> Critic:
        return eqx.combine(params, self._critics[0])

    def cost_critic(self, params: PyTree) -> Critic:
        return eqx.combine(params, self._critics[1])

    def shield_network(self, params: PyTree) -> CostModel:
        return self.actor.shield_network(params)

    def network_input(
        self, normaliser: Normaliser | None, observation: Float[Array, "*axes obs"]
    ) -> Float[Array, "*axes obs"]:
        """The input of the networks, from augmented observations."""
        return self.actor.network_input(None if normaliser is None else normaliser.units, observation)

    def acting(self, state: LearnerState) -> Float[Array, " q"]:
        """The numbers that decide how the actor acts, as one vector: see `ActingParts`."""
        parts = [state.policy.theta]
        if state.normaliser is not None:
            parts += state.normaliser.units
        if state.shield is not None:
            flat = ravel_pytree(state.shield.critic.params)[0]
            parts += [flat, state.shield.active[None].astype(jnp.float32)]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts)

    def noise(self, state: LearnerState) -> tuple[LearnerState, Float[Array, "time env act"]]:
        """Standard normal noise for one epoch's actions."""
        key, noise_key = jax.random.split(state.key)
        shape = (self.settings.horizon, self.sizes.num_envs, self.sizes.action)
        return replace(state, key=key), _normal(noise_key, shape)

    def cut(self, state: LearnerState) -> LearnerState:
        """The state after all running episodes were cut off. How they would have ended stays unknown."""
        window = None if state.window is None else state.window.cut()
        nu = None if state.policy.nu is None else jnp.tile(state.policy.nu, (self.sizes.num_envs, 1))
        running = no_totals(self.sizes.num_envs, self.sizes.m)
        near_miss = None if state.near_miss is None else state.near_miss.cut()
        return replace(state, running=running, window=window, episode_nu=nu, near_miss=near_miss)

    def _networks(self, policy_key: Key[Array, ""], value_key: Key[Array, ""], cost_key: Key[Array, ""]) -> Networks:
        settings, sizes, shield = self.settings, (self.observation_size, self.sizes.action), None
        policy = Policy(*sizes, settings.hidden, initial_log_std=settings.initial_log_std, key=policy_key)
        if self.algorithm.shield:
            shield_key = jax.random.fold_in(cost_key, 1)
            shield = self.algorithm.shield.network(*sizes, self.sizes.m, settings.hidden, shield_key)
        return Networks(policy, self._value_network(value_key), self._cost_network(cost_key), shield)

    def _value_network(self, key: Key[Array, ""]) -> Critic:
        return Critic(self.observation_size, 1, self.settings.hidden, key=key)

    def _cost_network(self, key: Key[Array, ""]) -> Critic | None:
        critics, settings = self.algorithm.cost_critics, self.settings
        if critics is None:
            return None
        bias = settings.output_bias if critics.head != "linear" else None
        sizes = (self.observation_size, self.signals, settings.hidden)
        return Critic(*sizes, head=critics.head, output_bias=bias, key=key)

    @cached_property
    def _critics(self) -> tuple[PyTree, PyTree]:
        """The critics of rewards and costs without their parameters."""
        key = jax.random.key(0)
        return eqx.partition((self._value_network(key), self._cost_network(key)), eqx.is_inexact_array)[1]


def agent_for(engine: Engine, algorithm: Algorithm, settings: Settings) -> Agent:
    """The agent for the environments of an engine."""
    names = engine.cost_names
    sizes = Sizes(settings.num_envs, engine.observation_size, engine.action_size, len(names), engine.has_margins)
    if settings.near_miss and not engine.has_margins:
        raise InertSetting("near_miss", settings.near_miss, "the environment does not say how near its costs are")
    return Agent(algorithm, settings, sizes, settings.limits_for(names))


@partial(jax.jit, static_argnums=(0, 5))
def _init(
    agent: Agent,
    key: Key[Array, ""],
    theta: Float[Array, " p"],
    params: Networks,
    multiplier: PyTree,
    warm_up: int,
    near_miss: NearMiss | None,
) -> LearnerState:
    """Compiled as one program. Outside of `jit` it would be a hundred small ones."""
    settings, algorithm, sizes = agent.settings, agent.algorithm, agent.sizes
    cost, window, trend, shield = None, None, None, None
    constraints = sizes.m + agent.bounds_timeouts if algorithm.constraint else 0
    if algorithm.cost_critics:
        trend = no_trend(sizes.m)
        cost = _critic_state(params.cost, settings.cost_fit)
        steps = settings.cost_fit.window * settings.horizon
        window = empty_window(steps, sizes.num_envs, agent.observation_size, agent.signals)
    if algorithm.shield:
        done = jnp.zeros((), jnp.int32)
        shield = ShieldState(_critic_state(params.shield, algorithm.shield.fit), done, jnp.asarray(warm_up, jnp.int32))
    return LearnerState(
        key=key,
        policy=PolicyState(
            theta,
            step=algorithm.step.init(theta),
            target=algorithm.target.init(constraints) if algorithm.target else None,
            multiplier=multiplier,
            nu=jnp.zeros(sizes.m) if algorithm.cvar else None,
            signal=no_signal(constraints) if algorithm.constraint and settings.trust_region.signal_every else None,
        ),
        value=_critic_state(params.value, settings.value_fit),
        running=no_totals(sizes.num_envs, sizes.m),
        trend=trend,
        episode_nu=jnp.zeros((sizes.num_envs, sizes.m)) if algorithm.cvar else None,
        cost=cost,
        window=window,
        near_miss=near_miss,
        shield=shield,
        normaliser=no_observations(sizes.observation) if settings.normalise_observations else None,
        pool=empty_pool(settings.replay) if settings.replay.share else None,
        recent=no_policies(settings.kept_policies, theta.size) if settings.kept_policies else None,
    )


def _critic_state(params: PyTree, settings: FitSettings) -> CriticState:
    return CriticState(params, optimiser(settings).init(params))


@partial(jax.jit, static_argnums=1)
def _normal(key: Key[Array, ""], shape: tuple[int, ...]) -> Float[Array, "time env act"]:
    return jax.random.normal(key, shape)
