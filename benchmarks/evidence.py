"""Figures of fresh episodes, and certificates, of trained policies.

    python -m benchmarks.evidence                      prints those in `benchmarks/results/evidence`
    python -m benchmarks.evidence --play RUN …         evaluates and certifies these runs, and times it

Each run: ascpo train --env Point-8-Hazard --algo NAME --seed N --total-steps 6e6
"""

import argparse
import json
import time
from pathlib import Path

from ascpo.evaluation.certificate import read_certificate
from ascpo.evaluation.certify import Request, certify
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.runs.compilation import set_up_compilation

RESULTS = Path(__file__).parent / "results" / "evidence"
EPISODES = 3000
PROBABILITY = 0.9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--play", type=Path, nargs="*", default=[])
    set_up_compilation()
    seconds = {run: play(run) for run in parser.parse_args().play}
    runs = list(seconds) or sorted(path.parent for path in RESULTS.glob("*/certificate.json"))
    titles = ["run", "J_r", "M_c", "largest", "its 95 %", "99 %", "worst", "safe", "time-outs", "certified for"]
    titles += ["mean actions: safe"] + (["seconds"] if seconds else [])
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for run in runs:
        print("| " + " | ".join([run.name, *cells(run), *([f"{seconds[run]:.1f}"] if seconds else [])]) + " |")


def play(run: Path) -> float:
    """Seconds of the evaluation with sampled actions, compilation included."""
    began = time.perf_counter()
    evaluate_run(run, EPISODES)
    took = time.perf_counter() - began
    evaluate_run(run, EPISODES, actions="mean")
    certify([run], Request(probability=PROBABILITY, episodes=EPISODES))
    return took


def cells(run: Path) -> list[str]:
    found = json.loads((run / "evaluation.json").read_text())
    drawn, certificate = found["sampled"], read_certificate(run / "certificate.json")
    return [
        _figure(drawn, "EpRet", "{:.3f}"),
        _figure(drawn, "EpCost", "{:.3f}"),
        _figure(drawn, "EpMaxCost", "{:.4f}"),
        f"{drawn['EpMaxCost95']:.3f}",
        f"{drawn['EpMaxCost99']:.3f}",
        f"{drawn['EpMaxCostWorst']:.3f}",
        _figure(drawn, "SafeRate", "{:.1%}"),
        f"{drawn['TimeoutRate']:.1%}",
        f"**{certificate.bound:.4f}** ({certificate.violations} of {certificate.plan.episodes})",
        f"{found['mean']['SafeRate']:.1%}" if "mean" in found else "–",
    ]


def _figure(found: dict, name: str, form: str) -> str:
    low, high = found["intervals"][name]
    return f"{form.format(found[name])} [{form.format(low)}, {form.format(high)}]"


if __name__ == "__main__":
    main()
