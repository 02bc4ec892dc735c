"""Compare settings by the probability with which their policies keep every state within its limits.

python -m benchmarks.promise list
python -m benchmarks.promise train --out promise --envs Point-8-Hazard --variants control near-miss --seeds 0..7 \
    --engine mjx-jax --set num_envs=240 --set horizon=125
python -m benchmarks.promise judge promise --episodes 3000 --jobs 2
python -m benchmarks.promise show promise
python -m benchmarks.promise log promise

`train` trains all variants and seeds of an environment at the same time, and keeps finished runs. `judge` plays the
last policy of every run and the mean of its last ones on the host, on episodes that no training uses, and keeps a row
of each in judged.csv. `show` gives a row for each environment, variant and kind of policy, with the worst seed beside
the mean; a policy is certified for p if the exact lower bound of its share of safe episodes, at 95 %, is at least p.
`log` gives such a table of the last fifty epochs of the trainings themselves, and keeps a row of each run in
trained.csv.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from ascpo.runs.config import Config, configure
from ascpo.runs.directory import RunDirectory
from ascpo.runs.tables import read_table
from ascpo.sweep.estimate import Estimate
from ascpo.sweep.executors import InProcess
from ascpo.sweep.jobs import Job, run_batch
from ascpo.sweep.overrides import nested, read_overrides
from ascpo.sweep.progress import ConsoleProgress
from ascpo.sweep.scheduler import TOGETHER, run_sweep

NEAR = {"near_miss": 0.1, "near_miss_end": 0.03}
STEADY = {"near_miss": 0.1, "near_miss_end": 0.1}
ON_TIME = {"target.timeout_limit": 0.01}
CHERNOFF = {"mode": "chernoff", "near_miss": 0.3, "near_miss_end": 0.3}
REPLAY = {"replay.share": 0.4}
ALL = NEAR | ON_TIME | REPLAY


def short(gae_lambda: float) -> dict[str, Any]:
    """Advantages of costs that look less far ahead, and rely on the critic instead: λ is 0.95 by default."""
    return {"cost_gae_lambda": gae_lambda}


EARLIER: dict[str, Mapping[str, Any]] = {
    "ascpo": {
        "mode": "chance",
        "near_miss": 0.0,
        "cost_gae_lambda": None,
        "target.timeout_limit": None,
        "target.timeout_relief": 0.25,
        "normalise_observations": False,
        "cost_fit.learning_rate": 1e-3,
    },
    "cpo": {
        "near_miss": 0.0,
        "target.timeout_limit": None,
        "target.timeout_relief": 0.25,
        "normalise_observations": False,
    },
    "scpo": {
        "near_miss": 0.0,
        "target.timeout_limit": None,
        "target.timeout_relief": 0.25,
        "normalise_observations": False,
    },
    "pcpo": {"normalise_observations": False},
    "trpo-lagrangian": {"near_miss": 0.0, "normalise_observations": False},
    "trpo": {"normalise_observations": False},
}
"""The defaults before suites had their own. All variants except `default` ones start from them."""
RAW: dict[str, Any] = {"normalise_observations": False, "cost_gae_lambda": 0.8, "cost_fit.learning_rate": 1e-3}
NORMALISED = RAW | {"normalise_observations": True}
DEFAULTS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "default": ("ascpo", {}),
    "default-for-0.99": ("ascpo", {"probability": 0.99}),
    "default-normalised": ("ascpo", {"normalise_observations": True}),
    "default-raw": ("ascpo", {"normalise_observations": False}),
    "default-little-relief": ("ascpo", {"target.timeout_relief": 0.25}),
    "default-much-relief": ("ascpo", {"target.timeout_relief": 0.9}),
    "default-tolerant": ("ascpo", {"trust_region.tolerance": 0.02}),
    "default-window-30": ("ascpo", {"cost_fit.window": 30}),
    "default-small-steps": ("ascpo", {"trust_region.delta": 0.01}),
    "default-large-steps": ("ascpo", {"trust_region.delta": 0.04}),
    "default-little-tolerance": ("ascpo", {"trust_region.tolerance": 0.005}),
    "default-even": ("ascpo", {"tau": 0.1, "cap": 1.0}),
    "default-wide": ("ascpo", {"hidden": (128, 128)}),
    "default-union-bound": ("ascpo", {"union_bound": True}),
    "default-largest-cost": ("ascpo", {"union_bound": False}),
    "raw": ("ascpo", RAW),
    "raw-small-steps": ("ascpo", RAW | {"trust_region.delta": 0.01}),
    "raw-large-steps": ("ascpo", RAW | {"trust_region.delta": 0.04}),
    "normalised": ("ascpo", NORMALISED),
    "normalised-0.9": ("ascpo", NORMALISED | {"cost_gae_lambda": 0.9}),
    "normalised-slow-critic": ("ascpo", NORMALISED | {"cost_fit.learning_rate": 3e-4}),
    "trpo-normalised": ("trpo", {"normalise_observations": True}),
    "trpo-lagrangian-normalised": ("trpo-lagrangian", {"normalise_observations": True}),
    "cpo-normalised": ("cpo", {"normalise_observations": True, "cost_fit.learning_rate": 3e-4}),
    "scpo-normalised": ("scpo", {"normalise_observations": True, "cost_fit.learning_rate": 3e-4}),
    "scpo-default": ("scpo", {}),
    "cpo-default": ("cpo", {}),
    "trpo-lagrangian-default": ("trpo-lagrangian", {}),
    "pcpo-default": ("pcpo", {}),
    "trpo-default": ("trpo", {}),
}
"""Our defaults for suites, with changes."""
_ABLATION: dict[str, tuple[str, Mapping[str, Any]]] = {
    "control": ("ascpo", {}),
    "near-miss": ("ascpo", NEAR),
    "near-miss-wide": ("ascpo", {"near_miss": 0.2, "near_miss_end": 0.1}),
    "near-miss-steady": ("ascpo", STEADY),
    "on-time": ("ascpo", ON_TIME),
    "near-miss-on-time": ("ascpo", NEAR | ON_TIME),
    "replay": ("ascpo", REPLAY),
    "chernoff": ("ascpo", CHERNOFF),
    "chernoff-on-time": ("ascpo", ON_TIME | CHERNOFF),
    "by-signal": ("ascpo", {"target.half_signal": 0.05}),
    "wide": ("ascpo", {"hidden": (128, 128)}),
    "small-steps": ("ascpo", {"trust_region.delta": 0.01}),
    "all": ("ascpo", ALL),
    "all-but-near-miss": ("ascpo", ON_TIME | REPLAY),
    "all-but-on-time": ("ascpo", NEAR | REPLAY),
    "short": ("ascpo", short(0.5)),
    "short-on-time": ("ascpo", ON_TIME | short(0.5)),
    "steady-on-time": ("ascpo", STEADY | ON_TIME),
    "steady-on-time-0.8": ("ascpo", STEADY | ON_TIME | short(0.8)),
    "steady-on-time-0.5": ("ascpo", STEADY | ON_TIME | short(0.5)),
    "steady-on-time-0": ("ascpo", STEADY | ON_TIME | short(0.0)),
    "chernoff-on-time-0.8": ("ascpo", CHERNOFF | ON_TIME | short(0.8)),
    "chernoff-on-time-0.5": ("ascpo", CHERNOFF | ON_TIME | short(0.5)),
    "chernoff-on-time-0.9": ("ascpo", CHERNOFF | ON_TIME | short(0.9)),
    "chernoff-on-time-0.8-even": ("ascpo", CHERNOFF | ON_TIME | short(0.8) | {"tau": 0.1, "cap": 1.0}),
    "chernoff-on-time-0.8-few-iterations": (
        "ascpo",
        CHERNOFF | ON_TIME | short(0.8) | {"trust_region.cg_iterations": 10},
    ),
    "trpo": ("trpo", {}),
    "cpo": ("cpo", {}),
    "scpo": ("scpo", {}),
    "pcpo": ("pcpo", {}),
    "trpo-lagrangian": ("trpo-lagrangian", {}),
    "cpo-all": ("cpo", ALL),
    "scpo-all": ("scpo", ALL),
    "pcpo-all": ("pcpo", ALL),
    "trpo-lagrangian-all": ("trpo-lagrangian", NEAR | REPLAY),
    "cpo-steady-on-time": ("cpo", STEADY | ON_TIME),
    "scpo-steady-on-time": ("scpo", STEADY | ON_TIME),
    "pcpo-steady-on-time": ("pcpo", STEADY | ON_TIME),
    "trpo-lagrangian-steady": ("trpo-lagrangian", STEADY),
}
"""Name → algorithm, and its settings beyond the earlier defaults."""
OF_3000 = {"target.episodes": 3000}
VARIANTS = DEFAULTS | {
    name: (algo, {**EARLIER[algo], **(OF_3000 if algo in ("ascpo", "cpo", "scpo", "pcpo") else {}), **own})
    for name, (algo, own) in _ABLATION.items()
}
POLICIES = ("last", "average")
KEY: tuple[str, ...] = ("env", "variant", "seed", "policy")
FIGURES: tuple[str, ...] = ("violations", "timeouts", "J_r", "M_c", "certified", "signal")
LAST = 50


def config_of(env: str, variant: str, seed: int, shared: Mapping[str, Any], how: dict[str, Any]) -> Config:
    algo, own = VARIANTS[variant]
    chosen: dict[str, Any] = nested({**shared, **own}, algo)
    return configure(env, algo, seed=seed, **how, **chosen)


def train(args: argparse.Namespace) -> None:
    shared, jobs = read_overrides(args.set), []
    how = {"total_steps": args.total_steps, "engine": args.engine}
    for env in args.envs:
        for variant in args.variants or VARIANTS:
            for seed in _seeds(args.seeds):
                config = config_of(env, variant, seed, shared, how)
                directory = args.out / env / f"{variant}-seed{seed}"
                jobs.append(Job(config, directory, checkpoint_every=args.checkpoint_every))
    console = Console()
    progress = ConsoleProgress([job for job in jobs if not job.is_done()], Estimate(args.out), 1, console)
    execute = InProcess(partial(run_batch, threads=args.threads, display=False, on_epoch=progress.update))
    run_sweep(jobs, execute, progress, batches=TOGETHER)


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("..")
    return list(range(int(first), int(last or first) + 1))


def judge(args: argparse.Namespace) -> None:
    """Evaluate the policies without a row. Every policy of an environment plays the same scenes."""
    known = {tuple(row[name] for name in KEY) for row in _judged(args.out)}
    wanted = [one for one in _finished(args.out) if one[1] in args.variants and one[3] in args.policies]
    work = [one for one in wanted if one[2] in _seeds(args.seeds) and tuple(map(str, one[:4])) not in known]
    print(f"{len(work)} policies to judge, {len(known)} are judged.", flush=True)
    new = not (args.out / "judged.csv").exists()
    with ProcessPoolExecutor(args.jobs) as pool, (args.out / "judged.csv").open("a", newline="") as file:
        table = csv.DictWriter(file, (*KEY, "episodes", *FIGURES))
        if new:
            table.writeheader()
        for row in pool.map(partial(_judge, args.episodes), work):
            table.writerow(row)
            file.flush()


def _finished(out: Path) -> Iterator[tuple[str, str, int, str, Path]]:
    for file in sorted(out.glob("*/*/policy.safetensors")):
        run = RunDirectory(file.parent)
        variant, _, seed = run.path.name.rpartition("-seed")
        if len(read_table(run.metrics)["Epoch"]) >= run.config().epochs:
            for kind in POLICIES:
                yield run.path.parent.name, variant, int(seed), kind, run.path


def _judge(episodes: int, work: tuple[str, str, int, str, Path]) -> dict[str, object]:
    from ascpo.evaluation.bound import lower_bound
    from ascpo.runs.environment import open_engine
    from ascpo.runs.episodes import play
    from ascpo.runs.trained_policy import read_policy
    from ascpo.seeding import LATEST, SCHEMES

    env, variant, seed, kind, path = work
    run = RunDirectory(path)
    policy = read_policy({"last": run.policy_last, "average": run.policy_average}[kind])
    settings = policy.config.settings
    engine = open_engine(env, 30, threads=1)
    try:
        origins = SCHEMES[LATEST].evaluation(0, episodes)
        limits = settings.limits_for(policy.cost_names)
        found = play(engine, policy.actor(), policy.theta, origins, limits=limits).episodes
    finally:
        engine.close()
    violations = int((~found.safe).sum())
    return {
        "env": env,
        "variant": variant,
        "seed": seed,
        "policy": kind,
        "episodes": episodes,
        "violations": violations,
        "timeouts": int(found.time_limited.sum()),
        "J_r": f"{found.reward.mean():.4f}",
        "M_c": f"{found.cost.sum(axis=1).mean():.5f}",
        "certified": f"{lower_bound(violations, episodes, 0.95):.4f}",
        "signal": f"{_signal(run):.4f}",
    }


def _signal(run: RunDirectory) -> float:
    """The mean share of the cost gradient that is no noise, over the last epochs in which it was measured."""
    column = read_table(run.metrics).get("CostSignal")
    known = np.array([]) if column is None else column[-LAST:][np.isfinite(column[-LAST:])]
    return float(known.mean()) if len(known) else float("nan")


def _judged(out: Path) -> list[dict[str, str]]:
    file = out / "judged.csv"
    return list(csv.DictReader(file.open())) if file.exists() else []


def show(args: argparse.Namespace) -> None:
    groups: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for row in _judged(args.out):
        groups[row["env"], row["variant"], row["policy"]].append(row)
    titles = ("environment", "variant", "policy", "seeds", "violations (worst)", "time-outs (worst)", "J_r (worst)")
    titles += ("M_c", "certified p (worst)", f"seeds certified for {args.probability:g}", "signal")
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for key, rows in sorted(groups.items()):
        n = np.array([float(row["episodes"]) for row in rows])
        of = {name: np.array([float(row[name]) for row in rows]) for name in FIGURES}
        cells = (
            *key,
            len(rows),
            *_common_cells(of["violations"] / n, of["timeouts"] / n, of["J_r"], of["M_c"]),
            f"{of['certified'].mean():.4f} ({of['certified'].min():.4f})",
            int((of["certified"] >= args.probability).sum()),
            f"{np.nanmean(of['signal']) if np.isfinite(of['signal']).any() else float('nan'):.3f}",
        )
        print("| " + " | ".join(map(str, cells)) + " |")


def _common_cells(violations: np.ndarray, late: np.ndarray, reward: np.ndarray, cost: np.ndarray) -> tuple[str, ...]:
    return (
        f"{100 * violations.mean():.2f} % ({100 * violations.max():.2f})",
        f"{100 * late.mean():.2f} % ({100 * late.max():.2f})",
        f"{reward.mean():.3f} ({reward.min():.3f})",
        f"{cost.mean():.4f}",
    )


def log(args: argparse.Namespace) -> None:
    groups: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    with (args.out / "trained.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("env", "variant", "seed", "epochs", "violations", "timeouts", "J_r", "M_c", "signal"))
        for env, variant, seed, kind, path in _finished(args.out):
            if kind == "last":
                figures = _of_last_epochs(RunDirectory(path))
                groups[env, variant].append(figures)
                table.writerow((env, variant, seed, LAST, *(f"{x:.5g}" for x in figures)))
    titles = (
        "environment",
        "variant",
        "seeds",
        "violations (worst)",
        "time-outs (worst)",
        "J_r (worst)",
        "M_c",
        "signal",
    )
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for key, rows in sorted(groups.items()):
        *common, signal = np.array(rows).T
        cells = (*key, len(rows), *_common_cells(*common), f"{np.nanmean(signal):.3f}")
        print("| " + " | ".join(map(str, cells)) + " |")


def _of_last_epochs(run: RunDirectory) -> tuple[float, ...]:
    """Violations, time-outs, J_r and M_c over the episodes of the last epochs, and the mean signal."""
    table = {name: column[-LAST:] for name, column in read_table(run.metrics).items()}
    n = table["Episodes"]
    columns = (1.0 - table["SafeRate"], table["TimeoutRate"], table["EpRet"], table["EpCost"])
    return (*(float(np.sum(n * x) / np.sum(n)) for x in columns), _signal(run))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list")
    training = verbs.add_parser("train")
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--envs", nargs="+", default=["Point-8-Hazard"])
    training.add_argument("--variants", nargs="+", choices=VARIANTS)
    training.add_argument("--seeds", default="0..7")
    training.add_argument("--total-steps", type=float, default=6e6)
    training.add_argument("--engine", default="native")
    training.add_argument("--threads", type=int, default=0)
    training.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    training.add_argument("--checkpoint-every", type=float, default=900.0)
    judging, showing, logging = (verbs.add_parser(name) for name in ("judge", "show", "log"))
    for verb in (judging, showing, logging):
        verb.add_argument("out", type=Path)
    judging.add_argument("--episodes", type=int, default=3000)
    judging.add_argument("--jobs", type=int, default=2)
    judging.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    judging.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    judging.add_argument("--seeds", default="0..99")
    showing.add_argument("--probability", type=float, default=0.98)
    args = parser.parse_args()
    if args.verb == "list":
        for name, (algo, own) in VARIANTS.items():
            print(f"{name:24} {algo:16} {own}")
    else:
        {"train": train, "judge": judge, "show": show, "log": log}[args.verb](args)


if __name__ == "__main__":
    main()
