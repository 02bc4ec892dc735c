"""The page of `ascpo watch`: a frame that is sent once, and its content, which the frame requests repeatedly."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ascpo.watch.drawing import Curve, svg
from ascpo.watch.logs import Watched


@dataclass(frozen=True)
class Panel:
    """A metric, and its title on the page."""

    metric: str
    title: str
    share: bool = False
    from_zero: bool = False
    target: bool = False
    """Whether the target probability is drawn."""


PANELS = (
    Panel("EpRet", "Return of an episode"),
    Panel("SafeRate", "Episodes within all limits", share=True, target=True),
    Panel("EpCost", "Cost of an episode", from_zero=True),
    Panel("EpMaxCost", "Largest cost of an episode", from_zero=True),
    Panel("TimeoutRate", "Episodes that the time limit ends", share=True),
    Panel("WorstCost", "Largest cost of any state in an epoch", from_zero=True),
)


def frame(directory: str, path: str, nonce: str, every: float) -> str:
    """The page itself. `path` leads to its content."""
    milliseconds = int(1000 * every)
    return _engine().get_template("frame.html").render(
        directory=directory, path=path, nonce=nonce, milliseconds=milliseconds
    )  # fmt: skip


def content(runs: Sequence[Watched], left_out: int = 0) -> str:
    """The table of the runs, and a panel for each metric that some run has."""
    targets = {run.data.probability for run in runs if run.data.epochs}
    target = targets.pop() if len(targets) == 1 else None
    panels = [
        (panel.title, Markup(drawing))
        for panel in PANELS
        if (drawing := _drawing(panel, runs, target if panel.target else None))
    ]
    rows = [
        (index, run, _last(run, "EpRet", "{:.4g}"), _last(run, "SafeRate", "{:.1%}")) for index, run in enumerate(runs)
    ]
    return _engine().get_template("content.html").render(rows=rows, panels=panels, left_out=left_out)


def _drawing(panel: Panel, runs: Sequence[Watched], target: float | None) -> str:
    curves = [Curve(run.name, index, *run.curve(panel.metric)) for index, run in enumerate(runs)]
    return svg(panel.title, curves, target, share=panel.share, from_zero=panel.from_zero)


def _last(run: Watched, metric: str, form: str) -> str:
    _, values = run.curve(metric)
    return form.format(values[-1]) if len(values) else "–"


@cache
def _engine() -> Environment:
    """All text is escaped, because names of runs may come from anybody."""
    return Environment(
        loader=PackageLoader("ascpo.watch"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
