"""Evaluations of a sweep's policies: the episodes after a training, and their files."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ascpo.evaluation.evaluation_file import check_belongs
from ascpo.runs.directory import RunDirectory
from ascpo.runs.files import BadFile, NoRun
from ascpo.runs.sealed import read_sealed, write_sealed
from ascpo.runs.serialization import Plain
from ascpo.runs.tables import read_table
from ascpo.seeding import LATEST, SCHEMES, EpisodeId, Version

if TYPE_CHECKING:
    from ascpo.guard.layout import Rules

_CANDIDATES = 256
"""Number of scenes from which fixed starts are taken."""
_OBSTRUCTED = "an obstacle is in the way"
"""How the scenes of a file were chosen. Files of earlier versions had the first scenes, and are made again."""


@dataclass(frozen=True)
class HeldOutEpisodes:
    """Held-out episodes.

    Their number is fixed before the first step, from the length of episodes at the end of training. A limit on the
    number of steps would be biased against long episodes.
    """

    steps: int
    episodes: int = 0
    """Number of episodes. 0 means as many as fit into `steps`."""
    seed: int = 0
    """The seed of their scenes."""
    file: ClassVar = "episodes-sampled.csv"

    def count(self, run: RunDirectory) -> int:
        if self.episodes:
            return self.episodes
        length = float(np.mean(read_table(run.metrics)["EpLen"][-10:]))
        return max(1, math.ceil(self.steps / max(length, 1.0)))

    def kept(self, run: RunDirectory) -> tuple[int, str | None]:
        """The number of kept episodes, and the digest of their policy. Damaged files count as none."""
        try:
            about = _read(run.path / "evaluation.json")
            check_belongs(run.path, self.file)
        except BadFile:
            return 0, None
        mine = about.get("seed", 0) == self.seed and (run.path / self.file).exists()
        episodes = about.get("sampled", {}).get("Episodes", 0) if mine else 0
        return episodes, about.get("policy")

    def play(self, run: RunDirectory, env: str, threads: int = 0) -> None:
        """Play the episodes in the environment of the job."""
        from ascpo.evaluation.evaluate import evaluate_run

        evaluate_run(run.path, self.count(run), env=env, threads=threads, seed=self.seed)


@dataclass(frozen=True)
class FixedStarts:
    """Episodes from a few fixed scenes in turn. Only the sampled actions differ.

    In suites, the scenes are the first ones with an obstacle on the straight line from the robot to the goal. In other
    scenes hardly any policy has costs.
    """

    starts: int
    episodes: int
    """Number of episodes from all starts together."""
    file: ClassVar = "starts.json"

    def count(self, run: RunDirectory) -> int:
        return self.episodes

    def kept(self, run: RunDirectory) -> tuple[int, str | None]:
        """The number of kept episodes, and the digest of their policy. A damaged file counts as none."""
        try:
            about = _read(run.path / self.file)
        except BadFile:
            return 0, None
        if about.get("scenes") != _OBSTRUCTED:
            return 0, None
        return sum(map(len, about.get("costs", {}).values())), about.get("policy")

    def origins(self, seeding: Version = LATEST, rules: "Rules | None" = None) -> list[EpisodeId]:
        """The scenes of the episodes. `rules` are those of a suite's layouts."""
        starts = SCHEMES[seeding].fixed_starts(self.starts if rules is None else _CANDIDATES)
        if rules is not None:
            from ascpo.guard.draws import keys_for
            from ascpo.guard.layout import draw_many
            from ascpo.guard.obstruction import obstructed

            seeds, numbers = np.array(starts).T
            free = ~obstructed(rules, draw_many(rules, keys_for(seeds, numbers)))
            starts = [starts[i] for i in np.argsort(free, kind="stable")]
        return [starts[i % self.starts] for i in range(self.episodes)]

    def play(self, run: RunDirectory, env: str, threads: int = 0) -> None:
        """Play the episodes in the environment of the job."""
        from ascpo.engines.native.engine import NativeEngine
        from ascpo.runs.environment import open_engine
        from ascpo.runs.episodes import play
        from ascpo.runs.trained_policy import read_policy
        from ascpo.runs.trust import trusted

        policy = read_policy(run.path)
        engine = open_engine(trusted(policy.config.env, env), self.episodes, threads=threads)
        limits, limits_on = policy.config.settings.limits_for(policy.cost_names), policy.config.algorithm().limits_on
        rules = engine.task.rules if isinstance(engine, NativeEngine) else None
        origins = self.origins(policy.config.seeding, rules)
        played = play(engine, policy.actor(), policy.theta, origins, limits=limits, limits_on=limits_on).episodes
        engine.close()
        costs = played.cost.sum(axis=1)
        by_start = {str(i): [round(float(c), 6) for c in costs[i :: self.starts]] for i in range(self.starts)}
        write_sealed(
            run.path / self.file, "starts", {"policy": policy.digest, "scenes": _OBSTRUCTED, "costs": by_start}
        )


Evaluation = HeldOutEpisodes | FixedStarts


def is_evaluated(run: RunDirectory, evaluation: Evaluation | None) -> bool:
    """Whether enough episodes of the run's policy are kept.

    With damaged files they are not: playing them says what is damaged, and stops no other run.
    """
    if evaluation is None:
        return True
    episodes, digest = evaluation.kept(run)
    try:
        if episodes < evaluation.count(run):
            return False
        if not run.policy.exists():
            return True
        from ascpo.runs.trained_policy import read_policy

        return digest == read_policy(run.path).digest
    except NoRun:
        return False


def episode_costs(run: RunDirectory) -> np.ndarray | None:
    """The cost of every held-out episode, summed over constraints. None if there are no episodes."""
    file = run.path / HeldOutEpisodes.file
    if not file.exists():
        return None
    check_belongs(run.path, file.name)
    return np.sum([column for name, column in read_table(file).items() if name.split("_")[0] == "EpCost"], axis=0)


def costs_by_start(run: RunDirectory) -> dict[int, np.ndarray] | None:
    """The costs of the episodes from each fixed start. None if no episode is kept."""
    found = _read(run.path / FixedStarts.file).get("costs")
    return {int(start): np.array(costs, float) for start, costs in found.items()} if found else None


def _read(file: Path) -> Plain:
    kind = "starts" if file.name == FixedStarts.file else "evaluation"
    return read_sealed(file, kind).content if file.exists() else {}
