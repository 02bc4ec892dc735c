"""The trainings and the episodes of trained policies that each table and figure of the paper needs."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ascpo.algorithms import TRPOLagrangian
from ascpo.guard.suites import PAPER_SUITES, suite
from ascpo.paper.columns import COLUMNS, OURS, Column, preset_of, trained_as
from ascpo.paper.printed import STEPS, printed
from ascpo.ranges import shown
from ascpo.runs.composition import acting_settings, refuse_unknown
from ascpo.runs.config import Config, EngineName, configure
from ascpo.runs.serialization import BadSetting, nearest
from ascpo.sweep.evaluation import Evaluation, FixedStarts, HeldOutEpisodes
from ascpo.sweep.overrides import Overrides, nested

TARGET_PROBABILITY = 0.999
"""No algorithm ever meets the paper's limit of zero, so they never stop reducing costs. Here an algorithm stops at its
target probability, and all that reach it would end level. So the target is one that hardly any algorithm reaches."""


@dataclass(frozen=True)
class Variant:
    """An algorithm with the settings of a column, or with some of them overridden."""

    name: str
    algo: str
    overrides: Overrides = field(default_factory=dict, hash=False)
    columns: tuple[Column, ...] = COLUMNS
    """The columns that have this variant. In others it would be the same as another variant."""

    def run_name(self, suite: str, column: Column) -> str:
        """The name of its runs on a suite, without the seed. Runs from before columns existed are `ours`."""
        column = trained_as(self.algo, column)
        return f"{suite}-{self.name}" if column == OURS else f"{suite}-{self.name}-{column}"


@dataclass(frozen=True)
class Training:
    """One run: a suite, a variant of an algorithm, a seed, and the column of its settings."""

    suite: str
    variant: Variant
    seed: int
    column: Column = OURS

    @property
    def name(self) -> str:
        """The name of the run's directory."""
        return f"{self.variant.run_name(self.suite, self.column)}-seed{self.seed}"

    def config(self, scale: float, overrides: Overrides | None = None, engine: EngineName = "native") -> Config:
        """The run's config, for a fraction of the paper's steps. The variant's own overrides take precedence.

        Overrides that all runs share are left out if they change nothing.
        """
        algo, preset = self.variant.algo, preset_of(trained_as(self.variant.algo, self.column))
        shared = {"probability": TARGET_PROBABILITY} if preset is None else {}
        chosen = _stacked(shared, overrides or {}, self.variant.overrides)
        given = nested(chosen, algo)
        refuse_unknown(algo, given)
        settings = acting_settings(self.suite, algo, given, preset)
        steps = steps_at(scale)
        return configure(self.suite, algo, seed=self.seed, total_steps=steps, engine=engine, preset=preset, **settings)


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of the paper."""

    name: str
    description: str
    suites: tuple[str, ...]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    evaluation: Evaluation | None = None
    columns: tuple[Column, ...] = (OURS,)
    """The columns that are trained by default."""
    isolated: bool = False
    """Whether time and memory are measured, so that each training has a process and the machine to itself."""

    def trainings(
        self,
        suites: Iterable[str] = (),
        algos: Iterable[str] = (),
        seeds: Iterable[int] = (),
        columns: Iterable[Column] = (),
    ) -> list[Training]:
        """All trainings, or those of the given suites, algorithms, seeds and columns."""
        wanted = [self._suite(name) for name in suites] or self.suites
        variants = [v for name in algos for v in self._variants(name)] or self.variants
        return [
            Training(name, variant, seed, column)
            for name in dict.fromkeys(wanted)
            for column in dict.fromkeys(columns or self.columns)
            for variant in dict.fromkeys(variants)
            if column in variant.columns
            for seed in dict.fromkeys(seeds or self.seeds)
        ]

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


def steps_at(scale: float) -> int:
    """The steps of a training, for a fraction of the paper's."""
    return max(1, round(scale * STEPS))


def _stacked(*layers: Overrides) -> Overrides:
    """Combine overrides. Later ones take precedence and come last, also over other names of the same setting."""
    out: dict[str, object] = {}
    for name, value in (item for layer in layers for item in layer.items()):
        out.pop(name, None)
        out[name] = value
    return out


def _defaults(*names: str) -> tuple[Variant, ...]:
    return tuple(Variant(name, name) for name in names)


TABLE_ALGORITHMS = tuple(dict.fromkeys(algorithm for _, algorithm in printed()))
"""The twelve algorithms of the printed tables."""
FOUR_SUITES = tuple(f"{robot}-8-Hazard" for robot in ("Point", "Humanoid", "Ant", "Walker"))
MONOTONE = Variant("ascpo-monotone", "ascpo", {"cost_fit.monotone_weight": 1.0})
PAPER_MODE = Variant("ascpo-paper", "ascpo", {"mode": "paper"}, columns=("released", "ours"))
"""ASCPO with the paper's bound, which its published settings already have."""
LAGRANGIANS = tuple(
    Variant(f"trpo-lagrangian-x{factor}", "trpo-lagrangian", {"strength": factor * TRPOLagrangian().strength})
    for factor in (2, 5, 10)
)
"""With larger coefficients of the multiplier. The paper does not say which factors it used."""

BOX_EPISODES = HeldOutEpisodes(steps=30_000)
FIXED_STARTS = FixedStarts(starts=5, episodes=250)

_Q1 = Experiment("q1", "J_r, M_c and ρ_c of the last epoch", PAPER_SUITES, _defaults(*TABLE_ALGORITHMS), seeds=(0, 1))
_ALL = (
    _Q1,
    replace(_Q1, name="scores", description="ψ over the suites of q1, geometric means, ranks"),
    Experiment(
        "boxes",
        "the cost of episodes after training, as box plots",
        FOUR_SUITES,
        _defaults("ascpo", "scpo", "cpo", "cpo-cvar", "trpo", "trpo-fac", "trpo-lagrangian"),
        evaluation=BOX_EPISODES,
    ),
    Experiment(
        "histogram",
        "the cost of episodes from five fixed starts",
        ("Swimmer-1-Hazard",),
        _defaults("ascpo", "trpo"),
        seeds=(0,),
        evaluation=FIXED_STARTS,
    ),
    Experiment("monotone", "ASCPO with and without the monotone loss", FOUR_SUITES, (MONOTONE, *_defaults("ascpo"))),
    Experiment(
        "resources",
        "time and memory, relative to TRPO",
        ("Point-8-Hazard",),
        _defaults("trpo", "trpo-lagrangian", "cpo", "scpo", "ascpo", "ppo-lagrangian", "pascpo"),
        isolated=True,
    ),
    Experiment(
        "pascpo",
        "PASCPO against PPO-Lagrangian: curves and box plots",
        FOUR_SUITES,
        _defaults("pascpo", "ppo-lagrangian"),
        evaluation=BOX_EPISODES,
    ),
    Experiment(
        "lagrangian",
        "TRPO-Lagrangian with larger multipliers, against ASCPO",
        ("Point-8-Hazard",),
        (*_defaults("ascpo", "trpo-lagrangian"), *LAGRANGIANS),
    ),
    Experiment(
        "columns",
        "the published, the released and our settings, side by side",
        ("Point-8-Hazard", "Point-8-Ghost"),
        (*_defaults("trpo", "cpo", "pcpo", "scpo"), PAPER_MODE, *_defaults("ascpo", "trpo-lagrangian", "pascpo")),
        seeds=(0, 1, 2, 3, 4),
        columns=COLUMNS,
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}


def experiments(name: str) -> list[Experiment]:
    """The experiments of a name. `all` names all experiments, and `q1-SUITE` names one table of q1."""
    if name == "all":
        return list(EXPERIMENTS.values())
    if name in EXPERIMENTS:
        return [EXPERIMENTS[name]]
    one_table = {f"q1-{suite}": suite for suite in PAPER_SUITES}
    if name not in one_table:
        known = ["all", *EXPERIMENTS, *one_table]
        raise BadSetting(f"The paper has no experiment {shown(name)}. {nearest(name, known)}")
    return [replace(_Q1, name=name, suites=(one_table[name],))]
