"""The link between a certificate and its run: the config, the log, and the list of all looks at the run.

A policy with a single changed bit is another policy and gets other scenes. So looks are counted for the run and not for
the policy: a hundred tries with a hundred policies are a hundred looks.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ascpo.evaluation.ledger import Ledger, Look, new_ledger, read_ledger
from ascpo.evaluation.plan import CertificatePlan
from ascpo.runs.config import fingerprint_of
from ascpo.runs.directory import NoRun, RunDirectory
from ascpo.runs.files import BadFile
from ascpo.runs.machine import machine_kind
from ascpo.runs.serialization import Plain, to_plain
from ascpo.runs.tables import check_table
from ascpo.runs.trained_policy import PolicyFile


@dataclass(frozen=True)
class RunBinding:
    """The run of a certificate."""

    config: str = ""
    """The fingerprint of its config."""
    epochs: int = 0
    """The number of epochs after which this policy was saved."""
    log: str | None = None
    """The checksum of `metrics.csv` up to that epoch, if there was one."""
    earlier: int = 0
    """The number of certificates of format 1, which the run had before its looks were listed. They count as looks."""
    chain: str = ""
    """The checksum of the list of looks, up to this one."""
    policy: str = ""
    """The name of a foreign policy, which has neither config nor log. Empty for the policy of a run."""
    machine: str = ""
    """The kind of machine that played the episodes. Earlier versions did not record it."""

    def plain(self) -> Plain:
        """Plain data for JSON. Fields that earlier certificates did not have are left out if they are empty."""
        return {name: value for name, value in to_plain(self).items() if name not in ("policy", "machine") or value}


def bind(directory: RunDirectory, policy: PolicyFile, ledger: Ledger, look: int) -> RunBinding:
    """The run as it is now, with the number of its look."""
    entry = ledger.entry(look)
    log = log_checksum(directory.metrics, policy.epochs)
    chain = entry.chain if entry else ""
    return RunBinding(ledger.run, policy.epochs, log, ledger.earlier, chain, machine=machine_kind())


def look_of(plan: CertificatePlan) -> Look:
    return Look(plan.policy, plan.experiment, plan.world, plan.probability, plan.confidence, plan.episodes)


def ledger_of(directory: RunDirectory, policy: PolicyFile, earlier: int = 0) -> Ledger:
    """The run's list of looks, or a new one."""
    run = fingerprint_of(directory.plain_config(directory.config()))
    if run != fingerprint_of(policy.plain_config):
        raise NoRun(
            f"{directory.policy} was trained with other settings than those of {directory.config_file}. Restore the "
            f"files of one run."
        )
    log_checksum(directory.metrics, policy.epochs)  # Refuses a log of another policy before a look is spent.
    return read_ledger(directory.path, run) or new_ledger(directory.path, run, earlier)


def log_checksum(metrics: Path, epochs: int) -> str | None:
    """The checksum of the log's header and its rows of that many epochs. A damaged log is an error."""
    if not metrics.exists():
        return None
    found = check_table(metrics)
    if found.damage:
        raise BadFile(found.damage)
    lines = found.lines[: epochs + 1]
    if len(lines) <= epochs:
        raise NoRun(
            f"{metrics} has fewer rows than the {epochs} epochs of the policy. Put the original back, or continue the "
            f"run with `ascpo train --resume {metrics.parent}`."
        )
    return hashlib.sha256(b"".join(lines)).hexdigest()
