"""Pages: our numbers beside the published ones, the claims, the pictures, and what is missing."""

from ascpo.paper.claims import claims_of, judge
from ascpo.paper.contents import fill
from ascpo.paper.experiments import Experiment
from ascpo.paper.page import Page
from ascpo.paper.published import STEPS
from ascpo.paper.results import gather
from ascpo.sweep.store import Shelf, engines, unusual


def page_of(experiment: Experiment, shelf: Shelf, *, last: int = 1, command: str = "") -> Page:
    """From whatever runs there are. `command` is what would make the others."""
    samples = gather(shelf, experiment, last)
    page = Page(f"{experiment.name}: {experiment.what}", last)
    page.notes += _about_the_runs(experiment, shelf, command)
    if samples:
        fill(page, experiment, shelf, samples)
        page.claims += [judge(claim, samples) for claim in claims_of(experiment)]
        waiting = sum(not claim.has_runs for claim in page.claims)
        page.claims = [claim for claim in page.claims if claim.has_runs]
        page.footnotes += [f"Claims that wait for runs: {waiting}."] if waiting else []
    return page


def _about_the_runs(experiment: Experiment, shelf: Shelf, command: str) -> list[str]:
    trainings = experiment.trainings()
    there = {training for training in trainings if shelf.has(experiment, training)}
    notes = [f"At {shelf.scale:g} of the paper's steps ({round(shelf.scale * STEPS):,} of {STEPS:,})."]
    if strange := unusual(shelf, experiment, trainings):
        words = ", ".join(f"{name}={_typed(now)} instead of {_typed(was)}" for name, (was, now) in strange.items())
        notes.append(f"Not the paper's settings: {words}.")
        command += "".join(f" --set {name}={_typed(now)}" for name, (_, now) in strange.items())
    moved = engines(shelf, experiment, trainings)
    if others := [engine for engine in moved if engine != "native"]:
        words = "; ".join(f"{engine}: {', '.join(suites)}" for engine, suites in moved.items())
        notes.append(f"Engines: {words}.")
        command += f" --engine {others[0] if len(moved) == 1 else 'mjx'}"
    if missing := len(trainings) - len(there):
        notes.append(f"{missing} of {len(trainings)} runs are missing or not finished. To get them: {command}")
    for training in trainings:
        file = shelf.trouble(experiment, training)
        if file.exists() and training not in there:
            notes.append(f"{training.name} failed: {file.read_text().strip()}")
    return notes


def _typed(value: object) -> str:
    """As on the command line."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
