"""Tests that take long run with ASCPO_SLOW=1, as `make test-long` does."""

import os

import pytest

LONG = bool(os.environ.get("ASCPO_SLOW"))


def slow(why):
    return pytest.mark.skipif(not LONG, reason=f"{why}: ASCPO_SLOW=1")


def always(names, *chosen):
    """The names as parameters of a test: these of them always, and the others in the long run."""
    values = {name: name if isinstance(name, tuple) else (name,) for name in names}
    late = slow("in the long run")
    return [pytest.param(*value, marks=() if name in chosen else late) for name, value in values.items()]
