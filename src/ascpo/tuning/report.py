"""The report of a search: a table of trials, the Pareto front, and the importance of each setting."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from ascpo.report.style import INK, LIMIT, QUIET, colour, look, panel
from ascpo.runs.files import write_whole, writing
from ascpo.tuning.study import Search, Trial, load_optuna


def write_report(search: Search) -> str:
    """Write tuning.md with its pictures, and return its text."""
    out, trials = search.setup.out, search.complete()
    pictures: list[str] = []
    if trials:
        with look(), writing(out / "tuning-front.png"):
            _draw_front(search, trials).savefig(out / "tuning-front.png")
        pictures.append("![Return and certified probability](tuning-front.png)")
    if found := importances(search):
        with look(), writing(out / "tuning-importance.png"):
            _draw_importances(found).savefig(out / "tuning-importance.png")
        pictures.append("![Importance of the settings](tuning-importance.png)")
    text = "\n\n".join([f"# Search on {search.setup.base.env}", verdict(search), _table(search), *pictures]) + "\n"
    write_whole(out / "tuning.md", text)
    return text


def verdict(search: Search) -> str:
    """Sentences that compare the best trial with the defaults."""
    wanted, kept = search.setup.probability, search.feasible()
    if not kept:
        return f"No trial certifies a probability of {wanted:g}. Train longer, or play more episodes."
    best, usual = kept[0], default_trial(search)
    values = " ".join(f"{name}={value}" for name, value in best.params.items())
    found = f"Trial {best.number} has the largest J_r that certifies {wanted:g}: {best.value:.2f}, with {values}."
    if usual is None:
        return found
    if usual.number == best.number:
        return f"The defaults have the largest J_r of all trials that certify {wanted:g}: {usual.value:.2f}."
    how = "certify" if usual in kept else "do not certify"
    return f"{found} The defaults have {usual.value:.2f} and {how} {wanted:g}."


def default_trial(search: Search) -> Trial | None:
    return next((trial for trial in search.complete() if trial.user_attrs.get("defaults")), None)


def front(trials: Sequence[Trial]) -> list[Trial]:
    """The Pareto front: trials that no other trial beats in both return and certified probability."""
    better = sorted(trials, key=lambda trial: (-trial.value, -trial.user_attrs["certified"]))
    found: list[Trial] = []
    for trial in better:
        if not found or trial.user_attrs["certified"] > found[-1].user_attrs["certified"]:
            found.append(trial)
    return found


def importances(search: Search) -> dict[str, float]:
    """The importance of each setting for the return. Empty with too few trials."""
    optuna = load_optuna()
    if len(search.complete()) < 4:
        return {}
    try:
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        return optuna.importance.get_param_importances(search.study, evaluator=evaluator)
    except (ValueError, RuntimeError):
        return {}


def _table(search: Search) -> str:
    names = [axis.name for axis in search.setup.axes]
    lines = [f"| trial | J_r | certified | violations | {' | '.join(names)} |", "|---" * (4 + len(names)) + "|"]
    for trial in search.study.trials:
        values = [_cell(trial.params.get(name, "")) for name in names]
        about, first = trial.user_attrs, [trial.state.name.lower(), "", ""]
        if trial.state.name == "COMPLETE":
            first = [_cell(trial.value), _cell(about["certified"]), f"{about['violations']} of {about['episodes']}"]
        lines.append(f"| {' | '.join([str(trial.number), *first, *values])} |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _draw_front(search: Search, trials: Sequence[Trial]) -> Figure:
    figure, axes = panel("Return and certified probability", "certified probability", "J_r")
    points = [(trial.user_attrs["certified"], trial.value) for trial in trials]
    axes.scatter(*zip(*points, strict=True), color=QUIET, s=18, label="trials")
    best = front(trials)
    axes.plot(*zip(*((t.user_attrs["certified"], t.value) for t in best), strict=True), color=colour(0), label="front")
    if (usual := default_trial(search)) is not None:
        axes.scatter([usual.user_attrs["certified"]], [usual.value], color=INK, marker="s", s=40, label="defaults")
    axes.axvline(search.setup.probability, color=LIMIT, linewidth=1.0, linestyle=(0, (4, 2)), label="asked for")
    axes.legend(loc="best")
    return figure


def _draw_importances(found: dict[str, float]) -> Figure:
    names = list(reversed(found))
    figure, axes = panel("Importance for the return", "share", "", left=1.9)
    axes.barh(names, [found[name] for name in names], color=colour(0))
    return figure
