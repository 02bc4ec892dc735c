"""Draw the terminal display of a run, from its tables.

python -m benchmarks.progress runs/Point-1-Hazard-ascpo-seed0 --epochs 40 --to docs/pictures/progress.svg
"""

import argparse
import io
import re
from pathlib import Path

from rich.console import Console

from ascpo.guard.suites import suite
from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.callbacks.display import Display
from ascpo.runs.directory import find
from ascpo.runs.tables import read_table


def draw(run: Path, epochs: int, to: Path) -> None:
    directory = find(run)
    config = directory.config()
    names = suite(config.env).cost_names
    limits = dict(zip(names, config.settings.limits_for(names), strict=True))
    console = Console(record=True, width=100, force_terminal=True, file=io.StringIO(), highlight=False)
    display = Display(console)
    algorithm = config.algorithm()
    target = algorithm.target.description if algorithm.target else ""
    display.on_training_start(TrainingPlan(config, directory.path, 0, algorithm.description, limits, target))
    log, times = read_table(directory.metrics), read_table(directory.timing)
    for i in range(epochs):
        row, timing = ({k: float(v[i]) for k, v in table.items()} for table in (log, times))
        display.on_epoch_end([EpochRecord(directory.path, row, timing)])
    display.on_training_end()
    picture = console.export_svg(title=f"ascpo train --env {config.env}")
    # The picture must not load a font from elsewhere.
    to.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL))


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("run", type=Path)
    asked.add_argument("--epochs", type=int, default=40)
    asked.add_argument("--to", type=Path, default=Path("docs/pictures/progress.svg"))
    said = asked.parse_args()
    draw(said.run, said.epochs, said.to)
