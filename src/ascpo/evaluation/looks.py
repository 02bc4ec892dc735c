"""Looks at a run, and the files they leave: the list of looks, and a certificate for each.

`certificate.json` belongs to the last look. Earlier certificates are renamed and kept.
"""

import json
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

from ascpo.evaluation.binding import RunBinding, bind, ledger_of, look_of
from ascpo.evaluation.certificate import BadCertificate, Certificate, read_certificate
from ascpo.evaluation.ledger import FILE as LEDGER
from ascpo.evaluation.ledger import BadLedger, Ledger, locked, take_look, write_result
from ascpo.evaluation.plan import CertificatePlan
from ascpo.runs.config import fingerprint_of
from ascpo.runs.directory import RunDirectory, write_whole
from ascpo.runs.serialization import to_plain
from ascpo.runs.trained_policy import PolicyFile

FILE = "certificate.json"


def refuse_look(directory: RunDirectory, policy: PolicyFile, plan: CertificatePlan) -> None:
    """Refuse a policy that cannot be certified, before a look is spent on it."""
    ledger = _ledger(directory, policy)
    bind(directory, policy, ledger, numbered(plan, ledger).look)


def record_look(
    directory: RunDirectory, policy: PolicyFile, plan: CertificatePlan
) -> tuple[CertificatePlan, RunBinding]:
    """Record a look before its first episode, so that it counts even if it is interrupted."""
    with locked(directory.path):
        ledger = _ledger(directory, policy)
        plan = numbered(plan, ledger)
        return plan, bind(directory, policy, take_look(ledger, look_of(plan)), plan.look)


def numbered(plan: CertificatePlan, ledger: Ledger) -> CertificatePlan:
    """The plan with the number of its look. It is refused if it then has too few episodes."""
    return replace(plan, look=ledger.number_for(look_of(plan)))


def write_certificate(directory: RunDirectory, policy: PolicyFile, certificate: Certificate) -> None:
    """Write the certificate of a look. The certificate of an earlier look is renamed."""
    with locked(directory.path):
        write_result(_ledger(directory, policy), certificate.plan.look, certificate.counts)
        replace_certificate(directory.path, certificate)


def replace_certificate(directory: Path, certificate: Certificate) -> None:
    """Write certificate.json. The certificate of an earlier look is renamed. The caller holds the lock."""
    place = directory / FILE
    if place.exists():
        before = read_certificate(place)
        if (before.plan.experiment, before.plan.look) != (certificate.plan.experiment, certificate.plan.look):
            place.rename(directory / _kept_name(before))
    write_whole(place, certificate.to_json())


def place_of(directory: Path, certificate: Certificate) -> Path:
    """The file of a certificate, which is renamed when another look follows."""
    kept = directory / _kept_name(certificate)
    return kept if kept.exists() else directory / FILE


def _kept_name(certificate: Certificate) -> str:
    """A file name that no other look has, even if one was copied from the directory of another run."""
    number = f"look{certificate.plan.look}-" if certificate.plan.format > 1 else ""
    return f"certificate-{number}{certificate.plan.experiment[:8]}.json"


def _ledger(directory: RunDirectory, policy: PolicyFile) -> Ledger:
    """The run's list of looks. The certificates beside it must be in it."""
    kept = {path: read_certificate(path) for path in sorted(directory.path.glob("certificate*.json"))}
    ledger = ledger_of(directory, policy, earlier=sum(one.plan.format == 1 for one in kept.values()))
    for path, certificate in kept.items():
        if certificate.plan.format > 1 and certificate.run.config == ledger.run:
            _refuse_unlisted(path, certificate, ledger)
    return ledger


def _refuse_unlisted(path: Path, certificate: Certificate, ledger: Ledger) -> None:
    entry, said = ledger.entry(certificate.plan.look), look_of(certificate.plan).identity
    if entry is None or (entry.chain, entry.look.identity) != (certificate.run.chain, said):
        state = "does not have" if ledger.path.exists() else "is missing, which should have"
        raise BadLedger(
            f"{ledger.path} {state} look {certificate.plan.look}, the look of {path.name}. It lists all looks at this "
            f"run: restore the original file."
        )


def refuse_other_plan(file: Path, plan: CertificatePlan, derived: CertificatePlan) -> None:
    """Refuse a certificate whose plan differs from the one that is derived here."""
    if plan.world != derived.world:
        raise BadCertificate(
            f"{file} was made in another world: {plan.world}. Here it is {derived.world}. Repeat it with those "
            f"versions, or certify the policy again."
        )
    for field in fields(plan):
        # Compared as JSON: 0.0 and −0.0 are equal, but have different checksums.
        said, found = (json.dumps(to_plain(getattr(one, field.name))) for one in (plan, derived))
        if said != found:
            raise BadCertificate(
                f"{file} was changed, or made by another program: its plan has {field.name} = {said}, but its request "
                f"gives {found}."
            )


def confirm_run(file: Path, certificate: Certificate, policy: PolicyFile, places: Iterable[Path]) -> list[str]:
    """Refuse a certificate that is not bound to the policy's run. Returns a sentence for each claim left unchecked."""
    if certificate.plan.format == 1:
        return []
    run = certificate.run
    if (run.config, run.epochs) != (fingerprint_of(policy.plain_config), policy.epochs):
        raise BadCertificate(
            f"{file} is bound to another run: its config or number of epochs differs from the policy's."
        )
    directory = next((RunDirectory(place) for place in places if (place / "config.json").exists()), None)
    if directory is None:
        return [
            f"The certificate says that this was look {certificate.plan.look}. Only the list of all looks in the run's "
            f"directory ({LEDGER}) can confirm it, and it is not here."
        ]
    ledger = ledger_of(directory, policy, run.earlier)
    _refuse_unlisted(file, certificate, ledger)
    here = replace(bind(directory, policy, ledger, certificate.plan.look), machine=run.machine)
    for field in fields(run):
        if getattr(run, field.name) != getattr(here, field.name):
            raise BadCertificate(
                f"{file} is bound to another run: its {field.name} is {getattr(run, field.name)}, but that of "
                f"{directory.path} is {getattr(here, field.name)}."
            )
    return []
