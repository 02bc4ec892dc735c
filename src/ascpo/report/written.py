"""Write a report from Python."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

from ascpo.report.document import write_report
from ascpo.runs.run_like import RunLike, path_of
from ascpo.runs.serialization import BadSetting


@dataclass(frozen=True)
class Report:
    """A report that was written."""

    page: Path
    """The file of the page."""

    @property
    def figures(self) -> tuple[Path, ...]:
        """Its plots as files."""
        return tuple(sorted((self.page.parent / "figures").iterdir()))

    def _repr_html_(self) -> str:
        return f'<p>Report: <a href="{escape(self.page.resolve().as_uri())}">{escape(str(self.page))}</a></p>'


def report(*runs: RunLike, out: str | Path | None = None) -> Report:
    """Write an HTML page about runs, as `ascpo report` does. A directory stands for all runs inside it."""
    if not runs:
        raise BadSetting("Name the runs, or a directory that contains runs: ascpo.report('runs').")
    return Report(write_report([path_of(run) for run in runs], None if out is None else Path(out)))
