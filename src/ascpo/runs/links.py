"""Symbolic links in a run's directory are not followed when it is written to.

Otherwise, the author of a directory could let `metrics.csv` point to any file of the user who resumes the run. The path
of the directory itself may contain links, since users keep runs on other disks.
"""

import os
from pathlib import Path


class LinkInRun(ValueError):
    """A symbolic link where a file or a directory was to be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is a symbolic link, and files of a run are not written through links. Remove the link, or replace "
            f"it by its target."
        )


def refuse_links(*paths: Path, below: Path | None = None) -> None:
    """Raise an error for paths that are links. With `below`, directories between it and the paths are checked, too."""
    for path in paths:
        for part in (path, *path.parents):
            if part == below:
                break
            if part.is_symlink():
                raise LinkInRun(part)
            if below is None:
                break


def no_follow(path: str, flags: int) -> int:
    """An opener for `open` that follows no link. Windows has no such flag, so there only `refuse_links` protects."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
