"""Verify a run's directory: whether its files are undamaged, and whether they belong together.

Damaged data are not shown. Data of another run or policy, or without a checksum, are shown. A sentence reports each.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ascpo.evaluation import ledger
from ascpo.evaluation.evaluation_file import FILE as EVALUATION
from ascpo.evaluation.evaluation_file import KINDS, EvaluationFile, episodes_file, read_evaluation, worst_file
from ascpo.report.policies import POLICY, SELECTION, PolicyData, doubts_about_others, read_policy_data, read_selection
from ascpo.runs import description
from ascpo.runs.files import BadFile, read_json, reading
from ascpo.runs.sealed import fingerprint_of, read_sealed
from ascpo.runs.serialization import Plain
from ascpo.runs.tables import Columns, check_table, columns_of, sums_of

METRICS, TIMING, CERTIFICATE = "metrics.csv", "timing.csv", "certificate.json"
VERSIONS, CONFIG = "versions.json", "config.json"
_NEEDED = ("Epoch", "TotalEnvInteracts")
"""Columns of the log that every curve needs."""


@dataclass
class Contents:
    """The contents of a run's directory, and the doubts about them."""

    path: Path
    config: Plain = field(default_factory=dict)
    tables: dict[str, Columns] = field(default_factory=dict)
    """The readable rows of metrics.csv and timing.csv, the episodes of each kind of actions, and selection.csv."""
    policy: PolicyData | None = None
    """The run's final policy."""
    figures: Plain = field(default_factory=dict)
    certificate: Plain = field(default_factory=dict)
    versions: Plain = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    """File → a sentence that says what is wrong with it."""
    unverified: list[str] = field(default_factory=list)
    """Files without checksums: earlier versions wrote none."""

    def doubt(self, name: str, sentence: object) -> None:
        self.doubts[name] = " ".join(filter(None, (self.doubts.get(name), str(sentence))))


def read_contents(path: Path) -> Contents:
    """Read a run's directory. Only a config.json that cannot be read is an error."""
    found = Contents(path)
    sealed = read_sealed(path / CONFIG, "config")
    with reading(path / CONFIG):
        run = fingerprint_of(sealed.content)
    found.config = sealed.content
    if not sealed.verified:
        found.unverified.append(CONFIG)
    _policy(found, run)
    digest, epochs = (found.policy.digest, found.policy.epochs) if found.policy else ("", 0)
    _log(found, METRICS, run)
    _log(found, TIMING, run)
    if METRICS in found.tables and (rows := len(found.tables[METRICS]["Epoch"])) < epochs:
        found.doubt(METRICS, f"{path / METRICS} has {rows} good rows, but the policy is that after {epochs} epochs.")
    _selection(found, run)
    _evaluation(found, digest)
    _certificate(found, digest, run)
    _described(found, run, sealed.verified)
    return found


def _policy(found: Contents, run: str) -> None:
    """Read the final policy, if it is valid, and the others."""
    file = found.path / POLICY
    try:
        found.policy = read_policy_data(file) if file.exists() else None
    except BadFile as error:
        found.doubt(POLICY, error)
    if found.policy and found.policy.run != run:
        found.doubt(POLICY, f"{file} belongs to another run: its settings are not those of {CONFIG}.")
    if found.policy and not found.policy.verified:
        found.unverified.append(POLICY)
    for name, sentence in doubts_about_others(found.path, run, found.policy):
        found.doubt(name, sentence)


def _selection(found: Contents, run: str) -> None:
    try:
        found.tables[SELECTION] = read_selection(found.path / SELECTION, run, found.policy)
    except BadFile as error:
        found.doubt(SELECTION, error)


def _log(found: Contents, name: str, run: str) -> None:
    """The rows of a table that fit their checksums."""
    file = found.path / name
    if not file.exists():
        if sums_of(file).exists() or (name == TIMING and METRICS in found.tables):
            found.doubt(name, f"{file} is missing.")
        return
    try:
        checked = check_table(file)
        columns = columns_of(file, checked.lines)
        if name == METRICS and columns:
            with reading(file):
                if not all(np.isfinite(columns[one]).all() for one in _NEEDED):
                    raise ValueError("epochs are missing")
    except BadFile as error:
        return found.doubt(name, error)
    if not checked.verified:
        found.unverified.append(name)
    elif checked.run != run:
        found.doubt(name, f"{file} belongs to another run: its fingerprint is not that of {CONFIG}.")
    if checked.damage:
        rows = max(len(checked.lines) - 1, 0)
        found.doubt(name, f"{checked.damage} Only its first {rows} rows are shown, which are good.")
    if checked.pending:
        found.doubt(name, checked.pending)
    if columns:
        found.tables[name] = columns


def _evaluation(found: Contents, digest: str) -> None:
    """Read the figures and episodes of the evaluation, and compare them with the policy."""
    path, evaluation = found.path, None
    try:
        evaluation = read_evaluation(path) if (path / EVALUATION).exists() else None
        with reading(path / EVALUATION):
            found.figures = _checked_figures(evaluation.figures) if evaluation else {}
    except BadFile as error:
        found.doubt(EVALUATION, error)
    if evaluation and not evaluation.verified:
        found.unverified.append(EVALUATION)
    if found.figures and not digest:
        found.doubt(EVALUATION, f"{path / EVALUATION} cannot be compared with the policy: there is no good {POLICY}.")
    elif found.figures and found.figures.get("policy") != digest:
        found.doubt(EVALUATION, f"{path / EVALUATION} is stale: it evaluated another policy than {POLICY}.")
    for kind in KINDS:
        for name in (episodes_file(kind), worst_file(kind)):
            _evaluated_file(found, evaluation, kind, name)


def _evaluated_file(found: Contents, evaluation: EvaluationFile | None, kind: str, name: str) -> None:
    file = found.path / name
    trouble, figures = evaluation.trouble(found.path, name) if evaluation else "", found.figures.get(kind)
    if trouble:
        return found.doubt(name, trouble)
    if not file.exists():
        if figures and name == episodes_file(kind):
            found.doubt(name, f"{file} is missing, but {EVALUATION} has its figures.")
        return None
    if evaluation is None:
        return found.doubt(name, f"{file} cannot be checked: there is no good {EVALUATION} that belongs to it.")
    if not evaluation.verified:
        found.unverified.append(name)
    if name != episodes_file(kind):
        return None
    try:
        columns = columns_of(file, check_table(file).lines)
    except BadFile as error:
        return found.doubt(name, error)
    found.tables[name] = columns
    rows = len(next(iter(columns.values()), ()))
    if figures and figures.get("Episodes") != rows:
        found.doubt(name, f"{file} has {rows} episodes, but {EVALUATION} counts {figures.get('Episodes')}.")
    return None


def _checked_figures(figures: Plain) -> Plain:
    """Refuse figures that are not numbers. Files of earlier versions have no checksum that would find them."""
    names = figures.get("cost_names", [])
    if not isinstance(names, list):
        raise TypeError(f"cost_names={names!r} is not a list")
    for actions in KINDS:
        for name, value in figures.get(actions, {}).items():
            kind = dict if name == "intervals" else int | float | None
            if not isinstance(value, kind):
                raise TypeError(f"{actions} {name}={value!r} is not a number")
    return figures


def _certificate(found: Contents, digest: str, run: str) -> None:
    file = found.path / CERTIFICATE
    if not file.exists():
        return _missing_certificate(found, run)
    # It imports JAX, which other parts of a report do not need.
    from ascpo.evaluation.certificate import read_certificate

    try:
        plain = read_json(file)
        with reading(file, "cannot be trusted"):
            policy = read_certificate(file).plan.policy
    except BadFile as error:
        return found.doubt(CERTIFICATE, error)
    found.certificate = plain
    if policy != digest:
        what = f"is for another policy than {POLICY}" if digest else f"has no good {POLICY} beside it"
        found.doubt(CERTIFICATE, f"{file} {what}. It says nothing about the policy of this run.")


def _missing_certificate(found: Contents, run: str) -> None:
    """Report a missing certificate, if the list of looks has one."""
    try:
        looks = ledger.read_ledger(found.path, run)
    except (OSError, ledger.BadLedger) as error:
        return found.doubt(ledger.FILE, error)
    finished = looks.earlier + sum(entry.violations is not None for entry in looks.entries) if looks else 0
    if finished:
        what = f"knows {finished} finished look{'s' * (finished > 1)} at this run, and the last one made a certificate"
        found.doubt(CERTIFICATE, f"{found.path / CERTIFICATE} is missing: {ledger.FILE} {what}.")
    return None


def _described(found: Contents, run: str, sealed_config: bool) -> None:
    """versions.json and description.json. A training that writes a checksum into its config writes versions, too."""
    for name, kind in ((VERSIONS, "versions"), (description.FILE, "description")):
        if not (file := found.path / name).exists():
            if kind == "versions" and sealed_config:
                found.doubt(name, f"{file} is missing, so the versions that made this run are unknown.")
            continue
        try:
            sealed = read_sealed(file, kind)
            if kind == "description":
                description.read(found.path)
        except ValueError as error:
            found.doubt(name, error)
            continue
        if not sealed.verified:
            found.unverified.append(name)
        elif sealed.run != run:
            found.doubt(name, f"{file} belongs to another run: its fingerprint is not that of {CONFIG}.")
        if kind == "versions":
            found.versions = sealed.content
