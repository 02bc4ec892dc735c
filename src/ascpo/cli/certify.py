"""`ascpo certify RUN …`: certify that a policy is safe, or repeat a certificate."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.own_code import OwnCode
from ascpo.cli.parsing import parsed, typed
from ascpo.evaluation.foreign_name import refuse_mistakes
from ascpo.evaluation.request import Request
from ascpo.ranges import Threads
from ascpo.runs.places import is_foreign, run_place
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Certify:
    """Bound the probability that a policy keeps every state within its limits, exactly, from fresh episodes.

    You may look at a run as often as you like: all statements about it hold at once with the confidence that you ask
    for, because each look spends a share of the error that is fixed beforehand. With several runs, the statements about
    all of them hold at once, too, and every pair is compared on the same scenes. The exit status is 1 if a policy is
    not certified.

    The certificate is RUN/certificate.json. Next: anyone can repeat it with `ascpo certify --check`, and `ascpo export`
    puts it into the file of the policy.
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN [RUN ...]")]
    """The runs' directories. With --check: certificates, or the directories that hold them. Or, with --env, policies
    of other libraries: sb3:FILE.zip, onnx:FILE.onnx, python:MODULE:FUNCTION."""
    check: bool = False
    """Derive the certificates' plans again, repeat them from scratch, and compare all figures and the list of looks.
    Name all runs that were certified with one command, so that none of them is missing."""
    policy: Path | None = None
    """The policy that --check uses, if it does not lie beside the certificate."""
    threads: Threads = 0
    """Number of threads that simulate a suite. 0 uses one per core."""
    own_code: Annotated[OwnCode, tyro.conf.arg(name="")] = field(default_factory=OwnCode)
    request: Annotated[Request, tyro.conf.arg(name="")] = field(default_factory=Request)


def main(words: list[str]) -> None:
    if typed("--looks", words):
        raise BadSetting(
            "--looks is no longer needed. Leave it out: every look at a run is counted, and the confidence holds for "
            "all of them together, however many there will be."
        )
    asked = parsed(Certify, words, "ascpo certify")
    if not asked.runs:
        raise BadSetting("Name the directory of a run.")
    if asked.policy and not asked.check:
        raise BadSetting("--policy is for --check. To certify a policy, name the directory of its run.")
    if any(is_foreign(str(run)) for run in asked.runs):
        _refuse_foreign(asked, words)
    elif asked.check:
        _refuse_requests(words)
    for run in asked.runs:
        # The file of a certificate may lie anywhere.
        if not (is_foreign(str(run)) or (asked.check and (run.exists() or run.suffix == ".json"))):
            run_place(run)
    from ascpo.cli.certified import certify_all

    certify_all(asked, words)


def _refuse_requests(words: list[str]) -> None:
    """Refuse flags of a new certificate. A repeated one has the request that it was made with."""
    for one in fields(Request):
        if typed(flag := f"--{one.name.replace('_', '-')}", words) or typed(f"--{one.name}", words):
            raise BadSetting(f"--check repeats a certificate as it was made. Leave out {flag}, or leave out --check.")


def _refuse_foreign(asked: Certify, words: list[str]) -> None:
    """Refuse what policies of other libraries cannot have, before anything slow is imported."""
    if asked.check:
        raise BadSetting("--check is for certificates of runs. To repeat this one, type the same command again.")
    actions = asked.request.actions if typed("--actions", words) else None
    refuse_mistakes(list(map(str, asked.runs)), **vars(asked.own_code), actions=actions)
