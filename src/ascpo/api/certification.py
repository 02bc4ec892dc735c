"""Certify runs from Python: a lower bound of the probability that an episode keeps its limits."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascpo.choices import Actions, LimitKind
from ascpo.evaluation.certificate import Certificate
from ascpo.evaluation.certify import Comparison
from ascpo.evaluation.certify import certify as certify_runs
from ascpo.evaluation.request import Request
from ascpo.runs.callbacks.display import counting
from ascpo.runs.compilation import set_up_compilation
from ascpo.runs.environment_name import Environment
from ascpo.runs.notebook import data_frame, html_table
from ascpo.runs.run_like import RunLike, path_of
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Certification:
    """The certificates of one or several runs. Each run's directory keeps its own."""

    directories: tuple[Path, ...]
    certificates: tuple[Certificate, ...] = field(repr=False)
    comparisons: tuple[Comparison, ...] = ()
    """Each pair of policies, on the same scenes."""

    @property
    def certified(self) -> bool:
        """Whether every policy is certified."""
        return all(one.certified for one in self.certificates)

    @property
    def table(self) -> dict[str, list[Any]]:
        """A row for each run."""
        found = self.certificates
        return {
            "run": [path.name for path in self.directories],
            "certified": [one.certified for one in found],
            "bound": [one.bound for one in found],
            "probability": [one.plan.probability for one in found],
            "confidence": [one.plan.confidence for one in found],
            "episodes": [one.plan.episodes for one in found],
            "violations": [one.violations for one in found],
            "look": [one.plan.look for one in found],
        }

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame."""
        return data_frame(self.table)

    def _repr_html_(self) -> str:
        named = zip(self.directories, self.certificates, strict=True)
        findings = [f"{path.name}: {sentence}" for path, one in named for sentence in one.findings]
        return html_table("Certificates", self.table, findings)


def certify(
    *runs: RunLike,
    probability: float = Request.probability,
    confidence: float = Request.confidence,
    episodes: int = Request.episodes,
    limits: tuple[float, ...] | None = None,
    limits_on: LimitKind | None = None,
    actions: Actions = "sampled",
    env: Environment | None = None,
    trust_env: bool = False,
    threads: int = 0,
    progress: bool = True,
) -> Certification:
    """Certify the policies of runs, as `ascpo certify` does, and compare each pair on the same scenes.

    A run of an environment outside this package needs `env`, or `trust_env` to import and run what its files name.
    """
    if not runs:
        raise BadSetting("Name at least one run: ascpo.certify(run).")
    set_up_compilation()
    paths = tuple(path_of(run) for run in runs)
    request = Request(probability, confidence, episodes, limits, limits_on, actions)
    with counting("episodes", episodes * len(paths), shown=progress) as report:
        found, compared = certify_runs(paths, request, env=env, trust_env=trust_env, threads=threads, report=report)
    return Certification(paths, tuple(found), tuple(compared))
