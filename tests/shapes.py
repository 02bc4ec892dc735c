"""Checking arrays alone: the outer layers hand on what users typed, and answer what is wrong with a sentence."""

from typing import get_args

import jaxtyping
from beartype import beartype


def _has_shape(annotation):
    if isinstance(annotation, type) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    return any(_has_shape(part) for part in get_args(annotation))


def check_arrays(function):
    """As `beartype`, for the parameters that are arrays."""
    known = {name: kind for name, kind in function.__annotations__.items() if _has_shape(kind)}
    function.__annotations__ = known
    return beartype(function) if known else function
