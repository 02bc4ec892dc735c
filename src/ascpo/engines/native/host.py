"""Programs that run on the host's CPU, even with an accelerator."""

import functools
from collections.abc import Callable

import jax

from ascpo.engines.precision import Arguments, Result


def on_host(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run the function's programs on the CPU. A call of a GPU at every step would take longer than the physics."""

    @functools.wraps(function)
    def hosted(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if jax.default_backend() == "cpu":
            return function(*args, **kwargs)
        with jax.default_device(jax.local_devices(backend="cpu")[0]):
            return function(*args, **kwargs)

    return hosted
