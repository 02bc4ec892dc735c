"""`ascpo tune`: search for settings with a larger return that keep the limits as asked for."""

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from ascpo.algorithms.presets import PresetName
from ascpo.cli.parsing import parsed
from ascpo.ranges import Fraction, Probability, Range
from ascpo.runs.config import configure
from ascpo.runs.environment import engine_name, name_of
from ascpo.runs.serialization import Plain
from ascpo.runs.stopping import Stopped, Stopping
from ascpo.sweep.directory import SweepDirectory
from ascpo.sweep.executors.choose import Placement, open_executor
from ascpo.sweep.executors.contract import UNLIMITED
from ascpo.sweep.overrides import nested, read_overrides
from ascpo.tuning.loop import tune
from ascpo.tuning.space import axes_of
from ascpo.tuning.study import Search, Setup


@dataclass(frozen=True)
class Tune:
    """Search for settings with the largest return among those that keep the limits.

    The same command continues a search that was stopped. The first trial has the default settings. The file tuning.md
    in --out has all trials, and the last lines that are printed name the best. Next: the `ascpo sweep` that is printed
    there trains with them and with seeds that chose nothing.
    """

    search: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=RANGE")] = ()
    """A setting to search: --search trust_region.delta=0.005..0.05:log --search cost_fit.window=5..20 --search
    mode=chernoff,chance."""
    env: str = "Point-8-Hazard"
    """The environment: a suite, a Gymnasium id, or package.module:factory."""
    algo: str = "ascpo"
    """The algorithm."""
    preset: PresetName | None = None
    """Begin with the settings of the paper (`published`) or of its released code (`released`)."""
    engine: Literal["native", "mjx", "mjx-jax", "mjx-warp"] = "native"
    """What simulates: `native` on the host's cores, or MJX on an accelerator."""
    total_steps: Annotated[float, Range(at_least=1.0, at_most=1e15)] = 1e6
    """The length of each training."""
    set: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """A setting of all trials: --set horizon=500."""
    trials: Annotated[int, Range(at_least=1, at_most=10**5)] = 50
    """The number of trials, including those of earlier calls."""
    side_by_side: Annotated[int, Range(at_least=1, at_most=1024)] = 1
    """The number of trials at the same time. The more there are, the less each can learn from the others."""
    seeds: Annotated[int, Range(at_least=1, at_most=100)] = 2
    """The number of trainings of each trial. Their seeds start at a million, so that the usual ones stay unseen."""
    episodes: Annotated[int, Range(at_least=1, at_most=10**6)] = 200
    """The number of episodes on which each trained policy is evaluated. No other evaluation has their scenes."""
    probability: Probability | None = None
    """The probability of keeping the limits that every seed of a trial must certify. The default is the target of the
    algorithm."""
    confidence: Probability = 0.95
    """The confidence of that statement, for each trial by itself."""
    patience: Fraction = 0.4
    """The fraction of a training after which a trial may be pruned. 1 prunes none."""
    placement: Annotated[Placement, tyro.conf.arg(name="")] = field(default_factory=Placement)
    out: Path = Path("runs/tuning")
    """The directory of the search."""

    def setup(self) -> Setup:
        chosen = read_overrides(self.set)
        env, axes = name_of(self.env), axes_of(self.search)
        settings: Plain = nested(chosen, self.algo)
        own: Plain = {"preset": self.preset, "total_steps": self.total_steps, "engine": engine_name(self.engine, env)}
        base = configure(env, self.algo, **own, **settings)
        probability = base.settings.probability if self.probability is None else self.probability
        limits = {"confidence": self.confidence, "seeds": self.seeds, "episodes": self.episodes}
        return Setup(base, chosen, tuple(axes), self.out, probability, **limits, patience=self.patience)


def main(typed: list[str]) -> None:
    asked = parsed(Tune, typed, "ascpo tune")
    setup, console = asked.setup(), Console(highlight=False, soft_wrap=True)
    # Try both ends of every range, so that a mistake is found before the first training.
    for axis in setup.axes:
        for value in axis.tried:
            setup.batch(0, {axis.name: value})
    record = SweepDirectory(setup.out)
    with record.driving():
        search = Search(setup)
        # Jobs of a trial that has not begun: what is done needs no place.
        jobs = setup.batch(len(search.study.trials), {})
        executor = open_executor(asked.placement, jobs * asked.side_by_side, record.folder)
        side_by_side = asked.side_by_side if executor.slots >= UNLIMITED else min(asked.side_by_side, executor.slots)
        try:
            with Stopping() as stopping, stopping.work():
                say = lambda text: console.print(text, markup=False)  # noqa: E731
                tune(search, executor, asked.trials, side_by_side, say)
        except Stopped as stopped:
            command = shlex.join(["ascpo", *sys.argv[1:]])
            console.print(f"Stopped by {stopped}. To continue: {command}", markup=False)
            sys.exit(128 + stopped.number)
        finally:
            executor.close()
    from ascpo.tuning.report import verdict, write_report

    write_report(search)
    console.print(verdict(search), markup=False)
    console.print(f"Report: {setup.out / 'tuning.md'}", markup=False)
    if search.feasible():
        console.print(f"To test these settings with seeds of no trial: {_command(asked, search)}", markup=False)


def _command(asked: Tune, search: Search) -> str:
    """The sweep that trains with the best settings: everything that the trials had, and what was found."""
    best = search.feasible()[0]
    chosen = [*asked.set, *(f"{name}={value}" for name, value in best.params.items())]
    words = ["ascpo", "sweep", "--env", asked.env, "--algo", asked.algo]
    words += ["--preset", asked.preset] if asked.preset else []
    words += ["--engine", asked.engine] if asked.engine != Tune.engine else []
    words += ["--seeds", "0..7", *(word for one in chosen for word in ("--set", one))]
    return shlex.join([*words, "--total-steps", f"{asked.total_steps:.10g}"])
