"""The flags of commands that read runs: whether code that a run names may be executed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnCode:
    """What the user says about an environment that is not part of this package."""

    env: str | None = None
    """The run's environment, named again: package.module:factory. A run of your own code needs this or --trust-env,
    because reading a run executes no code that its files name."""
    trust_env: bool = False
    """Import and run whatever code the run's files name as its environment. Use it for your own runs only."""
