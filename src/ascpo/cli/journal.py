"""`ascpo journal RUN [EPOCH]`: what the optimiser did, in words."""

import shutil
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.report.data import Run, one_run
from ascpo.report.journal import entry, index_of
from ascpo.report.timeline import milestones, timeline
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Journal:
    """Tell what the optimiser did: at one epoch, at several, or, without an epoch, in the whole training."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run's directory."""
    epoch: Annotated[int | None, tyro.conf.Positional] = None
    """Which epoch, counted from 0 as in metrics.csv."""
    first: Annotated[int | None, tyro.conf.arg(name="from")] = None
    """Tell of all epochs from this one on ..."""
    last: Annotated[int | None, tyro.conf.arg(name="to")] = None
    """... up to this one."""


def main(words: list[str]) -> None:
    wanted = tyro.cli(Journal, args=words, prog="ascpo journal")
    run = one_run(wanted.run)
    print("\n".join(told(run, _epochs(run, wanted), min(shutil.get_terminal_size().columns, 110))))


def told(run: Run, epochs: list[int], width: int) -> list[str]:
    """The lines: of the epochs asked for, or of the whole time line if there are none."""
    lines = [f"{run.name}: {run.words}"]
    for epoch in epochs:
        found = entry(run, epoch)
        lines += ["", found.title]
        for about, text in found.parts:
            lines.append(textwrap.fill(text, width, initial_indent=f"  {about:<9}", subsequent_indent=" " * 11))
    if not epochs:
        for phase in timeline(run):
            lines += ["", f"{phase.epochs}: {phase.title}"]
            said = (*phase.sentences, phase.outcome)
            lines += [textwrap.fill(line, width, initial_indent="  ", subsequent_indent="  ") for line in said if line]
        lines += ["", *(textwrap.fill(line, width) for line in milestones(run))]
        lines += ["", f"One epoch in full: ascpo journal {run.path} EPOCH"]
    return lines


def _epochs(run: Run, wanted: Journal) -> list[int]:
    if wanted.epoch is not None:
        if wanted.first is not None or wanted.last is not None:
            raise BadSetting("Give either an EPOCH, or --from and --to.")
        return [wanted.epoch]
    if wanted.first is None and wanted.last is None:
        return []
    known = run.metrics["Epoch"].astype(int)
    first = known[0] if wanted.first is None else wanted.first
    last = known[-1] if wanted.last is None else wanted.last
    if first > last:
        raise BadSetting(f"--from {first} comes after --to {last}.")
    for end in (first, last):
        index_of(run, int(end))
    return [int(epoch) for epoch in known if first <= epoch <= last]
