"""What each table and figure of the paper needs: which trainings, and what is played with the policies."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from ascpo.guard.suites import PAPER_SUITES, suite
from ascpo.paper.published import STEPS, published
from ascpo.runs.config import Config, EngineName, configure
from ascpo.runs.plain import BadSetting, nearest
from ascpo.sweep.overrides import Changes, nested

Play = Literal["nothing", "fresh", "starts"]
"""What is played after a training: nothing, fresh episodes, or episodes from a few fixed starts."""
PROMISE = 0.999
"""The paper's limit of zero is never met, and always pressed. A promise that is kept is no longer pressed, and all who
keep it are level: so this is one that hardly anyone keeps."""


@dataclass(frozen=True)
class Variant:
    """An algorithm, as it is or with some settings changed."""

    name: str
    algo: str
    changes: Changes = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Training:
    """One run."""

    suite: str
    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        """Of its directory."""
        return f"{self.suite}-{self.variant.name}-seed{self.seed}"

    def config(self, scale: float, changes: Changes | None = None, engine: EngineName = "native") -> Config:
        """At a scale of the paper's steps, and with settings that are not the usual ones."""
        chosen = nested({"probability": PROMISE, **(changes or {}), **self.variant.changes}, self.variant.algo)
        steps = max(1, round(scale * STEPS))
        return configure(self.suite, self.variant.algo, seed=self.seed, total_steps=steps, engine=engine, **chosen)


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper."""

    name: str
    what: str
    suites: tuple[str, ...]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    play: Play = "nothing"
    alone: bool = False
    """Its trainings are measured: each has a process and the machine for itself, and shares no run with others."""

    def trainings(
        self, suites: Iterable[str] = (), algos: Iterable[str] = (), seeds: Iterable[int] = ()
    ) -> list[Training]:
        """All of them, or those that were asked for."""
        wanted = [self._suite(name) for name in suites] or self.suites
        variants = [v for name in algos for v in self._variants(name)] or self.variants
        return [
            Training(name, variant, seed)
            for name in dict.fromkeys(wanted)
            for variant in dict.fromkeys(variants)
            for seed in dict.fromkeys(seeds or self.seeds)
        ]

    def variant(self, name: str) -> Variant:
        return next(variant for variant in self.variants if variant.name == name)

    def _suite(self, name: str) -> str:
        found = suite(name).name
        if found not in self.suites:
            raise BadSetting(f"{self.name} has no suite {found}. {nearest(found, self.suites)}")
        return found

    def _variants(self, name: str) -> list[Variant]:
        exact = [variant for variant in self.variants if variant.name == name]
        found = exact or [variant for variant in self.variants if variant.algo == name]
        if not found:
            raise BadSetting(f"{self.name} has no algorithm {name!r}. {nearest(name, [v.name for v in self.variants])}")
        return found


def _plain(*names: str) -> tuple[Variant, ...]:
    return tuple(Variant(name, name) for name in names)


TABLED = tuple(dict.fromkeys(algorithm for _, algorithm in published()))
"""The twelve algorithms of the published tables."""
FOUR = tuple(f"{robot}-8-Hazard" for robot in ("Point", "Humanoid", "Ant", "Walker"))
STRENGTHS = (2, 5, 10)
"""What the multiplier's coefficient is multiplied with. The paper does not say which it took."""
MONOTONE = Variant("ascpo-monotone", "ascpo", {"cost_fit.monotone_weight": 1.0})
LAGRANGIANS = tuple(
    Variant(f"trpo-lagrangian-x{factor}", "trpo-lagrangian", {"strength": 0.5 * factor}) for factor in STRENGTHS
)

_Q1 = Experiment("q1", "J_r, M_c and ρ_c of the last epoch", PAPER_SUITES, _plain(*TABLED), seeds=(0, 1))
_ALL = (
    _Q1,
    replace(_Q1, name="scores", what="ψ over the suites of q1, geometric means, ranks"),
    Experiment(
        "boxes",
        "the cost of episodes after training, as box plots",
        FOUR,
        _plain("ascpo", "scpo", "cpo", "cpo-cvar", "trpo", "trpo-fac", "trpo-lagrangian"),
        seeds=(0, 1, 2),
        play="fresh",
    ),
    Experiment(
        "histogram",
        "the cost of episodes from five fixed starts",
        ("Swimmer-1-Hazard",),
        _plain("ascpo", "trpo"),
        seeds=(0,),
        play="starts",
    ),
    Experiment(
        "monotone", "ASCPO with the monotone loss, and without", FOUR, (MONOTONE, *_plain("ascpo")), seeds=(0, 1, 2)
    ),
    Experiment(
        "resources",
        "time and memory, relative to TRPO's",
        ("Point-8-Hazard",),
        _plain("trpo", "trpo-lagrangian", "cpo", "scpo", "ascpo", "ppo-lagrangian", "pascpo"),
        seeds=(0, 1, 2),
        alone=True,
    ),
    Experiment(
        "pascpo",
        "PASCPO against PPO-Lagrangian: curves and box plots",
        FOUR,
        _plain("pascpo", "ppo-lagrangian"),
        seeds=(0, 1, 2),
        play="fresh",
    ),
    Experiment(
        "lagrangian",
        "TRPO-Lagrangian with larger prices, against ASCPO",
        ("Point-8-Hazard",),
        (*_plain("ascpo", "trpo-lagrangian"), *LAGRANGIANS),
        seeds=(0, 1, 2),
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def experiments(name: str) -> list[Experiment]:
    """By name; `all` are all of them, and `q1-SUITE` is one table of q1."""
    if name == "all":
        return list(EXPERIMENTS.values())
    if name in EXPERIMENTS:
        return [EXPERIMENTS[name]]
    one_table = {f"q1-{suite}": suite for suite in PAPER_SUITES}
    if name not in one_table:
        raise BadSetting(f"The paper has no {name!r}. {nearest(name, ['all', *EXPERIMENTS, *one_table])}")
    return [replace(_Q1, name=name, suites=(one_table[name],))]
