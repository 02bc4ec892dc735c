"""Matrix products in full precision. By default, a GPU rounds their factors to ten bits.

Conjugate gradients, the quadratic forms of a trust region and the simulations of an engine need full precision.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def precise(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function with all its matrix products, and those of its derivatives, in full precision.

    It works inside `jit` and around it: the setting is part of the key of a compiled program.
    """

    @wraps(function)
    def traced(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with jax.default_matmul_precision("highest"):
            return function(*args, **kwargs)

    return traced
