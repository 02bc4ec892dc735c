"""`ascpo train`: train a policy, and write down what happened."""

import dataclasses
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from ascpo.algorithms import ASCPO, CPO, SCPO, TRPO, Algorithm
from ascpo.engines.native import NativeEngine
from ascpo.environments.spaces import make_task
from ascpo.evaluation.fresh import fresh_episodes
from ascpo.training.journal import Metrics, Row
from ascpo.training.settings import Settings
from ascpo.training.train import make_learner, train

_HELD_OUT = 1_000_000
"""Evaluation's seeds begin here, beyond those of trainings."""


@dataclass(frozen=True)
class Train:
    """Train a policy."""

    env: str = "Point-8-Hazard"
    """A suite: robot, number of obstacles, kind of obstacle."""
    algo: Literal["trpo", "cpo", "scpo", "ascpo"] = "ascpo"
    seed: int = 0
    total_steps: float = 6e6
    """Steps of all environments together."""
    probability: float | None = None
    """With which every state of an episode shall stay within its limit; 0.98 if not given."""
    out: Path = Path("runs")
    """Where the run's directory goes."""
    threads: int = 0
    """Threads of the simulator, 0 for one per core."""
    evaluate: int = 500
    """Fresh episodes to evaluate the last policy with; 0 for none."""
    settings: Settings = field(default_factory=Settings)
    cpo: CPO = field(default_factory=CPO)
    scpo: SCPO = field(default_factory=SCPO)
    ascpo: ASCPO = field(default_factory=ASCPO)

    def __post_init__(self) -> None:
        if not self.total_steps >= 1:
            raise ValueError(f"total_steps={self.total_steps:g} leaves nothing to train. Try 6e6.")
        if self.evaluate < 0:
            raise ValueError(f"evaluate={self.evaluate}: ask for some episodes, or for 0.")

    def resolved(self) -> "Train":
        """With the probability put where it is used."""
        if self.probability is None:
            return self
        ask = dataclasses.replace(self.settings.ask, probability=self.probability)
        return dataclasses.replace(
            self,
            settings=dataclasses.replace(self.settings, ask=ask),
            ascpo=dataclasses.replace(self.ascpo, probability=self.probability),
        )

    def algorithm(self) -> Algorithm:
        return {"trpo": TRPO(), "cpo": self.cpo, "scpo": self.scpo, "ascpo": self.ascpo}[self.algo].build()


def run(wanted: Train) -> Path:
    """Train, print a line per epoch, and return the run's directory."""
    wanted = wanted.resolved()
    settings, algorithm = wanted.settings, wanted.algorithm()
    task = make_task(wanted.env, "paper", "closest", 1000)
    engine = NativeEngine(task, settings.num_envs, wanted.threads)
    learner = make_learner(engine, algorithm, settings)
    epochs = -(-int(wanted.total_steps) // (settings.num_envs * settings.horizon))
    directory = _directory(wanted)
    (directory / "config.json").write_text(json.dumps(dataclasses.asdict(wanted), indent=2, default=str) + "\n")
    limits = ", ".join(f"{name} ≤ {limit:g}" for name, limit in zip(engine.cost_names, learner.limits, strict=True))
    print(f"{wanted.env}, {algorithm.name}: bounds {algorithm.words}. Limits: {limits}. Writing to {directory}.")
    metrics, theta, began = Metrics(directory / "metrics.csv"), None, time.perf_counter()
    for epoch in train(engine, learner, wanted.seed, epochs):
        metrics.write(epoch.row)
        theta = epoch.state.theta
        print(_line(epoch.row, epochs, time.perf_counter() - began), flush=True)
    metrics.close()
    if theta is not None:
        np.savez(directory / "policy.npz", theta=np.asarray(theta))
    if wanted.evaluate and theta is not None:
        actor, found = learner.actor(), {}
        judged_by = NativeEngine(task, wanted.evaluate, wanted.threads)
        for name, mean_action in (("sampled", False), ("mean", True)):
            episodes = fresh_episodes(judged_by, actor, theta, _HELD_OUT + wanted.seed, mean_action=mean_action)
            found[name] = episodes.summary(learner.limits)
            print(f"{wanted.evaluate} fresh episodes, {name} actions:", _figures(found[name]))
        (directory / "evaluation.json").write_text(json.dumps(found, indent=2) + "\n")
    return directory


def _directory(wanted: Train) -> Path:
    mode = f"-{wanted.ascpo.mode}" if wanted.algo == "ascpo" else ""
    directory = wanted.out / f"{wanted.env}-{wanted.algo}{mode}-seed{wanted.seed}"
    if (directory / "metrics.csv").exists():
        raise FileExistsError(f"{directory} holds a run already. Choose another --out, or remove it.")
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _line(row: Row, epochs: int, seconds: float) -> str:
    done = int(row["Epoch"]) + 1
    left = seconds / done * (epochs - done)
    return (
        f"{done:>4}/{epochs}  EpRet {row['EpRet']:6.3f}  EpCost {row['EpCost']:7.4f}  "
        f"EpMaxCost {row['EpMaxCost']:.4f}  "
        f"safe {row['SafeRate']:6.1%}  timeouts {row['TimeoutRate']:5.1%}  CostRate {row['CostRate']:.5f}  "
        f"case {row['Case']}  {row['StepsPerSecond']:6.0f} steps/s  {left / 60:4.1f} min left"
    )


def _figures(found: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in found.items())
