"""The legend of a scene's colours, and the units of its costs."""

import html

from ascpo.environments.render import COLOURS, GOAL_COLOUR, PILLAR_COLOUR, ROBOT_COLOUR
from ascpo.guard.kinds import KINDS
from ascpo.guard.task import Task
from ascpo.replay.episode import Episode

_LINES = (("rgb(110,112,118)", "trajectory: dark where played, pale to come"), ("rgb(242,0,0)", "violation of a limit"))


def legend(task: Task) -> str:
    """The colours of the objects in the scene, as HTML."""
    kinds = [kind for kind, _ in task.suite.slices()]
    regions = {kind.name: PILLAR_COLOUR if kind.shape == "post" else COLOURS[kind.name] for kind in kinds}
    parts = {"robot": ROBOT_COLOUR, "goal": GOAL_COLOUR} | regions
    known = [(_css(colour), name) for name, colour in parts.items()] + list(_LINES)
    chips = "".join(
        f'<span style="white-space: nowrap; margin-right: 1em"><i style="display: inline-block; width: 0.8em; height: '
        f'0.8em; border-radius: 3px; margin-right: 0.4em; background: {colour}"></i>{html.escape(name)}</span> '
        for colour, name in known
    )
    return f'<div style="font-size: 0.85em; line-height: 1.7; padding: 0 0.6em">{chips}</div>'


def unit_of(episode: Episode, constraint: str) -> str:
    """Metres for the regions of a suite. The units of other environments are unknown."""
    regions = {kind.name for kind in KINDS.values() if kind.shape != "post"}
    return "metres" if episode.task is not None and constraint in regions else ""


def _css(colour: tuple[float, ...]) -> str:
    red, green, blue = (round(255 * part) for part in colour[:3])
    return f"rgb({red},{green},{blue})"
