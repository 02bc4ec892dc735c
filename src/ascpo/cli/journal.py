"""`ascpo journal RUN [EPOCH]`: describe the optimiser's steps in sentences."""

import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.parsing import parsed
from ascpo.cli.printable import printable
from ascpo.report.data import RunData, one_run
from ascpo.report.journal import entry, index_of
from ascpo.report.timeline import milestones, timeline
from ascpo.report.wording import overview
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Journal:
    """Describe what the optimiser did: in one epoch, in several epochs, or, without an epoch, in the whole training.

    The command prints sentences about returns, costs and steps, and writes no file. Next: `ascpo report RUN` draws the
    same epochs as curves, and docs/log.md explains the columns that the sentences are made from.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The directory of the run."""
    epoch: Annotated[int | None, tyro.conf.Positional, tyro.conf.arg(metavar="[EPOCH]")] = None
    """The epoch to describe, counted from 0 as in metrics.csv."""
    first: Annotated[int | None, tyro.conf.arg(name="from")] = None
    """The first epoch to describe."""
    last: Annotated[int | None, tyro.conf.arg(name="to")] = None
    """The last epoch to describe."""


def main(arguments: list[str]) -> None:
    options = parsed(Journal, arguments, "ascpo journal")
    run = one_run(options.run)
    text = "\n".join(lines(run, _epochs(run, options), min(shutil.get_terminal_size().columns, 110)))
    print(printable(text))


def lines(run: RunData, epochs: list[int], width: int) -> list[str]:
    """The entries of these epochs, or the time line of the run if there are none."""
    out = [f"{run.name}: {run.title}", textwrap.fill(overview(run.description), width)]
    out += [textwrap.fill(f"WARNING: {warning}", width) for warning in run.warnings()]
    for epoch in epochs:
        found = entry(run, epoch)
        out += ["", found.title]
        for topic, text in found.parts:
            out.append(textwrap.fill(text, width, initial_indent=f"  {topic:<11}", subsequent_indent=" " * 13))
    if not epochs:
        for phase in timeline(run):
            out += ["", f"{phase.epochs}: {phase.title}"]
            texts = filter(None, (*phase.sentences, phase.outcome))
            out += [textwrap.fill(text, width, initial_indent="  ", subsequent_indent="  ") for text in texts]
        out += ["", *(textwrap.fill(line, width) for line in milestones(run))]
        out += ["", f"More about one epoch: ascpo journal {run.path} EPOCH"]
    return out


def _epochs(run: RunData, options: Journal) -> list[int]:
    if (options.first, options.last) == (None, None):
        return [] if options.epoch is None else [options.epoch]
    if options.epoch is not None:
        raise BadSetting("Give either an EPOCH, or --from and --to.")
    known = run.metrics["Epoch"].astype(int)
    first = known[0] if options.first is None else options.first
    last = known[-1] if options.last is None else options.last
    if first > last:
        raise BadSetting(f"--from {first} comes after --to {last}.")
    for end in (first, last):
        index_of(run, int(end))
    return [int(epoch) for epoch in known if first <= epoch <= last]
