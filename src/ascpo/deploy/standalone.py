"""A trained policy that acts with NumPy alone.

    policy = Policy()
    policy.start()                                   # at the start of an episode
    action = policy.act(observation)                 # the first action of an episode
    action = policy.act(observation, costs=costs)    # the others, with the costs of the last step

`Policy.about` describes the policy, its limits and its certificate. Observations and actions are in the units of the
training environment.
"""

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

DATA = ""

Layers = list[tuple[np.ndarray, np.ndarray]]
Plain = dict[str, Any]
Shield = Plain
_SMALL = np.float32(1e-8)
FAR = 10.0
"""Normalised observations are clipped to this many standard deviations."""
CLEAR = 1e6
"""Costs that are farther from their beginning count as this far."""


class Policy:
    """A policy with its state and its shield."""

    def __init__(self, data: str = "") -> None:
        plain = json.loads(data or DATA)
        self.about: Plain = plain["about"]
        self.observation_size: int = plain["observation_size"]
        self._layers = _read(plain["layers"])
        self._std, self._low, self._high = (_array(plain[name]) for name in ("std", "low", "high"))
        self._augmentation, self._signed, self._costs = plain["augmentation"], plain["signed"], plain["costs"]
        self._initial = np.array(plain["initial"], np.float32)
        self._units = plain["units"] and [_array(one) for one in plain["units"]]
        self._shield: Shield | None = plain["shield"]
        if self._shield is not None:
            self._shield |= {"layers": _read(self._shield["layers"]), "limits": _array(self._shield["limits"])}
        self.start()

    def start(self) -> None:
        """Call this at the start of an episode: it resets the state of the policy."""
        self._state, self._begins = self._initial, True

    def act(
        self,
        observation: Sequence[float] | np.ndarray,
        costs: Sequence[float] | np.ndarray | float | None = None,
        margins: Sequence[float] | np.ndarray | float | None = None,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """The action: the mean one, or with `rng` a sampled one. Costs and margins are those of the last step.

        The first action of an episode does not use them, because there was no step. A ValueError refuses numbers that
        are NaN or infinite. The policy is then as before the call, so that you can call it again with a new
        measurement.
        """
        seen = _numbers("observation", observation)
        if seen.size != self.observation_size:
            raise ValueError(f"The policy takes observations of {self.observation_size} numbers, not {seen.size}.")
        if self._units is not None:
            seen = np.clip((seen - self._units[0]) / self._units[1], np.float32(-FAR), np.float32(FAR))
        if costs is not None and not self._begins:
            self._state = self._remember(self._of_costs("costs", _numbers("costs", costs)), margins)
        self._begins = False
        seen = np.concatenate([seen, self._state])
        noise = np.zeros_like(self._std) if rng is None else rng.standard_normal(len(self._std)).astype(np.float32)
        action = forward(self._layers, seen)[-1] + self._std * noise
        if self._shield is not None:
            correct = _linear if self._shield["kind"] == "linear" else _unrolling
            action = correct(self._shield, seen, action)
        return scaled(action, self._low, self._high)

    def _of_costs(self, name: str, found: np.ndarray) -> np.ndarray:
        if found.size != self._costs:
            raise ValueError(f"The policy needs {self._costs} {name} from every step, not {found.size}.")
        return found

    def _remember(self, costs: np.ndarray, margins: object) -> np.ndarray:
        """The state after a step with these costs."""
        if self._signed:
            if margins is None:
                raise ValueError("The policy was trained with margins, and needs the margins of every step.")
            near = np.clip(self._of_costs("margins", _numbers("margins", margins, infinite=True)), -CLEAR, 0.0)
            costs = np.where(costs > 0, costs, near.astype(np.float32))
        if self._augmentation == "maximum":
            return self._state + np.maximum(costs - self._state, np.float32(0))
        return {"none": self._state, "last": costs}.get(self._augmentation, self._state + costs)


def _numbers(name: str, given: object, *, infinite: bool = False) -> np.ndarray:
    """A flat array. An entry that is NaN or infinite would make the actions so, and what the policy remembers."""
    with np.errstate(over="ignore"):
        found = np.asarray(given, np.float32).ravel()
    wrong = np.isnan(found) if infinite else ~np.isfinite(found)
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise ValueError(f"Entry {entry} of the {name} is {found[entry]}. A policy acts on finite numbers alone.")
    return found


def forward(layers: Layers, x: np.ndarray) -> list[np.ndarray]:
    """The outputs of all layers, those of the hidden ones after tanh."""
    outputs = []
    for i, (weight, bias) in enumerate(layers):
        x = weight @ x + bias
        x = x if i == len(layers) - 1 else np.tanh(x)
        outputs.append(x)
    return outputs


def scaled(action: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """An action in the environment's units: [-1, 1] becomes [low, high]. Without bounds it stays as it is."""
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    inside = 0.5 * (low + high) + 0.5 * (high - low) * np.clip(action, -1.0, 1.0)
    return np.where(bounded, inside, action).astype(np.float32)


def _linear(shield: Shield, seen: np.ndarray, action: np.ndarray) -> np.ndarray:
    """The nearest action whose next cost is within the limit by a linear model."""
    m = len(shield["limits"])
    g = forward(shield["layers"], seen)[-1].reshape(m, -1)
    excess = seen[-m:] + g @ action - shield["limits"]
    multiplier = np.maximum(excess / ((g * g).sum(axis=1) + _SMALL), np.float32(0))
    worst = int(np.argmax(multiplier))
    if not multiplier[worst] > 0:
        return action
    return np.clip(action - multiplier[worst] * g[worst], np.float32(-1), np.float32(1))


def _unrolling(shield: Shield, seen: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Gradient descent on the predicted cost-to-go, until it is within the limit."""
    inside = changed = np.clip(action, np.float32(-1), np.float32(1))
    for _ in range(shield["iterations"]):
        cost, slope = _cost_to_come(shield, seen, changed)
        if not cost > shield["threshold"]:
            break
        step = np.float32(shield["step"]) * slope / (np.abs(slope).max() + _SMALL)
        changed = np.clip(changed - step, np.float32(-1), np.float32(1))
    better = _cost_to_come(shield, seen, changed)[0] < _cost_to_come(shield, seen, inside)[0]
    return changed if better else action


def _cost_to_come(shield: Shield, seen: np.ndarray, action: np.ndarray) -> tuple[np.floating, np.ndarray]:
    """The largest excess of the predicted cost-to-go, and its gradient with respect to the action."""
    layers: Layers = shield["layers"]
    *hidden, out = forward(layers, np.concatenate([seen, action]))
    excess = np.logaddexp(out, np.float32(0)) - shield["limits"]
    worst = int(np.argmax(excess))
    slope = layers[-1][0][worst] / (1 + np.exp(-out[worst]))
    for (weight, _), h in zip(layers[-2::-1], hidden[::-1], strict=True):
        slope = (slope * (1 - h * h)) @ weight
    return excess[worst], slope[len(seen) :]


def _array(plain: Plain) -> np.ndarray:
    return np.frombuffer(base64.b64decode(plain["data"]), np.float32).reshape(plain["shape"])


def _read(layers: list[list[Plain]]) -> Layers:
    return [(_array(weight), _array(bias)) for weight, bias in layers]
