"""What an engine finds out about a user's environment before a training, and a time limit that changes nothing."""

from dataclasses import dataclass

from ascpo.errors import InertSetting


@dataclass(frozen=True)
class Inspection:
    """What an environment says about itself, and what trying it out has shown."""

    observation_size: int
    action_size: int
    low: tuple[float, ...]
    """Bounds of the actions, flat; infinite where there are none."""
    high: tuple[float, ...]
    cost_names: tuple[str, ...]
    has_margins: bool
    """Whether every step says how near its costs are."""
    notes: tuple[str, ...]
    """Warnings, a sentence each."""
    time_limit: int | None
    """The longest episode, as far as it is known."""


def refuse_limit(steps: int, own: int | None) -> None:
    """Refuse a time limit of so many steps that would change nothing, where the environment has its own."""
    if steps < 1:
        raise ValueError(f"max_episode_steps={steps}: an episode has at least one step.")
    if own is not None and steps >= own:
        raise InertSetting("max_episode_steps", steps, f"the environment ends its episodes after {own} steps itself")
