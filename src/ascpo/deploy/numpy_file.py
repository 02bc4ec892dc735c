"""A policy as one Python file: `standalone` with the policy's numbers in it."""

import base64
import json
from pathlib import Path

import numpy as np

from ascpo.deploy import standalone
from ascpo.deploy.parts import Parts
from ascpo.runs.serialization import Plain

_MARK = 'DATA = ""\n'


def numpy_source(parts: Parts) -> str:
    """The text of the file."""
    source = Path(standalone.__file__).read_text(encoding="utf-8")
    return source.replace(_MARK, f"DATA = {json.dumps(plain_data(parts))}  # noqa: E501\n", 1)


def plain_data(parts: Parts) -> str:
    """The data that `standalone.Policy` reads."""
    shield = parts.shield and {**parts.shield, "layers": _layers(parts), "limits": _array(parts.shield["limits"])}
    return json.dumps(
        {
            "about": parts.about,
            "observation_size": parts.observation_size,
            "layers": [[_array(weight), _array(bias)] for weight, bias in parts.layers],
            **{name: _array(getattr(parts, name)) for name in ("std", "low", "high")},
            **{name: getattr(parts, name) for name in ("augmentation", "initial", "signed", "costs")},
            "units": parts.units and [_array(one) for one in parts.units],
            "shield": shield,
        }
    )


def _layers(parts: Parts) -> list[list[Plain]]:
    assert parts.shield is not None
    return [[_array(weight), _array(bias)] for weight, bias in parts.shield["layers"]]


def _array(array: np.ndarray) -> Plain:
    """An array as plain data: its 32-bit floats as text, least significant byte first."""
    return {"shape": array.shape, "data": base64.b64encode(np.asarray(array, "<f4").tobytes()).decode()}
