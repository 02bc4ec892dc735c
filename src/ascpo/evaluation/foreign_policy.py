"""Policies that were not trained here: a file of Stable-Baselines3, an ONNX graph, or a Python function.

sb3:FILE.zip             loading it executes what it contains
onnx:FILE.onnx           observations in, actions out; an input called `noise` is given zeros
python:MODULE:FUNCTION   one observation in, one action out

All of them act on the observation alone, in the environment's units.
"""

import contextlib
import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ascpo.engines.actor import Decision
from ascpo.engines.contract import EpisodePlayer
from ascpo.engines.gymnasium.naming import imported
from ascpo.guard.layout import AnyArray
from ascpo.runs.files import NoRun
from ascpo.runs.serialization import BadSetting

Act: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Observations of several environments → their actions."""


@dataclass(frozen=True)
class ForeignPolicy:
    """A policy from elsewhere. Two are equal if their content is."""

    name: str
    """As it was typed."""
    digest: str
    """A checksum of its file."""
    act: Act = field(compare=False, repr=False)

    @property
    def place(self) -> Path:
        """A path for what is found out about it, beside its file."""
        kind, _, rest = self.name.partition(":")
        return Path(rest.replace(":", "-") if kind == "python" else rest)


@dataclass(frozen=True)
class ForeignActor:
    """How a foreign policy acts in an engine, whose actions lie between -1 and 1."""

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
        """In the engine's units. Beyond its bounds, an action is cut by the engine."""
        rows = np.asarray(observation, np.float32).reshape(-1, self.observation_size)
        found, act = np.asarray(self.policy.act(rows), np.float32), len(self.low)
        if found.shape != (len(rows), act) or not np.isfinite(found).all():
            wrong = f"shape {found.shape} instead of {(len(rows), act)}" if np.isfinite(found).all() else "no numbers"
            raise BadSetting(f"The actions of {self.policy.name} have {wrong}.")
        low, high = np.array(self.low), np.array(self.high)
        bounded = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
        plain = (found - 0.5 * (low + high)) / (0.5 * (high - low))
        return plain.astype(np.float32).reshape(*observation.shape[:-1], act)


def actor_for(policy: ForeignPolicy, engine: EpisodePlayer) -> ForeignActor:
    """The policy in this engine's environments. It is tried once, so that a wrong one is refused before the play."""
    low, high = (tuple(np.asarray(bound, float).tolist()) for bound in engine.action_bounds)
    actor = ForeignActor(policy, engine.observation_size, low, high)
    try:
        actor.act_in(np.zeros((2, engine.observation_size), np.float32))
    except BadSetting:
        raise
    except Exception as error:
        sizes = f"{engine.observation_size} observations and {len(low)} actions"
        raise BadSetting(f"{policy.name} does not act with {sizes}: {type(error).__name__}: {error}") from error
    return actor


@contextlib.contextmanager
def failures_of(policy: ForeignPolicy) -> Iterator[None]:
    """What a policy raises in the middle of an episode reaches us as an error of JAX."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        last = [line for line in str(error).splitlines() if line.strip()][-1].strip()
        raise BadSetting(f"{policy.name} failed while it acted: {last}") from error


def read_foreign(name: str) -> ForeignPolicy:
    kind, _, rest = name.partition(":")
    if kind == "python":
        return _function(name, rest)
    path = Path(rest)
    if not path.is_file():
        raise NoRun(f"{path} does not exist, or is no file.")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return ForeignPolicy(name, digest, (_sb3 if kind == "sb3" else _onnx)(path))


def _function(name: str, rest: str) -> ForeignPolicy:
    module, called = imported(rest.partition(":")[0]), rest.partition(":")[2]
    function: Any = getattr(module, called, None)
    if not callable(function):
        raise BadSetting(f"{rest} is no function. Write python:MODULE:FUNCTION, of one observation, for one action.")
    source = getattr(module, "__file__", None)
    content = Path(source).read_bytes() if source else rest.encode()
    digest = hashlib.sha256(content + rest.encode()).hexdigest()
    return ForeignPolicy(name, digest, lambda rows: np.stack([np.ravel(_plain(function, row)) for row in rows]))


def _plain(function: Any, row: np.ndarray) -> np.ndarray:
    return np.asarray(function(row), np.float32)


def _onnx(path: Path) -> Act:
    runtime = _needed("onnxruntime", "onnxruntime")
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
    sb3 = _needed("stable_baselines3", "stable-baselines3")
    try:
        with zipfile.ZipFile(path) as file:
            kind = str(json.loads(file.read("data"))["policy_class"].get("__module__", ""))
    except (OSError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise BadSetting(f"{path} is no file of Stable-Baselines3: {type(error).__name__}: {error}") from error
    by_module = {"sac": ("SAC",), "td3": ("TD3", "DDPG")}
    names = next((found for word, found in by_module.items() if f".{word}." in kind), ("PPO", "A2C"))
    model = _first_that_loads(path, [getattr(sb3, name) for name in names])
    return lambda rows: model.predict(rows, deterministic=True)[0]


def _first_that_loads(path: Path, kinds: Sequence[Any]) -> Any:
    reasons: list[str] = []
    for kind in kinds:
        try:
            return kind.load(path, device="cpu")
        except Exception as error:  # Another class may fit.
            reasons.append(f"{kind.__name__}: {type(error).__name__}: {error}")
    raise BadSetting(f"Stable-Baselines3 cannot load {path}: {'; '.join(reasons)}")


def _needed(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise BadSetting(f"This policy needs the package {package}: pip install {package}") from None
