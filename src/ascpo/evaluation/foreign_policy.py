"""Foreign policies: a file of Stable-Baselines3, an ONNX graph, or a Python function.

sb3:FILE.zip             loading it executes the code that it contains
onnx:FILE.onnx           from observations to actions; an input called `noise` gets zeros
python:MODULE:FUNCTION   from one observation to one action. From Python, pass the function itself

All of them act on the observation alone, in the environment's units.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ascpo.engines.actor import Decision, ScriptedActor
from ascpo.engines.contract import EpisodePlayer
from ascpo.engines.gymnasium.errors import FAILURES, described
from ascpo.engines.gymnasium.naming import name_of
from ascpo.evaluation.foreign_name import (
    PolicyFunction,
    foreign_file,
    foreign_function,
    kind_and_rest,
    library,
    sb3_classes,
)
from ascpo.guard.layout import AnyArray
from ascpo.runs.places import is_foreign
from ascpo.runs.run_like import RunLike
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trained_policy import TrainedPolicy
from ascpo.seeding import LATEST, SCHEMES

PolicyLike: TypeAlias = "RunLike | PolicyFunction"
"""A run, or a foreign policy by its name, or a function."""
Act: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Observations of several environments → their actions."""
STATES = 100
"""Number of states in which a policy is tried out."""


@dataclass(frozen=True, eq=False)
class ForeignPolicy:
    """A foreign policy. It equals only itself, since different functions may have the same name."""

    name: str
    digest: str
    """A checksum of its file. Empty for a function, which is identified by its actions."""
    act: Act = field(repr=False)
    raised: list[BaseException] = field(default_factory=list, repr=False)
    """Exceptions that it has raised."""

    @property
    def place(self) -> Path:
        """A path for its results: beside its file, or in the current directory."""
        kind, _, rest = self.name.partition(":")
        return Path(re.sub(r"[^\w.-]+", "-", rest) if kind == "python" else rest)


@dataclass(frozen=True)
class ForeignActor:
    """The actor of a foreign policy, in the engine's units from -1 to 1."""

    policy: ForeignPolicy
    observation_size: int
    low: tuple[float, ...]
    high: tuple[float, ...]
    shielded = False

    def initial(self) -> Float[Array, " none"]:
        return jnp.zeros(0)

    def remember(
        self, augmentation: Float[Array, " none"], costs: Float[Array, " m"], signed: Float[Array, " m"]
    ) -> Float[Array, " none"]:
        return augmentation

    def decide(
        self, theta: Float[Array, " p"], observation: Float[Array, " obs"], noise: Float[Array, " n"]
    ) -> Decision:
        like = jax.ShapeDtypeStruct((len(self.low),), jnp.float32)
        action = jax.pure_callback(self.act_in, like, observation, vmap_method="broadcast_all")
        return Decision(action, action)

    def act_in(self, observation: Float[AnyArray, "*axes obs"]) -> Float[np.ndarray, "*axes act"]:
        """The actions in the engine's units. The engine clips them to its bounds."""
        rows = np.array(observation, np.float32).reshape(-1, self.observation_size)  # A copy: functions may change it.
        try:
            found = self._checked(np.asarray(self.policy.act(rows), np.float32), len(rows))
        except FAILURES as error:
            self.policy.raised.append(error)
            raise
        low, high = np.array(self.low), np.array(self.high)
        bounded = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
        # An action of a range without width is the same whatever it is in the engine's units.
        plain = (found - 0.5 * (low + high)) / np.where(high > low, 0.5 * (high - low), 1.0)
        return plain.astype(np.float32).reshape(*observation.shape[:-1], len(self.low))

    def _checked(self, found: np.ndarray, count: int) -> Float[np.ndarray, "count act"]:
        """The actions, or an error if their number or shape does not fit."""
        act, name = len(self.low), self.policy.name
        if found.shape != (count, act):
            shape = found.shape[1:] if found.shape[:1] == (count,) else found.shape
            raise BadSetting(f"An action of {name} has the shape {shape}, and the environment takes {(act,)}.")
        if not np.isfinite(found).all():
            raise BadSetting(f"An action of {name} is not finite. Let it return a finite number for every observation.")
        return found


def actor_for(policy: ForeignPolicy, engine: EpisodePlayer) -> ForeignActor:
    """The actor of a policy for this engine."""
    low, high = (tuple(np.asarray(bound, float).tolist()) for bound in engine.action_bounds)
    return ForeignActor(policy, engine.observation_size, low, high)


def try_out(policy: ForeignPolicy, engine: EpisodePlayer) -> Float[np.ndarray, "state act"]:
    """The policy's actions in states of random episodes. A policy that does not fit raises an error here."""
    actor, sizes = actor_for(policy, engine), (engine.envs_per_run, engine.action_size)
    engine.start_at(ScriptedActor(), SCHEMES[LATEST].evaluation(0, STATES))
    noise = np.random.default_rng(0).standard_normal((1, STATES // sizes[0], *sizes)).astype(np.float32)
    (rollout,) = engine.collect([np.zeros((1, 1), np.float32)], [noise])
    observations = np.asarray(rollout.observation).reshape(-1, engine.observation_size)
    with failures_of(policy):
        return actor.act_in(observations)


@contextlib.contextmanager
def failures_of(policy: ForeignPolicy) -> Iterator[None]:
    """Turn exceptions of a policy into a sentence. During an episode they are wrapped in an error of JAX."""
    try:
        yield
    except FAILURES:
        if not policy.raised:
            raise
        error = policy.raised[-1]
        if isinstance(error, BadSetting):
            raise BadSetting(str(error)) from error
        raise BadSetting(f"{policy.name} cannot act on an observation: it raises {described(error)}.") from error


def is_foreign_policy(policy: PolicyLike) -> bool:
    """Whether it is a function, or the name of a foreign policy."""
    return callable(policy) or is_foreign(str(policy))


def policy_name(policy: PolicyLike) -> str:
    """The name of a policy on the command line. For a function, its module and its name."""
    return f"python:{name_of(policy)}" if callable(policy) else str(policy)


def read_foreign(policy: PolicyLike) -> ForeignPolicy:
    name = policy_name(policy)
    kind, rest = kind_and_rest(name)
    if kind == "python":
        return _function(name, policy if callable(policy) else foreign_function(rest))
    path = foreign_file(rest)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return ForeignPolicy(name, digest, (_sb3 if kind == "sb3" else _onnx)(path))


def _function(name: str, function: PolicyFunction) -> ForeignPolicy:
    if isinstance(getattr(function, "__self__", None), TrainedPolicy):
        raise BadSetting(f"{name} remembers its episode, and is not told here when one begins. Name its run instead.")
    return ForeignPolicy(name, "", lambda rows: np.stack([_action(name, function(row)) for row in rows]))


def _action(name: str, returned: object) -> Float[np.ndarray, " act"]:
    try:
        return np.ravel(np.asarray(returned, np.float32))
    except (TypeError, ValueError) as error:
        raise BadSetting(
            f"{name} returns a {type(returned).__name__} that is no action. If the action is its first part, let it "
            f"return that alone, as in lambda observation: model.predict(observation)[0]"
        ) from error


def _onnx(path: Path) -> Act:
    runtime = import_module(library("onnx"))
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = {one.name: one.shape for one in session.get_inputs()}
    if {"state", "begin", "costs"} & set(inputs):
        raise BadSetting(
            f"{path} remembers its episode, as policies that were exported from a run do. Certify or evaluate the run."
        )
    others = [one for one in inputs if one != "noise"]
    if len(others) != 1:
        raise BadSetting(f"{path} has the inputs {', '.join(inputs)}. One is needed, the observation.")
    noise, single = inputs.get("noise"), inputs[others[0]][0] == 1

    def act(rows: np.ndarray) -> np.ndarray:
        fed = {others[0]: rows} | ({"noise": np.zeros((len(rows), noise[1]), np.float32)} if noise else {})
        return np.asarray(session.run(None, fed)[0])

    return (lambda rows: np.concatenate([act(row[None]) for row in rows])) if single else act


def _sb3(path: Path) -> Act:
    names = sb3_classes(path)
    return _load_first(path, import_module(library("sb3")), names)


def _load_first(path: Path, sb3: ModuleType, names: Sequence[str]) -> Act:
    """Load the file as the first class of Stable-Baselines3 that accepts it."""
    reasons: list[str] = []
    for name in names:
        try:
            model = getattr(sb3, name).load(path, device="cpu")
            return lambda rows: model.predict(rows, deterministic=True)[0]
        except Exception as error:  # Another class may fit.
            reasons.append(f"{name}: {type(error).__name__}: {error}")
    raise BadSetting(f"Stable-Baselines3 cannot load {path}: {'; '.join(reasons)}")
