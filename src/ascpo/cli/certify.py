"""`ascpo certify RUN …`: show that a policy is safe, or repeat what was shown."""

import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from ascpo.cli.show import counting, plain_table
from ascpo.evaluation.certificate import Certificate, findings, meaning
from ascpo.evaluation.certify import FILE, Comparison, Wanted, certify, check
from ascpo.runs.compilation_cache import keep_compiled_programs
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Certify:
    """Bound the probability that a policy keeps every state within its limits, exactly, from fresh episodes.

    With several runs, all statements hold together with the confidence asked for, and every pair is compared on the
    same scenes. Ends with status 1 if a policy is not certified.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Runs' directories; with --check, certificates."""
    check: bool = False
    """Repeat certificates from scratch instead: same policy, same seeds, same figures."""
    policy: Path | None = None
    """With --check: where the policy is, if not beside the certificate."""
    threads: int = 0
    """Threads of the simulator, 0 for one per core."""
    wanted: Annotated[Wanted, tyro.conf.arg(name="")] = field(default_factory=Wanted)


def main(words: list[str]) -> None:
    wanted = tyro.cli(Certify, args=words, prog="ascpo certify")
    if not wanted.runs:
        raise BadSetting("Name a run's directory.")
    keep_compiled_programs()
    if wanted.check:
        for path in wanted.runs:
            _say(path, check(path, wanted.policy, threads=wanted.threads))
            print("Confirmed: played again from scratch, every figure is the same.\n")
        return
    with counting("episodes", wanted.wanted.episodes * len(wanted.runs)) as watch:
        certificates, comparisons = certify(wanted.runs, wanted.wanted, threads=wanted.threads, watch=watch)
    for run, certificate in zip(wanted.runs, certificates, strict=True):
        _say(run, certificate)
        _theory(certificate)
        print(f"Certificate: {run / FILE}\nRepeat it: ascpo certify --check {run / FILE}\n")
    for comparison in comparisons:
        print(_compared(comparison))
    _print(meaning(wanted.wanted.confidence))
    if not all(certificate.certified for certificate in certificates):
        sys.exit(1)


def _say(path: Path, certificate: Certificate) -> None:
    Console(highlight=False, markup=False).print(str(path), style="bold")
    _print(findings(certificate))


def _print(lines: list[str]) -> None:
    for line in lines:
        print(textwrap.fill(line, 110, subsequent_indent="  "))


def _theory(certificate: Certificate) -> None:
    """What mean and variance promise, beside what was counted."""
    k = certificate.plan.k
    table = plain_table("theory", "E", "V", f"E + {k:g}V", "Cantelli's p", "within", "at the limit", "held")
    for one in certificate.constraints:
        found = one.theory
        figures = (found.mean, found.variance, found.bound, found.promised, found.within, found.at_the_limit)
        table.add_row(one.name, *(f"{figure:.4g}" for figure in figures), "yes" if found.held else "NO")
    Console(highlight=False).print(table)


def _compared(found: Comparison) -> str:
    counts = f"{found.only_first} scenes in which {found.first} alone violates a limit, {found.only_second} in which "
    end = f"{found.second} alone does (p = {found.p_value:.3g}, tried at {found.level:.3g})."
    verdict = f"{found.safer} is safer" if found.safer else "No difference is shown"
    return textwrap.fill(f"{verdict}: {counts}{end}", 110, subsequent_indent="  ")
