"""A policy as an ONNX graph: augmentation, policy, shield and the scaling of its actions.

Inputs, for any number of robots (the first axis):
    observation   as the environment gives it
    noise         zeros for the mean action, standard normal numbers for a sampled one
    state, begin, costs, margins
                  where the policy remembers its episode: what the last call returned; true in the first step of an
                  episode, where the other two are ignored; the costs of the last step; how near they were
Outputs: `action`, and `state` for the next call.
"""

import json
from importlib import import_module
from types import ModuleType

import numpy as np

from ascpo.deploy.parts import Parts
from ascpo.deploy.standalone import CLEAR, FAR, Layers, Shield
from ascpo.errors import to_install
from ascpo.runs.serialization import BadSetting

_OPSET = 17
_SMALL = 1e-8


def onnx_content(parts: Parts) -> bytes:
    """The bytes of the file."""
    try:
        onnx = import_module("onnx")
    except ImportError:
        raise BadSetting(f"ONNX files need the package onnx: {to_install('onnx')}.") from None
    graph = _Graph(onnx)
    _policy(graph, parts)
    return graph.content(parts)


class _Graph:
    """Nodes and constants, added one by one. A value is identified by its name."""

    def __init__(self, onnx: ModuleType) -> None:
        self._onnx, self._nodes, self._constants = onnx, [], []
        self.inputs: dict[str, tuple[str, int]] = {}
        self.outputs: dict[str, int] = {}

    def input(self, name: str, size: int, kind: str = "FLOAT") -> str:
        self.inputs[name] = kind, size
        return name

    def constant(self, value: object, kind: type = np.float32) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def __call__(self, operator: str, *inputs: str, to: str = "", **attributes: object) -> str:
        name = to or f"v{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def content(self, parts: Parts) -> bytes:
        helper, types = self._onnx.helper, self._onnx.TensorProto
        inputs = [helper.make_tensor_value_info(name, getattr(types, kind), ["robots", size])
                  for name, (kind, size) in self.inputs.items()]  # fmt: skip
        outputs = [helper.make_tensor_value_info(name, types.FLOAT, ["robots", n]) for name, n in self.outputs.items()]
        graph = helper.make_graph(self._nodes, "policy", inputs, outputs, self._constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="ascpo")
        made.ir_version = 8
        helper.set_model_props(made, {"ascpo": json.dumps(parts.about), "initial": json.dumps(parts.initial)})
        self._onnx.checker.check_model(made)
        return made.SerializeToString()


def _policy(graph: _Graph, parts: Parts) -> None:
    act = len(parts.std)
    seen = graph.input("observation", parts.observation_size)
    noise = graph.input("noise", act)
    if parts.units is not None:
        mean, std = map(graph.constant, parts.units)
        seen = graph("Clip", graph("Div", graph("Sub", seen, mean), std), *map(graph.constant, (-FAR, FAR)))
    if parts.initial:
        state = _state(graph, parts)
        seen = graph("Concat", seen, state, axis=1)
    action = graph("Add", _mlp(graph, parts.layers, seen)[-1], graph("Mul", noise, graph.constant(parts.std)))
    if parts.shield is not None:
        action = (_linear if parts.shield["kind"] == "linear" else _unrolling)(graph, parts.shield, seen, action)
    _scale(graph, parts, action)
    graph.outputs["action"] = act


def _state(graph: _Graph, parts: Parts) -> str:
    size = len(parts.initial)
    costs, begin = graph.input("costs", parts.costs), graph.input("begin", 1, "BOOL")
    if parts.signed:
        clear, zero = map(graph.constant, (-CLEAR, 0.0))
        near = graph("Clip", graph.input("margins", parts.costs), clear, zero)
        costs = graph("Where", graph("Greater", costs, zero), costs, near)
    after = costs
    if parts.augmentation != "last":
        state = graph.input("state", size)
        rise = graph("Max", graph("Sub", costs, state), graph.constant(0.0))
        after = graph("Add", state, rise if parts.augmentation == "maximum" else costs)
    graph.outputs["state_after"] = size
    return graph("Where", begin, graph.constant([parts.initial]), after, to="state_after")


def _mlp(graph: _Graph, layers: Layers, x: str) -> list[str]:
    """The outputs of all layers, those of the hidden ones after tanh."""
    outputs = []
    for i, (weight, bias) in enumerate(layers):
        x = graph("Gemm", x, graph.constant(weight), graph.constant(bias), transB=1)
        x = x if i == len(layers) - 1 else graph("Tanh", x)
        outputs.append(x)
    return outputs


def _inside(graph: _Graph, action: str) -> str:
    return graph("Clip", action, graph.constant(-1.0), graph.constant(1.0))


def _linear(graph: _Graph, shield: Shield, seen: str, action: str) -> str:
    """As `standalone._linear`, for several robots."""
    m, axes, zero = len(shield["limits"]), graph.constant([2], np.int64), graph.constant(0.0)
    slopes = _mlp(graph, shield["layers"], seen)[-1]
    act = shield["layers"][-1][1].size // m
    g = graph("Reshape", slopes, graph.constant([-1, m, act], np.int64))
    last = graph("Slice", seen, *(graph.constant([n], np.int64) for n in (-m, 2**31, 1)))
    effect = graph("ReduceSum", graph("Mul", g, graph("Unsqueeze", action, graph.constant([1], np.int64))), axes,
                   keepdims=0)  # fmt: skip
    excess = graph("Sub", graph("Add", last, effect), graph.constant(shield["limits"]))
    square = graph("Add", graph("ReduceSum", graph("Mul", g, g), axes, keepdims=0), graph.constant(_SMALL))
    multiplier = graph("Max", graph("Div", excess, square), zero)
    chosen = _one_hot(graph, multiplier, m)
    largest = graph("ReduceMax", multiplier, axes=[1], keepdims=1)
    weighted = graph("Mul", g, graph("Unsqueeze", chosen, axes))
    worst = graph("ReduceSum", weighted, graph.constant([1], np.int64), keepdims=0)
    changed = _inside(graph, graph("Sub", action, graph("Mul", largest, worst)))
    return graph("Where", graph("Greater", largest, zero), changed, action)


def _one_hot(graph: _Graph, x: str, size: int) -> str:
    """1 at the first maximum of each row, and 0 elsewhere."""
    where = graph("ArgMax", x, axis=1, keepdims=0)
    return graph("OneHot", where, graph.constant(size, np.int64), graph.constant([0.0, 1.0]), axis=-1)


def _unrolling(graph: _Graph, shield: Shield, seen: str, action: str) -> str:
    """As `standalone._unrolling`, for several robots."""
    inside = changed = _inside(graph, action)
    for _ in range(shield["iterations"]):
        cost, slope = _cost_to_come(graph, shield, seen, changed)
        size = graph("Add", graph("ReduceMax", graph("Abs", slope), axes=[1], keepdims=1), graph.constant(_SMALL))
        step = graph("Div", graph("Mul", graph.constant(shield["step"]), slope), size)
        down = _inside(graph, graph("Sub", changed, step))
        changed = graph("Where", graph("Greater", cost, graph.constant(shield["threshold"])), down, changed)
    before, after = (_cost_to_come(graph, shield, seen, one)[0] for one in (inside, changed))
    return graph("Where", graph("Less", after, before), changed, action)


def _cost_to_come(graph: _Graph, shield: Shield, seen: str, action: str) -> tuple[str, str]:
    """The largest excess of the predicted cost-to-go, and its gradient with respect to the action."""
    layers: Layers = shield["layers"]
    *hidden, out = _mlp(graph, layers, graph("Concat", seen, action, axis=1))
    excess = graph("Sub", graph("Softplus", out), graph.constant(shield["limits"]))
    slope = graph("Mul", _one_hot(graph, excess, len(shield["limits"])), graph("Sigmoid", out))
    slope = graph("MatMul", slope, graph.constant(layers[-1][0]))
    for (weight, _), h in zip(layers[-2::-1], hidden[::-1], strict=True):
        rise = graph("Sub", graph.constant(1.0), graph("Mul", h, h))
        slope = graph("MatMul", graph("Mul", slope, rise), graph.constant(weight))
    inputs = layers[0][0].shape[1]
    begin = inputs - int(shield["action_size"])
    by_action = graph("Slice", slope, *(graph.constant([n], np.int64) for n in (begin, inputs, 1)))
    return graph("ReduceMax", excess, axes=[1], keepdims=1), by_action


def _scale(graph: _Graph, parts: Parts, action: str) -> None:
    """Scale actions to the environment's units. Actions without bounds stay as they are."""
    bounded = np.isfinite(parts.low) & np.isfinite(parts.high)
    low, high = np.where(bounded, parts.low, -1.0), np.where(bounded, parts.high, 1.0)
    half = graph("Mul", _inside(graph, action), graph.constant(0.5 * (high - low)))
    inside = graph("Add", half, graph.constant(0.5 * (low + high)))
    graph("Where", graph.constant(bounded, np.bool_), inside, action, to="action")
