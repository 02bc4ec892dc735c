"""The file of a trained policy, and the policy that acts.

    policy = ascpo.load("runs/Point-8-Hazard-ascpo-seed0")
    observation, info = env.reset()
    policy.start()
    while ...:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))

The file holds arrays and plain data. Loading it executes no code.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from ascpo.engines.actor import Actor, augment, signed_cost
from ascpo.engines.contract import Engine, scaled
from ascpo.engines.gymnasium.trial import costs_of, margins_of
from ascpo.guard.layout import AnyArray
from ascpo.ranges import Range, check, shown
from ascpo.runs.config import Config
from ascpo.runs.directory import NoRun, RunDirectory, find, stored_config
from ascpo.runs.files import BadFile, reading
from ascpo.runs.sealed import fingerprint_of, policy_digest, read_arrays, sealed_arrays
from ascpo.runs.serialization import BadSetting, Plain, from_plain, only
from ascpo.runs.source import Source, source_of
from ascpo.runs.zoo import PREFIX, zoo_policy
from ascpo.training.agent import Agent
from ascpo.training.state import Sizes

_FORMAT = "ascpo policy 1"
Info = Mapping[str, object]


@dataclass(frozen=True)
class PolicyFile:
    """The content of a policy's file."""

    config: Config
    plain_config: Plain
    """The config in the spelling of the file."""
    theta: Float[Array, " p"]
    epochs: int
    """Number of epochs of training."""
    observation_size: int
    low: Float[np.ndarray, " act"]
    high: Float[np.ndarray, " act"]
    cost_names: tuple[str, ...]
    source: Source
    """The source of the policy within its training."""
    verified: bool = True
    """Whether the file has a checksum. Earlier versions wrote none."""

    @property
    def digest(self) -> str:
        """A checksum of everything that determines the policy's actions."""
        about = {"config": self.plain_config, "cost_names": self.cost_names}
        return policy_digest(about, {"theta": np.asarray(self.theta), "low": self.low, "high": self.high})

    def actor(self) -> Actor:
        """The actor for the policy's parameters."""
        settings = self.config.settings
        sizes = Sizes(settings.num_envs, self.observation_size, len(self.low), len(self.cost_names))
        return Agent(self.config.algorithm(), settings, sizes, settings.limits_for(self.cost_names)).actor


@dataclass(frozen=True)
class _Header:
    """The metadata of a file. All sizes are required."""

    format: str = _FORMAT
    config: Plain = field(default_factory=dict)
    epochs: Annotated[int, Range(at_least=0, at_most=10**15)] = 0
    observation_size: Annotated[int, Range(at_least=1, at_most=10**9)] = 0
    cost_names: Annotated[tuple[str, ...], Range(items=1000)] = ()


def policy_content(
    plain_config: Plain, engine: Engine, theta: Float[AnyArray, " p"], epochs: int, source: Source
) -> bytes:
    """The content of a policy's file after this number of epochs."""
    low, high = engine.action_bounds
    about = {
        "format": _FORMAT,
        "config": plain_config,
        "epochs": epochs,
        "observation_size": engine.observation_size,
        "cost_names": list(engine.cost_names),
        **source.plain(),
    }
    arrays = {"theta": np.array(theta), "low": np.array(low, np.float32), "high": np.array(high, np.float32)}
    return sealed_arrays(about, arrays)


def read_policy(path: Path) -> PolicyFile:
    """Read a policy's file, or that of a run's directory. Damaged files and those of other runs are errors."""
    directory = None if path.is_file() else find(path)
    file = directory.policy if directory else path
    if not file.exists():
        raise NoRun(f"{file} does not exist yet: the run was stopped before its first checkpoint.")
    sealed = read_arrays(file)
    about, arrays = sealed.about, sealed.arrays
    if about.get("format") != _FORMAT:
        raise BadFile(f"{file} is not a policy of this program: its format is {shown(about.get('format'))}.")
    with reading(file):
        header = from_plain(_Header, only(about, _Header))
        check(header)
        config = Config.from_plain(header.config)
        theta, low, high = (arrays[name] for name in ("theta", "low", "high"))
        _check_sizes(header, config, theta, low, high)
        source = source_of(about)
    if directory:
        _check_run(directory, header.config)
        _check_final_policy(directory, config, source)
    return PolicyFile(
        config=config,
        plain_config=header.config,
        epochs=header.epochs,
        observation_size=header.observation_size,
        cost_names=header.cost_names,
        theta=jnp.asarray(theta),
        low=low,
        high=high,
        source=source,
        verified=sealed.verified,
    )


def _check_run(directory: RunDirectory, plain: Plain) -> None:
    """Raise an error if the policy in a run's directory belongs to another run."""
    if fingerprint_of(stored_config(directory.config_file).content) != fingerprint_of(plain):
        raise NoRun(
            f"{directory.policy} belongs to another run: its settings are not those of {directory.config_file}. "
            f"Restore the run's own policy, or name the file itself."
        )


def _check_final_policy(directory: RunDirectory, config: Config, source: Source) -> None:
    """Raise an error if the policy is not of the kind that the run's settings ask for."""
    # Before the selection, the last policy is the final one.
    kinds = ("last", "selected") if config.final_policy == "selected" else (config.final_policy,)
    if source.kind not in kinds:
        raise NoRun(
            f"{directory.policy} holds {source.description}, but its run has final_policy={config.final_policy!r}. "
            f"Restore the run's own policy, or name the file itself."
        )


def _check_sizes(header: _Header, config: Config, theta: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Raise an error if sizes and arrays do not fit, before networks of these sizes are built."""
    if any(array.ndim != 1 or array.dtype != np.float32 for array in (theta, low, high)) or low.shape != high.shape:
        raise BadSetting("its arrays are not the parameters and the bounds of actions.")
    if not header.cost_names:
        raise BadSetting("it names no cost.")
    if not np.isfinite(theta).all() or np.isnan([low, high]).any():
        raise BadSetting("some of its numbers are not finite.")
    hidden = config.settings.hidden
    weights = hidden[0] * (header.observation_size + (len(hidden) - 1) * hidden[0] + len(low))
    if not weights < theta.size:
        raise BadSetting(
            f"observations of {header.observation_size} numbers, {len(hidden)} hidden layers of {hidden[0]} and "
            f"{len(low)} actions need more than {weights} parameters, but it holds {theta.size}."
        )


class TrainedPolicy:
    """A policy that acts in one environment, in the environment's own units."""

    def __init__(self, file: PolicyFile) -> None:
        self.config, self.cost_names = file.config, file.cost_names
        self._file = file
        actor = file.actor()
        self._decide, self._remember, self._initial = jax.jit(actor.decide), jax.jit(actor.remember), actor.initial()
        self.start()

    def start(self) -> None:
        """Start an episode. Call this after every reset of the environment."""
        self._augmentation, self._begins = self._initial, True

    def act(
        self, observation: ArrayLike, info: Info | None = None, *, rng: np.random.Generator | None = None
    ) -> Float[np.ndarray, " act"]:
        """The mean action, or with `rng` a sampled one. `info` is that of the last step, and holds its costs.

        The first action of an episode does not use `info`, because there was no step. A ValueError refuses numbers that
        are NaN or infinite. The policy is then as before the call, so that you can call it again.
        """
        with np.errstate(over="ignore"):
            seen = np.ravel(np.asarray(observation, np.float32))
        if seen.size != self._file.observation_size:
            raise ValueError(
                f"The policy takes observations of {self._file.observation_size} numbers, not {seen.size}."
            )
        if not np.isfinite(seen).all():
            entry = int(np.argmin(np.isfinite(seen)))
            raise ValueError(
                f"Entry {entry} of the observation is {seen[entry]}. A policy acts on finite numbers alone."
            )
        if info is not None and not self._begins:
            costs = self._costs(info)
            self._augmentation = self._remember(self._augmentation, costs, self._signed(costs, info))
        self._begins = False
        act = len(self._file.low)
        noise = np.zeros(act, np.float32) if rng is None else rng.standard_normal(act).astype(np.float32)
        decision = self._decide(self._file.theta, augment(jnp.asarray(seen), self._augmentation), noise)
        return scaled(np.asarray(decision.taken), self._file.low, self._file.high)

    def _costs(self, info: Info) -> Float[Array, " m"]:
        if "costs" not in info and "cost" not in info:
            raise ValueError(
                "The policy needs the costs of every step, as in its training, but this info has neither costs nor "
                "cost. If an episode starts here, call start() before act()."
            )
        costs = costs_of(dict(info))
        if costs.size != len(self.cost_names):
            raise ValueError(
                f"The policy was trained with {len(self.cost_names)} costs ({', '.join(self.cost_names)}), "
                f"and the step gave {costs.size}."
            )
        return jnp.asarray(costs)

    def _signed(self, costs: Float[Array, " m"], info: Info) -> Float[Array, " m"]:
        """Signed costs, for policies that were trained with margins."""
        if not self.config.settings.near_miss:
            return costs
        margins = jnp.ravel(jnp.asarray(info.get("margins", ()), jnp.float32))
        if margins.size != costs.size:
            raise ValueError(
                f"The policy was trained with margins, and needs info['margins'] with {costs.size} numbers from every "
                f"step; this one has {margins.size}."
            )
        return signed_cost(costs, jnp.asarray(margins_of(dict(info), margins.size)))

    def __repr__(self) -> str:
        source = self._file.source
        plain = source.kind != "selected" and source.first == source.last
        which = "" if plain else f", {source.description}"
        return f"TrainedPolicy({self.config.algo} on {self.config.env}, {self._file.epochs} epochs{which})"


def load(run: str | Path) -> TrainedPolicy:
    """Load the final policy of a run, a file such as `policy-average.safetensors`, or a policy of the zoo."""
    if str(run).startswith(PREFIX):
        with tempfile.TemporaryDirectory() as folder:
            return TrainedPolicy(read_policy(zoo_policy(str(run)).unpack(Path(folder))))
    return TrainedPolicy(read_policy(Path(run)))
