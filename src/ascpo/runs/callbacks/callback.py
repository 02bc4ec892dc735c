"""Who watches a run: displays and logs, which change nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ascpo.runs.config import Config
from ascpo.runs.tables import Row


@dataclass(frozen=True)
class Plan:
    """What is about to be done."""

    config: Config
    directory: Path
    done: int
    """Epochs that are done already."""
    words: str
    """What the algorithm bounds."""
    limits: dict[str, float]
    remarks: tuple[str, ...] = ()
    """About the environment."""
    beside: tuple[Path, ...] = ()
    """Directories of other runs that are trained together with this one."""

    def sentences(self) -> list[str]:
        """What the run is, and what it promises, for a person."""
        config, settings = self.config, self.config.settings
        limits = ", ".join(f"{name} at or under {limit:g}" for name, limit in self.limits.items())
        whole = f"{config.total_steps:,} steps: {config.epochs} epochs of {settings.num_envs} × {settings.horizon}"
        told = [
            f"{config.env}, {config.algo}, seed {config.seed}, {whole}",
            f"Wanted: the largest cost of any state in an episode stays within its limit ({limits}) "
            f"in {100 * settings.probability:.4g} % of all episodes",
            f"How: {config.algo} {self.words}" + (f"; margin {settings.margin:g}" if settings.margin else ""),
            f"Directory: {self.directory}",
            *([f"Together with: {', '.join(path.name for path in self.beside)}"] if self.beside else ()),
            *(f"But: {remark}" for remark in self.remarks),
        ]
        return [*told, f"Going on after epoch {self.done}"] if self.done else told


@dataclass(frozen=True)
class News:
    """Of one run: its last epoch."""

    directory: Path
    row: Row
    timing: Row


class Watcher(Protocol):
    """Is told what happens."""

    def begin(self, plan: Plan) -> None: ...

    def epoch(self, news: Sequence[News]) -> None:
        """Of every run that has finished one, together."""
        ...

    def end(self) -> None: ...
