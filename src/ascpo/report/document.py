"""The page of a report: one HTML file that needs no other file and no network."""

import base64
import hashlib
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ascpo.report.charts import library, program
from ascpo.report.data import RunData, search
from ascpo.report.figures import draw
from ascpo.report.groups import Group, groups_of
from ascpo.report.headline import headlines
from ascpo.report.palette import variables
from ascpo.report.style import MissingPlot, Plot, chip, look, save
from ascpo.report.symbols import typeset
from ascpo.report.tables import (
    SELECTION_TITLES,
    fresh_tables,
    selection_rows,
    settings_tables,
    training_table,
    versions_table,
    whole_table,
)
from ascpo.report.timeline import milestones, timeline
from ascpo.report.verification import CERTIFICATE, EVALUATION, METRICS
from ascpo.report.wording import command, listed, number, overview, percent, plural, setting_percent
from ascpo.runs.files import write_whole, writing
from ascpo.runs.links import refuse_links
from ascpo.runs.serialization import Plain


def write_report(paths: Sequence[Path], out: Path | None = None, now: datetime | None = None) -> Path:
    """Write a page about these runs, and its plots as files next to it. Returns the path of the page."""
    found = search(paths)
    every, runs = found.runs, [run for run in found.runs if run.epochs]
    folder = out or (runs[0].path / "report" if len(every) == 1 else Path("report"))
    figures = folder / "figures"
    # The user's own directory may be a link, the one in a run's directory may not.
    outside = runs[0].path if folder == runs[0].path / "report" else folder
    refuse_links(figures, folder / "index.html", below=outside)
    with writing(figures):
        figures.mkdir(parents=True, exist_ok=True)
    groups = groups_of(runs)
    sections = draw(groups)
    plots = [plot for section in sections for plot in section.plots if isinstance(plot, Plot)]
    with look():
        drawings = {plot.name: Markup(save(plot, figures)) for plot in plots}
    page, now = folder / "index.html", now or datetime.now().astimezone()
    content = _content(groups) | {
        "made": f"{now.day} {now:%B %Y, %H:%M %Z}".strip(),
        "warnings": [*found.refused, *(warning for run in every for warning in run.warnings())],
        "notes": _notes(groups, [run.name for run in every if not run.epochs]),
        "sections": [section for section in sections if section.plots],
        "drawings": drawings,
    }
    write_whole(page, _template().render(content))
    return page


@cache
def _template() -> Template:
    """The HTML of the page. All text is escaped; the drawings are safe, since matplotlib draws text as paths."""
    engine = Environment(
        loader=PackageLoader("ascpo.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    scripts = [Markup(script) for script in (library()[0], program())]
    hashes = " ".join(f"'sha256-{_sha256(script)}'" for script in scripts)
    names: Plain = engine.globals
    names |= {"chip": chip, "command": command, "palette": variables, "typeset": typeset}
    names |= {"scripts": scripts, "script_hashes": Markup(hashes), "chart_style": Markup(library()[1])}
    tests: Plain = engine.tests
    tests["missing"] = lambda plot: isinstance(plot, MissingPlot)
    return engine.get_template("report.html")


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _content(groups: Sequence[Group]) -> dict[str, object]:
    runs = [run for group in groups for run in group.runs]
    different, shared = settings_tables(groups)
    columns, versions = versions_table(runs)
    return {
        "title": title_of(groups),
        "subtitle": _subtitle(groups),
        "version": _version(),
        "groups": groups,
        "runs": runs,
        "single": len(runs) == 1,
        "overviews": {group.label: overview(group.first.description) for group in groups},
        "tiles": _tiles(groups),
        "headlines": headlines(groups),
        "training": training_table(groups),
        "whole": whole_table(groups),
        "fresh": fresh_tables(groups),
        "not_evaluated": [run for run in runs if not run.evaluation],
        "certificates": [(run, _certificate(run)) for run in runs if run.certificate or CERTIFICATE in run.doubts],
        "selections": [(run, selection_rows(run)) for run in runs if run.selection],
        "selection_titles": SELECTION_TITLES,
        "doubtful": {name: _doubtful(runs, name) for name in (EVALUATION, METRICS)},
        "journals": [(run, timeline(run), milestones(run)) for run in runs],
        "different": different,
        "shared": shared,
        "version_columns": columns,
        "versions": versions,
    }


def _doubtful(runs: Sequence[RunData], name: str) -> bool:
    """Whether figures of this file need a warning beside them."""
    return any(name in run.doubts or name in run.unverified for run in runs)


def title_of(groups: Sequence[Group]) -> str:
    """The environments, algorithms and seeds of the report, in a line."""
    group, envs = groups[0], {group.first.env for group in groups}
    where = group.first.env if len(envs) == 1 else plural(len(envs), "environment")
    if len(groups) > 1:
        return f"{where}: {len(groups)} settings side by side"
    many = f"seed {group.first.seed}" if len(group.runs) == 1 else f"{len(group.runs)} seeds"
    return f"{where}: {group.label}, {many}"


def _subtitle(groups: Sequence[Group]) -> str:
    runs = [run for group in groups for run in group.runs]
    targets = {run.probability for run in runs}
    limits = {tuple(zip(run.constraints, run.limits, strict=False)) for run in runs}
    parts = [plural(len(runs), "run")]
    if len(targets) == 1:
        parts.append(f"the target is that {setting_percent(targets.pop())} of the episodes keep all limits")
    if len(limits) == 1:
        (every,) = limits
        where = " in the sum of an episode's costs" if {run.limits_on for run in runs} == {"episode"} else ""
        parts.append(", ".join(f"{name} ≤ {limit:g}" for name, limit in every) + where)
    return "; ".join(parts)


def _version() -> str:
    with suppress(PackageNotFoundError):
        return version("ascpo")
    return ""


def _notes(groups: Sequence[Group], unfinished: Sequence[str]) -> list[str]:
    """What a reader must know before the results."""
    runs = [run for group in groups for run in group.runs]
    found = _together(
        runs,
        lambda run: f"{run.epochs} of {run.planned_epochs} epochs" if run.epochs < run.planned_epochs else "",
        ("{} has {}: it is still running, or it was stopped.", "{} have {}: they are still running, or were stopped."),
    )
    found += [
        f"The certificate and the evaluation of {run.name} belong to different policies. "
        f"`{command('evaluate', run)}` evaluates the present one."
        for run in runs
        if _policies_differ(run)
    ]
    found += _together(
        runs,
        lambda run: run.policy.source.description if run.policy and run.policy.source.kind != "last" else "",
        ("The policy of {} is {}.", "The policies of {} are each {}."),
    )
    return found + [f"{name} has no finished epoch, so the report leaves it out." for name in unfinished]


def _together(runs: Sequence[RunData], what: Callable[[RunData], str], forms: tuple[str, str]) -> list[str]:
    """Sentences that group runs with the same text: one form for a single run, another for several."""
    found: dict[str, list[str]] = {}
    for run in runs:
        if said := what(run):
            found.setdefault(said, []).append(run.name)
    return [forms[len(names) > 1].format(listed(names), said) for said, names in found.items()]


def _policies_differ(run: RunData) -> bool:
    plan, evaluated = run.certificate.get("plan"), run.evaluation.get("policy")
    certified = plan.get("policy") if isinstance(plan, dict) else None
    return bool(certified and evaluated and certified != evaluated)


def _tiles(groups: Sequence[Group]) -> list[tuple[str, str, str]]:
    """The main results of a single group: a title, a value, and a note."""
    if len(groups) > 1:
        return []
    runs = groups[0].runs
    evaluated = all("sampled" in run.evaluation for run in runs)

    def mean(name: str) -> float:
        values = [run.evaluation["sampled"].get(name) if evaluated else run.last(name) for run in runs]
        return sum(math.nan if value is None else float(value) for value in values) / len(values)

    source = "fresh episodes" if evaluated else "the end of the training"
    if _doubtful(runs, EVALUATION if evaluated else METRICS):
        source += " (doubtful, see above)"
    target = f"the target is {setting_percent(runs[0].probability)}"
    return [
        ("within all limits", percent(mean("SafeRate")), f"{source}; {target}"),
        ("return of an episode", number(mean("EpRet")), source),
        ("cost of an episode", number(mean("EpCost")), source),
        ("largest cost of an episode", number(mean("EpMaxCost")), source),
    ]


def _certificate(run: RunData) -> dict[str, object]:
    """The statement and the numbers of a certificate, as far as its format is known."""
    numbers = {name: value for name, value in run.certificate.items() if isinstance(value, (int, float))}
    names = ("look", "episodes", "violations", "probability", "confidence")
    figures = {name: f"{numbers[name]:.4g}" for name in names if name in numbers}
    if "bound" in numbers:
        # Rounding up would claim too much.
        figures["at least"] = f"{math.floor(numbers['bound'] * 1e4) / 1e4:.4f}"
    statement = run.certificate.get("statement", [])
    sentences = [statement] if isinstance(statement, str) else list(map(str, statement))
    if run.certificate.get("format") == "ascpo certificate 1":
        # Imported here because it imports JAX, which a report does not need.
        from ascpo.evaluation.statement import EARLIER_FORMAT

        sentences.append(EARLIER_FORMAT)
    certified, doubt = bool(run.certificate.get("certified")), run.doubts.get(CERTIFICATE, "")
    asked = numbers.get("probability", run.probability)
    verdict = "certified" if certified else "not certified"
    if certified and asked < run.probability:
        verdict = f"certified for {asked:g}, below the target of {run.probability:g}"
    reached = certified and asked >= run.probability
    return {"reached": reached, "verdict": verdict, "sentences": sentences, "figures": figures, "doubt": doubt}
