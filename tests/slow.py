"""Tests that take long run with ASCPO_SLOW=1, as `make test-long` does."""

import os

import pytest

LONG = bool(os.environ.get("ASCPO_SLOW"))


def slow(why):
    return pytest.mark.skipif(not LONG, reason=f"{why}: ASCPO_SLOW=1")


def always(names, *chosen):
    """The names as parameters of a test: these of them always, and the others in the long run."""
    return [
        name if name in chosen else pytest.param(*_values(name), marks=slow("runs only in the long tests"))
        for name in names
    ]


def _values(name):
    return name if isinstance(name, tuple) else (name,)
