"""Policy selection: the last policies of a training play the same validation scenes, and the best becomes final.

Candidates are the policies after each of the last epochs, and the mean of them. An episode fails if it violates a
limit. Episodes of suites end at the goal, so there a time-out is a failure, too: otherwise a policy that stands still
could be selected. The best candidate has

    the lowest upper bound, with confidence 95 %, of the share of failing episodes;
    among equals the fewest violating episodes, then the highest mean return, then the latest epochs.

The scenes are used only for this, so that the selected policy can be evaluated and certified on others. The bound only
serves for comparison: for the best of twenty candidates it is too optimistic.
"""

import logging
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ascpo.engines.contract import EpisodePlayer
from ascpo.runs.active_run import ActiveRun
from ascpo.runs.callbacks.display import counting
from ascpo.runs.candidates import Candidate, candidates_of
from ascpo.runs.config import Config
from ascpo.runs.environment import is_suite
from ascpo.runs.episodes import Episodes, counted_from, play
from ascpo.runs.files import BadFile, write_together
from ascpo.runs.source import Source
from ascpo.runs.stopping import Stopped, Stopping
from ascpo.runs.tables import Row, check_table, read_table, table_with_sums
from ascpo.seeding import SCHEMES

OpenPlayer = Callable[[Config], AbstractContextManager[EpisodePlayer]]
"""Opens environments that play a run's validation scenes."""
CONFIDENCE = 0.95
_SAME = ("FirstEpoch", "LastEpoch", "Episodes", "Seed", "Checksum")
"""Columns that identify a candidate and its scenes."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """The results of a candidate."""

    episodes: int
    violations: int
    """Episodes that violate a limit."""
    timeouts: int
    """Episodes that the time limit ends."""
    failures: int
    """Episodes that fail, for either reason."""
    mean_return: float
    mean_cost: float

    @property
    def upper_bound(self) -> float:
        """Upper confidence bound of the share of failing episodes: the exact bound of Clopper and Pearson."""
        from scipy.special import betaincinv

        if self.failures == self.episodes:
            return 1.0
        return float(betaincinv(self.failures + 1, self.episodes - self.failures, CONFIDENCE))


def outcome_of(episodes: Episodes, *, timeouts_fail: bool) -> Outcome:
    violated, late = ~episodes.safe, episodes.time_limited
    return Outcome(
        episodes=len(episodes),
        violations=int(violated.sum()),
        timeouts=int(late.sum()),
        failures=int((violated | (late & timeouts_fail)).sum()),
        mean_return=float(episodes.reward.mean()),
        mean_cost=float(episodes.cost.sum(axis=1).mean()),
    )


def best_of(outcomes: Sequence[Outcome]) -> int:
    """The index of the best outcome. Among equals, the last."""
    merits = [(-one.upper_bound, -one.violations, one.mean_return) for one in outcomes]
    return max(range(len(merits)), key=lambda i: (*merits[i], i))


@dataclass(frozen=True)
class Selection:
    """Selects the final policies of runs."""

    open_player: OpenPlayer
    progress: bool = True
    """Whether to show the progress."""

    def select(self, runs: Sequence[ActiveRun], stopping: Stopping) -> None:
        """Select a policy for each run with final_policy=selected."""
        for run in runs:
            if run.config.final_policy != "selected":
                continue
            try:
                self._select(run, stopping)
            except Stopped:
                _log.warning(
                    "The selection was stopped: the last policy is the final one of %s. Resuming the run selects one.",
                    run.directory.path,
                )
                raise

    def _select(self, run: ActiveRun, stopping: Stopping) -> None:
        with stopping.work():
            candidates = candidates_of(run.training.agent, run.state())
            known = _known(run, candidates)
            rows = self._table(run, candidates) if known is None else known
        chosen = next(i for i, row in enumerate(rows) if row["Selected"])
        content = run.content_of(Candidate(candidates[chosen].theta, candidates[chosen].source.selected()))
        table = {} if known else table_with_sums(run.directory.selection, rows, run.fingerprint)
        write_together({**table, run.directory.policy: content})
        if self.progress:
            print(sentence(candidates[chosen].source, rows))

    def _table(self, run: ActiveRun, candidates: Sequence[Candidate]) -> list[Row]:
        """Let all candidates play, and return a row for each."""
        config, agent, outcomes = run.config, run.training.agent, []
        origins = SCHEMES[config.seeding].validation(config.seed, config.validation_episodes)
        how = {"limits": agent.limits, "limits_on": agent.algorithm.limits_on}
        what = f"{run.directory.path.name}: validation episodes of {len(candidates)} policies"
        total = len(candidates) * len(origins)
        with self.open_player(config) as engine, counting(what, total, shown=self.progress) as on_progress:
            for number, one in enumerate(candidates):
                so_far = counted_from(on_progress, number * len(origins))
                played = play(engine, agent.actor, one.theta, origins, **how, on_progress=so_far)
                outcomes.append(outcome_of(played.episodes, timeouts_fail=is_suite(config.env)))
        best = best_of(outcomes)
        return [
            {**_key(config, one), **_figures(outcome), "Selected": int(i == best)}
            for i, (one, outcome) in enumerate(zip(candidates, outcomes, strict=True))
        ]


def sentence(chosen: Source, rows: Sequence[Row]) -> str:
    """A sentence that compares the selected policy with the last one. The last row is the mean policy."""
    best, last = next(row for row in rows if row["Selected"]), rows[-2]
    figures = [f"{row['Violations']:.0f} violations and {row['Timeouts']:.0f} time-outs" for row in (best, last)]
    return (
        f"Final policy: {chosen.selected().description}. In {best['Episodes']:.0f} episodes it had {figures[0]}, "
        f"and the last policy {figures[1]}."
    )


def _key(config: Config, candidate: Candidate) -> Row:
    """The columns that identify a candidate and its scenes."""
    ((seed, _),) = SCHEMES[config.seeding].validation(config.seed, 1)
    checksum = zlib.crc32(candidate.theta.tobytes())
    known = (candidate.source.first, candidate.source.last, config.validation_episodes, seed, checksum)
    return dict(zip(_SAME, known, strict=True))


def _figures(outcome: Outcome) -> Row:
    return {
        "Violations": outcome.violations,
        "Timeouts": outcome.timeouts,
        "Failures": outcome.failures,
        "UpperBound": outcome.upper_bound,
        "EpRet": outcome.mean_return,
        "EpCost": outcome.mean_cost,
    }


def _known(run: ActiveRun, candidates: Sequence[Candidate]) -> list[Row] | None:
    """The rows of an earlier selection among the same candidates on the same scenes, if the file is whole."""
    file = run.directory.selection
    try:
        if not file.exists() or check_table(file).run != run.fingerprint:
            return None
        columns = read_table(file)
    except BadFile:
        return None
    names = list(columns)
    rows: list[Row] = [dict(zip(names, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    same = [{name: row.get(name) for name in _SAME} for row in rows] == [_key(run.config, one) for one in candidates]
    return rows if same and sum(row.get("Selected", 0.0) for row in rows) == 1 else None
