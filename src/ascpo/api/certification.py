"""Certify policies from Python: a lower bound of the probability that an episode keeps its limits."""

from dataclasses import dataclass, field
from pathlib import Path

from ascpo.choices import Actions, LimitKind
from ascpo.evaluation.certificate import Certificate
from ascpo.evaluation.certify import Comparison
from ascpo.evaluation.certify import certify as certify_runs
from ascpo.evaluation.foreign import certify_foreign, where_of
from ascpo.evaluation.foreign_policy import PolicyLike, is_foreign_policy
from ascpo.evaluation.request import Request
from ascpo.runs.callbacks.display import counting
from ascpo.runs.compilation import set_up_compilation
from ascpo.runs.directory import find
from ascpo.runs.environment_name import Environment
from ascpo.runs.notebook import Columns, DataFrame, data_frame, html_table
from ascpo.runs.run_like import path_of
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Certification:
    """The certificates of one or several policies."""

    policies: tuple[str, ...]
    """The certified policies: names of runs' directories, or of foreign policies, such as `python:module:act`."""
    directories: tuple[Path, ...]
    """The directories, each with a policy's certificate and list of looks."""
    certificates: tuple[Certificate, ...] = field(repr=False)
    """The certificate of each policy: `bound`, `violations`, `findings` and more."""
    comparisons: tuple[Comparison, ...] = ()
    """The comparison of each pair of policies, on the same scenes."""

    @property
    def certified(self) -> bool:
        """Whether every policy is certified."""
        return all(one.certified for one in self.certificates)

    @property
    def table(self) -> Columns:
        """A row for each policy."""
        found = self.certificates
        return {
            "run": list(self.policies),
            "certified": [one.certified for one in found],
            "bound": [one.bound for one in found],
            "probability": [one.plan.probability for one in found],
            "confidence": [one.plan.confidence for one in found],
            "episodes": [one.plan.episodes for one in found],
            "violations": [one.violations for one in found],
            "look": [one.plan.look for one in found],
        }

    def to_pandas(self) -> DataFrame:
        """The table as a pandas.DataFrame."""
        return data_frame(self.table)

    def _repr_html_(self) -> str:
        named = zip(self.policies, self.certificates, strict=True)
        findings = [f"{policy}: {sentence}" for policy, one in named for sentence in one.findings]
        return html_table("Certificates", self.table, findings)


def certify(
    *runs: PolicyLike,
    probability: float = Request.probability,
    confidence: float = Request.confidence,
    episodes: int = Request.episodes,
    limits: tuple[float, ...] | None = None,
    limits_on: LimitKind | None = None,
    actions: Actions | None = None,
    env: Environment | None = None,
    trust_env: bool = False,
    threads: int = 0,
    progress: bool = True,
) -> Certification:
    """Certify policies, as `ascpo certify` does, and compare each pair on the same scenes.

    `runs` are directories of runs, or what `ascpo.train` returned. Actions are sampled unless `actions` is `mean`.
    A run of an environment outside this package needs `env`, or `trust_env` to import and run what its files name.

    With `env`, they may also be policies of other libraries: any function from observation to action, or the names
    `sb3:FILE.zip`, `onnx:FILE.onnx` and `python:MODULE:FUNCTION`. Their limits are zero unless `limits` says otherwise.
    """
    if not runs:
        raise BadSetting("Name at least one run: ascpo.certify(run).")
    set_up_compilation()
    request = Request(probability, confidence, episodes, limits, limits_on, actions or "sampled")
    counted = counting("episodes", episodes * len(runs), shown=progress)
    if any(map(is_foreign_policy, runs)):
        where = where_of(runs[0], env, trust_env=trust_env, actions=actions, threads=threads)
        with counted as on_progress:
            made, compared = certify_foreign(runs, where, request, on_progress)
        directories, found = zip(*made, strict=True)
        return Certification(tuple(one.run.policy for one in found), directories, found, tuple(compared))
    paths = tuple(path_of(run) for run in runs if not callable(run))
    with counted as on_progress:
        found, compared = certify_runs(
            paths, request, env=env, trust_env=trust_env, threads=threads, on_progress=on_progress
        )
    directories = tuple(find(path).path for path in paths)
    return Certification(tuple(path.name for path in paths), directories, tuple(found), tuple(compared))
