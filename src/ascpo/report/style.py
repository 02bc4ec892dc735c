"""The style of plots, and their files: PNG, SVG, and SVG inside a page."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter
from matplotlib.typing import LineStyleType, RcKeyType

from ascpo.report.charts import Chart
from ascpo.report.palette import EDGE, FAINT, HUES, INK, LIMIT, QUIET, themed
from ascpo.runs.files import writing
from ascpo.runs.links import refuse_links

_DASHES: tuple[LineStyleType, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
WIDTH, HEIGHT = 5.4, 3.3

_LOOK: dict[RcKeyType, object] = {
    "axes.axisbelow": True, "axes.edgecolor": EDGE, "axes.grid": True, "axes.linewidth": 0.8,
    "axes.labelcolor": QUIET, "axes.labelsize": 9, "axes.spines.right": False, "axes.spines.top": False,
    "axes.titlecolor": INK, "axes.titlelocation": "left", "axes.titlesize": 10.5, "axes.titleweight": "bold",
    "figure.facecolor": "white", "font.family": "DejaVu Sans", "font.size": 9,
    "grid.color": FAINT, "grid.linewidth": 0.7, "legend.fontsize": 8, "legend.frameon": False,
    "lines.linewidth": 1.6, "lines.solid_capstyle": "round",
    "savefig.dpi": 160, "svg.fonttype": "path", "svg.hashsalt": "ascpo",
    # A dollar sign in the name of a run must not start a formula, and names must not be run as LaTeX.
    "text.color": INK, "text.parse_math": False, "text.usetex": False,
    "xtick.color": QUIET, "xtick.labelsize": 8.5, "ytick.color": QUIET, "ytick.labelsize": 8.5,
}  # fmt: skip


@dataclass(frozen=True)
class Plot:
    """A figure with its caption."""

    name: str
    """The name of its files."""
    title: str
    """The caption, which is also the text for readers who cannot see the figure."""
    caption: str
    figure: Figure = field(repr=False)
    chart: Chart | None = field(default=None, repr=False)
    """The numbers of the curves, which the page redraws when a reader zooms."""


@dataclass(frozen=True)
class MissingPlot:
    """A plot that the files of the runs do not allow."""

    title: str
    reason: str
    command: str = ""
    """The command that makes the plot possible."""


@contextmanager
def look() -> Iterator[None]:
    """Apply the style to the figures made inside."""
    with matplotlib.rc_context(_LOOK), warnings.catch_warnings():
        # Matplotlib draws letters that the font lacks as boxes. A warning would not help.
        warnings.filterwarnings("ignore", message=".*Glyph .* missing from.*")
        yield


def panel(title: str, x: str, y: str, *, height: float = HEIGHT, left: float = 0.62) -> tuple[Figure, Axes]:
    """A figure with one panel and a left margin in inches. An automatic layout would take longer."""
    figure = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, pad=10)
    # These labels never come from a user, so dollar signs are formulas.
    axes.set_xlabel(x).set_parse_math(True)
    if x == "epoch":
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_ylabel(y).set_parse_math(True)
    _fit(figure, left + (0.12 if y else 0.0), 0.5)
    return figure, axes


def _fit(figure: Figure, left: float, bottom: float) -> None:
    width, height = figure.get_size_inches()
    figure.subplots_adjust(left / width, bottom / height, 1.0 - 0.14 / width, 1.0 - 0.38 / height)


def colour(index: int) -> str:
    return HUES[index % len(HUES)]


def chip(index: int) -> str:
    """The colour as a CSS background: solid, or striped once the colours repeat."""
    hue = f"var(--hue-{index % len(HUES)})"
    return hue if index < len(HUES) else f"repeating-linear-gradient(90deg, {hue} 0 3px, transparent 3px 5px)"


def dashes(index: int) -> LineStyleType:
    """The line style, which changes once the colours repeat."""
    return _DASHES[index // len(HUES) % len(_DASHES)]


def titled(title: str, *parts: str) -> str:
    """The title, and the parts that are not empty."""
    known = ", ".join(filter(None, parts))
    return f"{title}: {known}" if known else title


def limit_line(axes: Axes, value: float | None, name: str = "limit") -> None:
    if value is not None:
        axes.axhline(value, color=LIMIT, linewidth=1.0, linestyle=(0, (4, 2)), label=name)


def finish(axes: Axes, *, columns: int = 3) -> None:
    """Narrow the margins, and put the legend below the panel, where it does not cover curves."""
    axes.margins(x=0.01)
    (handles, labels), figure = axes.get_legend_handles_labels(), axes.get_figure(root=True)
    if len(handles) < 2 or figure is None:
        return  # The title names a single curve.
    columns = max(1, min(columns, len(labels), int(80 // (max(map(len, labels)) + 7))))
    room = 0.19 * -(-len(labels) // columns)
    left, (width, height) = axes.get_position().x0, figure.get_size_inches()
    figure.set_figheight(height + room)
    _fit(figure, left * width, 0.5 + room)
    figure.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(0.1 / width, 0.02), ncols=columns, handlelength=2.2,
        columnspacing=1.4, borderpad=0.0, borderaxespad=0.2, labelspacing=0.42,
    )  # fmt: skip


def plain_numbers(axis: Axis) -> None:
    """Write 10 and 100 instead of powers on a logarithmic axis."""
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def from_zero(axes: Axes) -> None:
    """Start the axis just below zero, so that a limit of zero is visible."""
    top = axes.get_ylim()[1]
    axes.set_ylim(-0.015 * top, top)


_DIFFERENT = 20.0
"""Figures whose ranges differ by more than this factor keep their own scales; on a common one, one would look flat."""


def same_scale(plots: Sequence[Plot]) -> list[Plot]:
    """Give figures that readers compare one vertical scale. If their ranges differ too much, the captions say so."""
    if len(plots) < 2:
        return list(plots)
    axes = [plot.figure.axes[0] for plot in plots]
    limits = [one.get_ylim() for one in axes]
    spans = [high - low for low, high in limits]
    if max(spans) > _DIFFERENT * min(spans):
        said = "Its vertical scale differs from those of the other figures of this kind."
    else:
        said = "All figures of this kind have the same vertical scale."
        for one in axes:
            one.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    return [replace(plot, caption=f"{plot.caption} {said}") for plot in plots]


def label(text: str) -> str:
    """A label for the legend, which would skip a label with a leading underscore."""
    return f" {text}" if text.startswith("_") else text


def save(plot: Plot, folder: Path) -> str:
    """Write NAME.png and NAME.svg. Returns the SVG for a page."""
    vector, pixels = io.BytesIO(), io.BytesIO()
    refuse_links(folder / f"{plot.name}.png", folder / f"{plot.name}.svg")
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    plot.figure.savefig(vector, format="svg", metadata=nothing)
    plot.figure.savefig(pixels, format="png")
    for file, content in ((folder / f"{plot.name}.svg", vector), (folder / f"{plot.name}.png", pixels)):
        with writing(file):
            file.write_bytes(content.getvalue())
    return inline(vector.getvalue(), plot.name, plot.title)


def inline(svg: bytes, name: str, title: str) -> str:
    """The SVG for a page. Its ids get a prefix, because ids of two SVGs on a page must not collide."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element[:] = [child for child in element if _plain(child.tag) not in ("metadata", "style")]
        element.tag = _plain(element.tag)
        element.attrib = {_plain(key): _renamed(_plain(key), value, name) for key, value in element.attrib.items()}
    kept = {key: value for key, value in root.attrib.items() if key not in ("width", "height", "version")}
    root.attrib = kept | {"role": "img", "aria-label": title, "class": "figure"}
    return ElementTree.tostring(root, encoding="unicode")


def _plain(tag: str) -> str:
    """The tag without its namespace, which HTML does not need."""
    return tag.rsplit("}", 1)[-1]


def _renamed(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}.{value}"
    if key == "href":
        return value.replace("#", f"#{name}.", 1)
    return themed(value.replace("url(#", f"url(#{name}."))
