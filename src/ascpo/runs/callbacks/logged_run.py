"""The id of a run in a logging service, kept in the run's directory, so that a resumed run continues there, too."""

import re
from pathlib import Path

from ascpo.runs.files import BadFile, reading, write_whole
from ascpo.runs.links import refuse_links


def read_id(file: Path) -> str | None:
    """The id, if there is one."""
    refuse_links(file)
    if not file.exists():
        return None
    with reading(file):
        run_id = file.read_text().strip()
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", run_id):
        raise BadFile(f"{file} holds no name of a run. Remove it, and the logger starts a new run.")
    return run_id


def keep_id(file: Path, run_id: str) -> str:
    """Write the id, and return it."""
    write_whole(file, f"{run_id}\n")
    return run_id
