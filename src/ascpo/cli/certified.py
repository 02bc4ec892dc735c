"""The work of `ascpo certify`, after its command line was parsed."""

import shlex
import sys
import textwrap
from pathlib import Path

from rich.console import Console

from ascpo.cli.certify import Certify
from ascpo.cli.parsing import typed
from ascpo.cli.printable import printable
from ascpo.cli.show import counting, plain_table
from ascpo.evaluation.bound import rounded_down
from ascpo.evaluation.certificate import Certificate
from ascpo.evaluation.certify import Checked, Comparison, certify, check
from ascpo.evaluation.foreign import certify_foreign, where_of
from ascpo.evaluation.looks import FILE, place_of
from ascpo.evaluation.statement import EARLIER_FORMAT, meaning
from ascpo.runs.compilation import set_up_compilation
from ascpo.runs.directory import find
from ascpo.runs.places import is_foreign
from ascpo.runs.trust import flag_for


def certify_all(asked: Certify, words: list[str]) -> None:
    """Certify policies, or repeat certificates, and print the results."""
    set_up_compilation()
    if any(is_foreign(str(run)) for run in asked.runs):
        return _certify_foreign(asked, words)
    if asked.check:
        return _check_all(asked)
    with counting("episodes", asked.request.episodes * len(asked.runs)) as on_progress:
        own_code = asked.own_code
        certificates, comparisons = certify(
            asked.runs, asked.request,
            env=own_code.env, trust_env=own_code.trust_env, threads=asked.threads, on_progress=on_progress,
        )  # fmt: skip
    for run, certificate in zip(asked.runs, certificates, strict=True):
        _show(run, certificate)
        _show_theory(certificate)
        place = place_of(find(run).path, certificate)
        of_file = ["--policy", str(run)] if run.is_file() else []
        again = shlex.join(["ascpo", "certify", "--check", str(place), *of_file]) + flag_for(certificate.plan.env)
        print(printable(f"Certificate: {place}\nRepeat it: {again}\n"))
    for comparison in comparisons:
        print(_compared(comparison))
    _print(meaning(asked.request.confidence))
    if not all(certificate.certified for certificate in certificates):
        sys.exit(1)


def _check_all(asked: Certify) -> None:
    together = [] if asked.policy else [run if run.is_dir() else run.parent for run in asked.runs]
    holds = True
    for path in asked.runs:
        checked = check(path, asked.policy, threads=asked.threads, together=together, **vars(asked.own_code))
        _show(path, checked.certificate)
        _print([f"Not confirmed: {sentence}" for sentence in checked.unseen])
        _print([_confirmation(checked)])
        print()
        claimed = checked.differs_from or checked.certificate
        holds &= checked.certificate.certified >= claimed.certified
    if not holds:
        sys.exit(1)


def _certify_foreign(asked: Certify, words: list[str]) -> None:
    """Certify policies that were not trained with this package."""
    actions = asked.request.actions if typed("--actions", words) else None
    where = where_of(asked.runs[0], **vars(asked.own_code), actions=actions, threads=asked.threads)
    with counting("episodes", asked.request.episodes * len(asked.runs)) as on_progress:
        certificates, comparisons = certify_foreign(asked.runs, where, asked.request, on_progress)
    for run, (directory, certificate) in zip(asked.runs, certificates, strict=True):
        _show(run, certificate)
        _show_theory(certificate)
        print(printable(f"Certificate: {directory / FILE}\n"))
    for comparison in comparisons:
        print(_compared(comparison))
    _print(meaning(asked.request.confidence, policy=str(asked.runs[0])))
    if not all(certificate.certified for _, certificate in certificates):
        sys.exit(1)


def _confirmation(checked: Checked) -> str:
    claimed, found = checked.differs_from, checked.certificate
    if claimed is None:
        return "Confirmed: the repeated episodes give the same figures."
    return (
        f"Confirmed on another kind of machine: it rounds differently, so some episodes differ. Here "
        f"{found.violations} episodes violate a limit, which shows at least {rounded_down(found.bound)}. The "
        f"certificate says {claimed.violations} and {rounded_down(claimed.bound)}. Chance explains that difference. "
        f"The lines above describe the repeated episodes."
    )


def _show(path: Path, certificate: Certificate) -> None:
    Console(highlight=False, markup=False).print(str(path), style="bold")
    _print(certificate.findings)
    if certificate.plan.format == 1:
        _print([EARLIER_FORMAT])


def _print(lines: list[str]) -> None:
    for line in lines:
        print(textwrap.fill(printable(line), 110, subsequent_indent="  "))


def _show_theory(certificate: Certificate) -> None:
    """The guarantees from mean and variance, beside the counted violations."""
    k = certificate.plan.k
    table = plain_table("theory", "E", "V", f"E + {k:g}V", "Cantelli's p", "within", "at limit", "held")
    for one in certificate.constraints:
        found = one.theory
        figures = (found.mean, found.variance, found.bound, found.promised, found.within, found.at_the_limit)
        table.add_row(one.name, *(f"{figure:.4g}" for figure in figures), "yes" if found.held else "NO")
    Console(highlight=False, markup=False).print(table)


def _compared(found: Comparison) -> str:
    counts = f"only {found.first} violates a limit in {found.only_first} scenes, only {found.second} in "
    end = f"{found.only_second} (p = {found.p_value:.3g}, tested at {found.level:.3g})."
    verdict = f"{found.safer} is safer" if found.safer else "No difference is shown"
    return textwrap.fill(f"{verdict}: {counts}{end}", 110, subsequent_indent="  ")
