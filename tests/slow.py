"""Tests that take long are run with ASCPO_SLOW=1."""

import os

import pytest


def slow(why):
    return pytest.mark.skipif(not os.environ.get("ASCPO_SLOW"), reason=f"{why}: ASCPO_SLOW=1")
