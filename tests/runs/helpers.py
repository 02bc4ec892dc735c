"""A small training that all tests of runs share, so that it is compiled once."""

import tests.own  # noqa: F401 (it registers the cart)
from ascpo.runs.composition import acting_settings

TINY = {
    "num_envs": 4,
    "horizon": 25,
    "hidden": (8, 8),
    "value_fit": {"iterations": 4, "batch_size": 32},
    "cost_fit": {"iterations": 4, "batch_size": 32, "window": 3},
    "trust_region": {"signal_every": 0},
}
EPOCH = 100
CART = "tests/Cart-v0"
"""Registered by `tests.own`, so that a run may name it."""
POINT = "Point-1-Hazard"


def tiny(algo):
    """The part of it that acts on an algorithm."""
    return acting_settings(CART, algo, TINY)


def words(settings=TINY, prefix="--"):
    """The same for the command line."""
    out = []
    for name, value in settings.items():
        flag = prefix + name.replace("_", "-")
        if isinstance(value, dict):
            out += words(value, f"{flag}.")
        else:
            out += [flag, *(str(v) for v in (value if isinstance(value, tuple) else (value,)))]
    return out
