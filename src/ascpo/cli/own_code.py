"""Flags of commands that read runs: whether they may execute code that a run names."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnCode:
    """Permission to import an environment that is not part of this package."""

    env: str | None = None
    """The run's environment again: package.module:factory. A run of your own environment needs this or --trust-env,
    because reading a run does not execute code that its files name."""
    trust_env: bool = False
    """Import and run the code that the run's files name as its environment. Use this only for your own runs."""
