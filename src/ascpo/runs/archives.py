"""Archives for moving files to another machine: a tar file with an index of its contents."""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from ascpo.runs.files import BadFile, reading
from ascpo.runs.serialization import Plain

_INDEX = "index.json"


def packed(index: Plain, contents: Mapping[str, bytes]) -> bytes:
    """An archive of these contents, by their names."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in {_INDEX: json.dumps(index).encode(), **contents}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return archive.getvalue()


def unpacked(file: Path, kind: str) -> tuple[Plain, dict[str, bytes]]:
    """The index and the contents of an archive whose index has this `format`. The names are not checked."""
    try:
        with reading(file), tarfile.open(file, "r:") as tar:
            contents = {member.name: _content(tar, member) for member in tar}
            index = json.loads(contents.pop(_INDEX))
            if index["format"] != kind:
                raise BadFile(f"{file} is not an archive of {kind.rpartition(' ')[0]}.")
    except (tarfile.TarError, EOFError) as error:
        raise BadFile(f"{file} is damaged, or this program did not write it: {error}.") from error
    return index, contents


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stored = tar.extractfile(member)
    if stored is None:
        raise tarfile.TarError(f"{member.name} is not a file")
    return stored.read()
