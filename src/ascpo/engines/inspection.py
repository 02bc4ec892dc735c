"""The inspection of a user's environment before a training: its sizes, bounds, costs and time limit."""

from dataclasses import dataclass

from ascpo.errors import InertSetting


@dataclass(frozen=True)
class Inspection:
    """The result of an inspection."""

    observation_size: int
    action_size: int
    low: tuple[float, ...]
    """Lowest actions, flat. Infinite if there is no bound."""
    high: tuple[float, ...]
    cost_names: tuple[str, ...]
    has_margins: bool
    """Whether every step has margins, which say how near its costs are."""
    notes: tuple[str, ...]
    """Warnings, a sentence each."""
    time_limit: int | None
    """The largest number of steps of an episode. None if it is unknown."""


def refuse_limit(steps: int, own: int | None) -> None:
    """Raise an error for a time limit that changes nothing, because the environment has a shorter one."""
    if steps < 1:
        raise ValueError(f"max_episode_steps={steps}: an episode has at least one step.")
    if own is not None and steps >= own:
        raise InertSetting("max_episode_steps", steps, f"the environment ends its episodes after {own} steps itself")
