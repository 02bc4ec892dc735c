"""How much return there is to have in each suite, beside what was printed and what trainings have.

python -m benchmarks.returns --results benchmarks/results/q1 --last 10

The reward is the distance by which the robot comes closer, and 1 at the goal, whose disc has a radius of 0.5. So an
episode that reaches the goal from a distance d has a return of d + 0.5, and as much more as its last step goes into the
disc. Detours cost nothing, time-outs do. The mean over many scenes is what a policy has that always arrives.

A printed figure is the mean of the last epochs of two seeds, some 350 episodes each. Its standard error is that of as
many start distances.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from rich.console import Console

from ascpo.environments.spaces import make_task
from ascpo.guard.draws import keys_for
from ascpo.guard.goal import RADIUS
from ascpo.guard.layout import draw_many
from ascpo.guard.suites import PAPER_SUITES
from ascpo.guard.task import Task
from ascpo.paper.experiments import EXPERIMENTS, TABLE_ALGORITHMS
from ascpo.paper.printed import J_R, TIMEOUTS, printed_value
from ascpo.paper.results import PaperStore, gather
from ascpo.paper.tables import Cell, Page, Table, page_to_markdown
from ascpo.seeding import SCHEMES

_PRINTED_EPISODES = 700
_SCENES_SEED = 7


@dataclass(frozen=True)
class Starts:
    """The distances from the goal at which the episodes of a suite start."""

    distances: np.ndarray

    @property
    def attainable(self) -> float:
        """The mean return of a policy that always arrives, without the way into the disc."""
        return float(self.distances.mean()) + 1.0 - RADIUS

    def error(self, episodes: int) -> float:
        """The standard error of a mean return over so many episodes."""
        return float(self.distances.std() / np.sqrt(episodes))


def starts_of(task: Task, scenes: int) -> Starts:
    seeds, numbers = zip(*SCHEMES[2].evaluation(_SCENES_SEED, scenes), strict=True)
    layouts = draw_many(task.rules, keys_for(np.array(seeds), np.array(numbers)))
    return Starts(np.asarray(jax.jit(jax.vmap(lambda layout: task.begin(layout).distance))(layouts)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/q1"))
    parser.add_argument("--last", type=int, default=10, help="epochs over which the trainings' J_r is averaged")
    parser.add_argument("--scenes", type=int, default=20_000)
    args = parser.parse_args()
    samples = gather(PaperStore(results=args.results), EXPERIMENTS["q1"], args.last)
    rows: list[list[Cell]] = []
    for suite in PAPER_SUITES:
        starts = starts_of(make_task(suite, "paper", "closest", None), args.scenes)
        printed = [printed_value(suite, name, J_R) for name in TABLE_ALGORITHMS]
        row: list[Cell] = [suite, (starts.attainable, starts.error(args.scenes))]
        for name in ("trpo", "ascpo"):
            numbers = samples.get((suite, name), {})
            row += [float(numbers[J_R.name].mean()), f"{numbers[TIMEOUTS.name].mean():.1%}"] if numbers else [None] * 2
        theirs = printed_value(suite, "ascpo", J_R)
        above = None if theirs is None else (theirs - starts.attainable) / starts.error(_PRINTED_EPISODES)
        rows.append([*row, theirs, above, float(np.median([x for x in printed if x is not None]))])
    columns = {"suite": "", "attainable": ".3f"}
    columns |= {"TRPO": ".3f", "TRPO: time-outs": "", "ASCPO": ".3f", "ASCPO: time-outs": ""}
    columns |= {"printed ASCPO": ".2f", "above attainable, in standard errors": "+.1f", "median of all printed": ".2f"}
    table = Table(f"J_r: what {args.scenes:,} scenes have, and what was reached", columns, rows)
    Console().print(page_to_markdown(Page("Returns", args.last, tables=[table])), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
