"""Matrix products in full precision: a GPU rounds their factors to ten bits by default.

Conjugate gradients and a trust region's quadratic forms need the bits; what an engine simulates needs them too.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def precise(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function with all matrix products, also those of its derivatives, in full precision.

    Beneath `jit` or around it: the setting is part of what `jit` compiles for.
    """

    @wraps(function)
    def traced(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with jax.default_matmul_precision("highest"):
            return function(*args, **kwargs)

    return traced
