"""The parts of a trained policy as plain arrays and strings, without JAX.

seen     the observation in the policy's units
state    from the last step's costs, or as an episode begins
drawn    μ(seen, state) + σ · noise
taken    the shield's correction of it
action   scaled to the environment's bounds
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ascpo.deploy.standalone import Layers, Shield
from ascpo.evaluation.certificate import read_certificate
from ascpo.evaluation.looks import FILE
from ascpo.experience.augmentation import LastCost, NoAugmentation, RunningMaximum, RunningSum
from ascpo.networks.settings import LOG_STD_BOUNDS
from ascpo.networks.shield import CostModel, SafetyLayer, UnrollingSafetyLayer
from ascpo.runs.serialization import BadSetting, Plain
from ascpo.runs.trained_policy import PolicyFile, read_policy
from ascpo.training.actor import AgentActor

_AUGMENTATIONS: Mapping[type, str] = {
    NoAugmentation: "none",
    RunningMaximum: "maximum",
    RunningSum: "sum",
    LastCost: "last",
}


@dataclass(frozen=True)
class Parts:
    """A policy, with its augmentation and its shield."""

    layers: Layers
    std: Float[np.ndarray, " act"]
    low: Float[np.ndarray, " act"]
    high: Float[np.ndarray, " act"]
    augmentation: str
    """How the state follows from the costs: none, maximum, sum or last."""
    initial: tuple[float, ...]
    """The state at the start of an episode."""
    signed: bool
    """Whether negative costs (margins) count."""
    costs: int
    shield: Shield | None
    units: tuple[Float[np.ndarray, " obs"], Float[np.ndarray, " obs"]] | None
    """Mean and standard deviation that normalise observations; None without normalisation."""
    about: Plain
    """Information for users: the run, its limits, its certificate."""

    @property
    def observation_size(self) -> int:
        return self.layers[0][0].shape[1] - len(self.initial)


def parts_of(run: Path) -> Parts:
    """The parts of a run's policy."""
    file = read_policy(run)
    actor, m = cast(AgentActor, file.actor()), len(file.cost_names)
    parts = actor.parts(jnp.asarray(file.theta))
    policy = actor.policy(parts.policy)
    kind = _AUGMENTATIONS.get(type(actor.augmentation))
    if kind is None:
        raise BadSetting(f"A policy with {type(actor.augmentation).__name__} cannot be exported.")
    shield = None
    if actor.shield is not None and float(parts.shield[-1]) > 0:
        network = actor.shield_network(actor.networks.unravel_shield(parts.shield[:-1]))
        limits = np.asarray(actor.learning_limits, np.float32)
        shield = _shield(actor.shield, network, limits) | {"action_size": len(file.low)}
    return Parts(
        layers=_layers(policy.mean),
        std=np.exp(np.clip(np.asarray(policy.log_std), *LOG_STD_BOUNDS)).astype(np.float32),
        low=file.low,
        high=file.high,
        augmentation=kind,
        initial=actor.augmentation.initial(m),
        signed=bool(file.config.settings.near_miss) and kind == "maximum",
        costs=m,
        shield=shield,
        units=(np.asarray(parts.units.mean), np.asarray(parts.units.std)) if parts.units else None,
        about=_about(run, file),
    )


def _layers(mlp: eqx.nn.MLP) -> Layers:
    return [(np.asarray(layer.weight, np.float32), np.asarray(layer.bias, np.float32)) for layer in mlp.layers]


def _shield(shield: object, network: CostModel, limits: Float[np.ndarray, " m"]) -> Shield:
    if isinstance(shield, SafetyLayer):
        return {"kind": "linear", "layers": _layers(network.slopes), "limits": limits}
    if isinstance(shield, UnrollingSafetyLayer):
        numbers = {name: getattr(shield, name) for name in ("threshold", "iterations", "step")}
        return {"kind": "unrolling", "layers": _layers(network.body), "limits": limits, **numbers}
    raise BadSetting(f"A policy with {type(shield).__name__} cannot be exported.")


def _about(run: Path, file: PolicyFile) -> Plain:
    config = file.config
    about: Plain = {
        "env": config.env,
        "algo": config.algo,
        "epochs": file.epochs,
        "policy": file.digest,
        "final_policy": file.source.description,
        "cost_names": list(file.cost_names),
        "limits": list(config.settings.limits_for(file.cost_names)),
        "limits_on": config.algorithm().limits_on,
        "certificate": None,
    }
    place = (run if run.is_dir() else run.parent) / FILE
    if place.exists() and (found := read_certificate(place)).plan.policy == file.digest:
        of_plan = {name: getattr(found.plan, name) for name in ("probability", "confidence", "episodes", "actions")}
        verdict = {"certified": found.certified, "bound": found.bound, "violations": found.violations}
        about["certificate"] = {**verdict, **of_plan, "statement": found.statement}
    return about
