"""The plots of a report, section by section."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ascpo.report.curves import clock_curves, learning_curves, optimiser_curves
from ascpo.report.episodes import episode_plots
from ascpo.report.groups import Group, environments, file_name
from ascpo.report.largest_cost import bound_plots, quantile_plots
from ascpo.report.style import MissingPlot, Plot, look, titled


@dataclass(frozen=True)
class Section:
    """Plots under one heading."""

    anchor: str
    title: str
    lead: str
    parts: Mapping[str, tuple[Plot | MissingPlot, ...]]
    """By environment."""

    @property
    def plots(self) -> tuple[Plot | MissingPlot, ...]:
        return tuple(plot for plots in self.parts.values() for plot in plots)


_SECTIONS = (
    (
        "learning", "Learning", learning_curves,
        "The episodes of the training itself measure these curves. The policy changes from epoch to epoch.",
    ),
    ("clock", "Over time", clock_curves, "The same curves over the time of the training, without interruptions."),
    (
        "largest", "Largest cost of an episode", lambda groups: quantile_plots(groups) + bound_plots(groups),
        "The mean says little about the worst state. These plots show the distribution of the largest cost of an "
        "episode, and compare bounds from its mean and variance with the next epoch.",
    ),
    ("fresh", "Fresh episodes", episode_plots, "The final policy plays episodes that no training uses."),
    (
        "optimiser", "The optimiser", optimiser_curves,
        "The multipliers of each step, its share of the trust region, and its size.",
    ),
)  # fmt: skip


def draw(groups: Sequence[Group]) -> list[Section]:
    """The plots of the groups. A plot that cannot be drawn says why. Environments never share a plot."""
    together = {env: [group for group in groups if group.first.env == env] for env in environments(groups)}
    with look():
        return [
            Section(anchor, title, lead, {env: _in(env, plots(found), groups) for env, found in together.items()})
            for anchor, title, plots, lead in _SECTIONS
        ]


def _in(env: str, plots: Sequence[Plot | MissingPlot], groups: Sequence[Group]) -> tuple[Plot | MissingPlot, ...]:
    """The plots of an environment. If there are several environments, the titles name this one."""
    names = environments(groups)
    if len(names) == 1:
        return tuple(plots)
    return tuple(_named(plot, env, f"{file_name(env) or 'env'}-{names.index(env)}") for plot in plots)


def _named(plot: Plot | MissingPlot, env: str, ending: str) -> Plot | MissingPlot:
    title = plot.title if env in plot.title else titled(plot.title, env)
    if isinstance(plot, MissingPlot):
        return replace(plot, title=title)
    axes = plot.figure.axes[0]
    shown = axes.get_title(loc="left")
    if env not in shown:
        axes.set_title(titled(shown, env))
    return replace(plot, title=title, name=f"{plot.name}-{ending}")
