"""Put trained runs into the zoo: the best of each suite and algorithm, evaluated and certified.

python -m benchmarks.zoo runs/...                   # all runs below these directories; then commit src/ascpo/zoo

The best policy is the one with the fewest failures on validation scenes of its own run, and among equals the one with
the largest return. Evaluation and certificate come afterwards, on other scenes, and do not affect the choice. A run
that has a certificate keeps it, since certifying it again until the result is good would defeat the purpose.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ascpo.evaluation.certify import certify
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.evaluation.request import Request
from ascpo.guard.suites import is_suite
from ascpo.runs.directory import RunDirectory, find, runs_in
from ascpo.runs.environment import open_engine
from ascpo.runs.episodes import play
from ascpo.runs.selection import Outcome, best_of, outcome_of
from ascpo.runs.trained_policy import read_policy
from ascpo.runs.zoo import packed
from ascpo.seeding import SCHEMES

ZOO = Path(__file__).parents[1] / "src" / "ascpo" / "zoo"


def validated(run: RunDirectory, episodes: int) -> Outcome:
    """How a run's policy does on its validation scenes."""
    policy = read_policy(run.path)
    config, actor = policy.config, policy.actor()
    origins = SCHEMES[config.seeding].validation(config.seed, episodes)
    with closing(open_engine(config.env, config.settings.num_envs)) as engine:
        limits = config.settings.limits_for(policy.cost_names)
        how = {"limits": limits, "limits_on": config.algorithm().limits_on}
        played = play(engine, actor, policy.theta, origins, **how)
    return outcome_of(played.episodes, timeouts_fail=is_suite(config.env))


def chosen(runs: Sequence[RunDirectory], episodes: int) -> RunDirectory:
    if len(runs) == 1:
        return runs[0]
    outcomes = [validated(run, episodes) for run in runs]
    for run, outcome in zip(runs, outcomes, strict=True):
        print(f"  {run.path}: {outcome.failures} of {outcome.episodes} fail, J_r {outcome.mean_return:.3f}", flush=True)
    return runs[best_of(outcomes)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--validation", type=int, default=500, help="validation episodes of each run")
    parser.add_argument("--episodes", type=int, default=3000, help="episodes of the certificate")
    parser.add_argument("--probability", type=float, default=0.98)
    args = parser.parse_args()
    groups = defaultdict(list)
    for run in [run for directory in args.directories for run in runs_in(directory)]:
        config = run.config()
        if run.policy.exists() and config.preset is None and is_suite(config.env):
            groups[config.env, config.algo].append(run)
    for (suite, algo), runs in sorted(groups.items()):
        print(f"{suite}, {algo}: {len(runs)} runs", flush=True)
        run = chosen(runs, args.validation).path
        if not (run / "evaluation.json").exists():
            evaluate_run(run, 1000)
        if not (run / "certificate.json").exists():
            certify([run], Request(probability=args.probability, episodes=args.episodes))
        ZOO.mkdir(exist_ok=True)
        content = packed(find(run).path)
        (ZOO / f"{suite}-{algo}.zip").write_bytes(content)
        print(f"  {run} is in the zoo: {len(content) / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
