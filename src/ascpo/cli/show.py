"""What verbs print alike."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from ascpo.evaluation.judge import judge_run


def judged(run: Path, episodes: int, *, seed: int = 0, threads: int = 0) -> None:
    """Judge a policy on fresh episodes, and print what came out."""
    found = judge_run(run, episodes, seed=seed, threads=threads)
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), title_justify="left")
    table.add_column(f"{episodes} fresh episodes")
    for way in found:
        table.add_column(f"{way} actions", justify="right")
    for name in found["sampled"]:
        table.add_row(name, *(f"{figures[name]:.4g}" for figures in found.values()))
    Console(highlight=False).print(table)
