"""Reports about runs: an HTML page, figures, and a journal of the optimiser's steps, made from the runs' files alone.

`ascpo.report(run)` writes one: the function has the name of this package, so the package is callable.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ascpo.report.written import Report
    from ascpo.runs.run_like import RunLike


class _CallablePackage(ModuleType):
    """A package that can be called."""

    def __call__(self, *runs: "RunLike", out: "str | Path | None" = None) -> "Report":
        from ascpo.report.written import report

        return report(*runs, out=out)


sys.modules[__name__].__class__ = _CallablePackage
