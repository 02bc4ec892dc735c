"""The page of an experiment: its tables, claims and pictures, and notes about the runs behind them."""

from ascpo.paper.claims import assess, claims_of
from ascpo.paper.columns import COLUMNS, OURS, SETTINGS, Column, about_columns, enumerate_words
from ascpo.paper.comparison import ByColumn, findings
from ascpo.paper.contents import fill
from ascpo.paper.experiments import Experiment, Training
from ascpo.paper.printed import STEPS
from ascpo.paper.results import PaperStore, configs_of, gather_columns, overridden, typed
from ascpo.paper.tables import Page
from ascpo.sweep.store import failure_file


def page_of(experiment: Experiment, store: PaperStore, *, last: int = 1, command: str = "") -> Page:
    """A page from the runs that exist. `command` trains the missing ones."""
    samples = gather_columns(store, experiment, last)
    page = Page(f"{experiment.name}: {experiment.description}", last)
    page.notes += _notes(experiment, store, samples, command)
    if samples:
        fill(page, experiment, store, samples)
        page.claims += [assess(claim, one, c) for c, one in samples.items() for claim in claims_of(experiment)]
        waiting = sum(not claim.has_runs for claim in page.claims)
        page.claims = [claim for claim in page.claims if claim.has_runs]
        page.footnotes += [f"Claims without runs so far: {waiting}."] if waiting else []
    if set(samples) - {OURS} and not experiment.isolated:
        page.findings += findings(experiment, samples, page.claims)
    return page


def _notes(experiment: Experiment, store: PaperStore, samples: ByColumn, command: str) -> list[str]:
    """Notes on the runs: their length, overridden settings, engines, and the missing ones."""
    columns: list[Column] = [column for column in COLUMNS if column in samples or column in experiment.columns]
    trainings = experiment.trainings(columns=columns)
    length = f"{store.scale:g} of the paper's steps ({round(store.scale * STEPS):,} of {STEPS:,})"
    notes = [f"Runs have {length if store.scale != 1 else f'as many steps as in the paper ({STEPS:,})'}."]
    if columns != [OURS]:
        notes.append(about_columns())
    configs = configs_of(store, experiment, trainings)
    if changed := overridden(configs, store.scale):
        listed = ", ".join(f"{name}={typed(now)} instead of {typed(was)}" for name, (was, now) in changed.items())
        notes.append(f"Overridden settings: {listed}.")
        command += "".join(f" --set {name}={typed(now)}" for name, (_, now) in changed.items())
    engines: dict[str, dict[str, None]] = {}
    for training, config in configs.items():
        engines.setdefault(config.engine, {})[training.suite] = None
    if others := [engine for engine in engines if engine != "native"]:
        listed = "; ".join(f"{engine}: {', '.join(suites)}" for engine, suites in engines.items())
        notes.append(f"Engines: {listed}.")
        command += f" --engine {others[0] if len(engines) == 1 else 'mjx'}"
    return notes + _exported(experiment, store) + _missing(experiment, store, trainings, command)


def _exported(experiment: Experiment, store: PaperStore) -> list[str]:
    """Notes on exported runs, which have no directory."""
    names = {variant.name for variant in experiment.variants}
    runs = store.exported.runs
    rows = [runs[k] for k in store.exported.finished() if k.suite in experiment.suites and k.algorithm in names]
    if not rows:
        return []
    engines = enumerate_words(list(dict.fromkeys(row["engine"] for row in rows if row.get("engine"))))
    changed = enumerate_words(list(dict.fromkeys(text for row in rows if (text := row.get("overridden")))))
    about = f"{len(rows)} finished runs are in {store.results}, by the engine {engines or 'that is not known'}"
    return [f"{about}{f', with the overridden settings {changed}' if changed else ''}."]


def _missing(experiment: Experiment, store: PaperStore, trainings: list[Training], command: str) -> list[str]:
    """Notes on the missing runs by column, and on the reasons of failures."""
    notes: list[str] = []
    present = {training for training in trainings if store.has(experiment, training)}
    shown = {training.column for training in trainings}
    for column in COLUMNS:
        wanted = [training for training in trainings if training.column == column]
        if missing := len(set(wanted) - present):
            which = "" if shown == {OURS} else f" with {SETTINGS[column]}"
            typed_column = "" if (column,) == experiment.columns else f" --as {column}"
            notes.append(
                f"{missing} of {len(wanted)} runs{which} are missing or unfinished. To train them: "
                f"{command}{typed_column}"
            )
    if absent := [column for column in COLUMNS if column not in shown]:
        words = enumerate_words([SETTINGS[column] for column in COLUMNS if column in absent], "or")
        notes.append(f"No run with {words} is finished. To train some: {command} --as {' '.join(absent)}")
    for training in experiment.trainings(columns=COLUMNS):
        file = failure_file(store.run(experiment, training))
        if file.exists() and not store.has(experiment, training):
            notes.append(f"{training.name} failed: {file.read_text().strip()}")
    return notes
