"""The page of an experiment: its tables, claims and pictures, and notes about the runs behind them."""

from collections.abc import Iterable, Mapping

from ascpo.paper.claims import assess, claims_of
from ascpo.paper.contents import fill
from ascpo.paper.experiments import Experiment, Training
from ascpo.paper.printed import STEPS
from ascpo.paper.results import PaperStore, gather
from ascpo.paper.tables import Page
from ascpo.runs.config import Config
from ascpo.runs.serialization import differences
from ascpo.sweep.store import failure_file


def page_of(experiment: Experiment, store: PaperStore, *, last: int = 1, command: str = "") -> Page:
    """A page from the runs that exist. `command` trains the missing ones."""
    samples = gather(store, experiment, last)
    page = Page(f"{experiment.name}: {experiment.description}", last)
    page.notes += _notes(experiment, store, command)
    if samples:
        fill(page, experiment, store, samples)
        page.claims += [assess(claim, samples) for claim in claims_of(experiment)]
        waiting = sum(not claim.has_runs for claim in page.claims)
        page.claims = [claim for claim in page.claims if claim.has_runs]
        page.footnotes += [f"Claims without runs so far: {waiting}."] if waiting else []
    return page


def configs_of(store: PaperStore, experiment: Experiment, trainings: Iterable[Training]) -> dict[Training, Config]:
    """The configs of the runs that exist."""
    runs = {training: store.run(experiment, training) for training in trainings}
    return {training: run.config() for training, run in runs.items() if run.config_file.exists()}


def overridden(configs: Mapping[Training, Config], scale: float) -> dict[str, tuple[object, object]]:
    """Settings of the runs that differ from the experiment's: name → (the experiment's, the run's)."""
    out: dict[str, tuple[object, object]] = {}
    for training, found in configs.items():
        usual = training.config(scale)
        out |= differences(usual.settings, found.settings)
        out |= {f"{found.algo}.{name}": both for name, both in differences(usual.method, found.method).items()}
    return out


def _notes(experiment: Experiment, store: PaperStore, command: str) -> list[str]:
    """How long the runs are, what is unusual about them, and which are missing."""
    trainings = experiment.trainings()
    present = {training for training in trainings if store.has(experiment, training)}
    notes = [f"Runs have {store.scale:g} of the paper's steps ({round(store.scale * STEPS):,} of {STEPS:,})."]
    configs = configs_of(store, experiment, trainings)
    if changed := overridden(configs, store.scale):
        listed = ", ".join(f"{name}={_typed(now)} instead of {_typed(was)}" for name, (was, now) in changed.items())
        notes.append(f"Not the paper's settings: {listed}.")
        command += "".join(f" --set {name}={_typed(now)}" for name, (_, now) in changed.items())
    engines: dict[str, dict[str, None]] = {}
    for training, config in configs.items():
        engines.setdefault(config.engine, {})[training.suite] = None
    if others := [engine for engine in engines if engine != "native"]:
        listed = "; ".join(f"{engine}: {', '.join(suites)}" for engine, suites in engines.items())
        notes.append(f"Engines: {listed}.")
        command += f" --engine {others[0] if len(engines) == 1 else 'mjx'}"
    if missing := len(trainings) - len(present):
        notes.append(f"{missing} of {len(trainings)} runs are missing or unfinished. To train them: {command}")
    for training in trainings:
        file = failure_file(store.run(experiment, training))
        if file.exists() and training not in present:
            notes.append(f"{training.name} failed: {file.read_text().strip()}")
    return notes


def _typed(value: object) -> str:
    """As on the command line."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
