"""Trials and their order: Optuna proposes settings, and its journal keeps every trial, so that a search can continue.

The return is maximised subject to a constraint: the probability of keeping the limits that every seed certifies must
reach the requested one. The two are never added up. The seeds of trials start at a million, and their episodes have a
separate seed, so that the final evaluation is independent of the search.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from ascpo.errors import BadSetting
from ascpo.evaluation.bound import episodes_needed
from ascpo.runs.config import Config, configure
from ascpo.runs.serialization import Plain, flat, to_plain
from ascpo.sweep.evaluation import HeldOutEpisodes
from ascpo.sweep.jobs import Batch, Job
from ascpo.sweep.overrides import nested
from ascpo.tuning.scoring import TrialScore, is_hopeless, score
from ascpo.tuning.space import Axis

FIRST_SEED = 1_000_000
EVALUATION_SEED = 1_000_000
_CONSTRAINT = "uncertified"


Study: TypeAlias = Any
"""A study of Optuna, which is an optional package."""


class Trial(Protocol):
    """A trial of Optuna that has ended, or that runs."""

    number: int
    value: float
    params: dict[str, object]
    user_attrs: dict[str, Any]


@dataclass(frozen=True)
class Setup:
    """What every trial has in common."""

    base: Config
    """The settings that are not searched."""
    chosen: Mapping[str, object]
    """Those of them that are not the defaults, by their names on the command line."""
    axes: tuple[Axis, ...]
    out: Path
    probability: float
    confidence: float = 0.95
    seeds: int = 2
    episodes: int = 200
    patience: float = 0.4
    checkpoint_every: float = 60.0

    def __post_init__(self) -> None:
        if self.episodes < (needed := episodes_needed(self.probability, self.confidence)):
            raise BadSetting(
                f"{self.episodes} episodes of a policy cannot certify a probability of {self.probability:g} with "
                f"confidence {self.confidence:g}. Use --episodes {needed} or more, or a smaller --probability."
            )

    def batch(self, number: int, values: Mapping[str, object]) -> Batch:
        """The runs of a trial. They differ in their seeds."""
        settings: Plain = nested({**self.chosen, **values}, self.base.algo)
        own: Plain = {"preset": self.base.preset, "total_steps": self.base.total_steps, "engine": self.base.engine}
        config = configure(self.base.env, self.base.algo, **own, **settings)
        evaluation = HeldOutEpisodes(0, self.episodes, seed=EVALUATION_SEED)
        return tuple(
            Job(replace(config, seed=FIRST_SEED + i), self.out / f"trial{number:04d}-seed{i}", evaluation, every)
            for i, every in enumerate([self.checkpoint_every] * self.seeds)
        )

    def defaults(self) -> dict[str, object]:
        """The default values of the searched settings. Empty if one of them is not in its range."""
        known = flat(to_plain(self.base))
        usual = {axis.name: known.get(axis.name.removeprefix(f"{self.base.algo}.")) for axis in self.axes}
        return usual if all(axis.holds(usual[axis.name]) for axis in self.axes) else {}


@dataclass
class Search:
    """A study of Optuna, with the runs of its trials."""

    setup: Setup
    sampler_seed: int = 0
    study: Study = field(init=False)

    def __post_init__(self) -> None:
        optuna = load_optuna()
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        self.setup.out.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(str(self.setup.out / "journal.log")))
        how = {"study_name": "ascpo", "direction": "maximize", "load_if_exists": True}
        self.study = optuna.create_study(storage=storage, **how)
        # A search that goes on must not propose its first values again.
        seed = self.sampler_seed + len(self.study.trials)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self.study.sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
        self._check_same()
        if not self.study.trials and (usual := self.setup.defaults()):
            self.study.enqueue_trial(usual, user_attrs={"defaults": True})

    def unfinished(self) -> dict[int, Batch]:
        """The trials that were running when the search was stopped."""
        found: dict[int, Batch] = {}
        for trial in self.study.trials:
            if trial.state.name == "RUNNING":
                try:
                    found[trial.number] = self.setup.batch(trial.number, trial.params)
                except BadSetting as error:
                    # It was stopped before these values, which cannot be combined, were recorded as a failure.
                    self.fail(trial.number, str(error))
        return found

    def ask(self) -> tuple[int, Batch]:
        """The next trial."""
        trial = self.study.ask({axis.name: _distribution(axis) for axis in self.setup.axes})
        try:
            return trial.number, self.setup.batch(trial.number, trial.params)
        except BadSetting:
            self.fail(trial.number)
            raise

    def end(self, number: int, batch: Batch) -> TrialScore:
        found = score(batch, self.setup.confidence)
        attributes = {name: getattr(found, name) for name in ("violations", "episodes", "certified")}
        self._set_attributes(number, attributes, self.setup.probability - found.certified)
        self.study.tell(number, found.mean_return)
        return found

    def prune(self, number: int) -> None:
        self.study.tell(number, state=load_optuna().trial.TrialState.PRUNED)

    def fail(self, number: int, error: str = "") -> None:
        self._set_attributes(number, {"error": error})
        self.study.tell(number, state=load_optuna().trial.TrialState.FAIL)

    def is_hopeless(self, batch: Batch) -> bool:
        best = [self.setup.batch(trial.number, trial.params) for trial in self.feasible()]
        return is_hopeless(batch, best, self.setup.patience)

    def complete(self) -> list[Trial]:
        return [trial for trial in self.study.trials if trial.state.name == "COMPLETE"]

    def feasible(self) -> list[Trial]:
        """The trials that keep the limits with the requested probability, the best first."""
        kept = [trial for trial in self.complete() if trial.user_attrs["certified"] >= self.setup.probability]
        return sorted(kept, key=lambda trial: -trial.value)

    def ended(self) -> int:
        return sum(trial.state.is_finished() for trial in self.study.trials)

    def _set_attributes(self, number: int, attributes: Mapping[str, object], excess: float | None = None) -> None:
        """Set attributes of a trial. `excess` is above 0 if it violates the constraint of the search."""
        trial = load_optuna().trial.Trial(self.study, self.study.trials[number]._trial_id)
        if excess is not None:
            trial.set_constraint(_CONSTRAINT, excess)
        for name, value in attributes.items():
            trial.set_user_attr(name, value)

    def _check_same(self) -> None:
        """Refuse to continue a search with a different setup."""
        mine = {"base": self.setup.base.plain(), "axes": to_plain(self.setup.axes), "seeds": self.setup.seeds}
        mine |= {name: getattr(self.setup, name) for name in ("probability", "confidence", "episodes")}
        before = self.study.user_attrs.get("setup")
        if before is None:
            self.study.set_user_attr("setup", mine)
        elif changed := [name for name in mine if before.get(name) != mine[name]]:
            raise BadSetting(f"{self.setup.out} holds a search with another {changed[0]}. Choose another --out.")


def load_optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise BadSetting("Optuna is not installed: pip install 'ascpo[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _distribution(axis: Axis) -> object:
    kinds = load_optuna().distributions
    if axis.values:
        return kinds.CategoricalDistribution(axis.values)
    kind = kinds.IntDistribution if axis.whole else kinds.FloatDistribution
    return kind(*axis.ends, log=axis.log)
