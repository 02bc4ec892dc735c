"""The zoo: trained policies that come with the package.

Each is a run's directory without its checkpoints, packed into one file. Checksums that follow from their table are not
packed, but written again when the run is unpacked. zoo:Point-1-Hazard is the policy of ASCPO for that suite, as is
zoo:Point-1-Hazard/ascpo. This module imports nothing slow, so that typing errors are answered at
once.
"""

import contextlib
import io
import json
import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ascpo.errors import nearest
from ascpo.runs.files import BadFile, NoRun, reading, writing
from ascpo.runs.serialization import Plain

PREFIX = "zoo:"
PLACE = Path("runs") / "zoo"
"""The directory for unpacked runs of the zoo, relative to the current one."""
FILES = (
    "config.json", "description.json", "versions.json",
    "metrics.csv", "metrics.csv.sha256", "timing.csv", "timing.csv.sha256",
    "policy.safetensors", "selection.csv", "selection.csv.sha256",
    "evaluation.json", "episodes-sampled.csv", "worst-sampled.safetensors",
    "certificate.json", "certificates.jsonl",
)  # fmt: skip
"""Files of a run that a policy of the zoo includes."""
_CHECKED = ("metrics.csv", "timing.csv", "selection.csv")
"""Tables that have checksums."""
_NEEDED = ("config.json", "policy.safetensors", "evaluation.json", "certificate.json")
_DEFAULT = "ascpo"
_DATE = (1980, 1, 1, 0, 0, 0)
"""A fixed date, so that the same run is always packed into the same bytes."""


@dataclass(frozen=True)
class ZooPolicy:
    """A policy of the zoo."""

    file: Path

    @property
    def name(self) -> str:
        """The name after zoo:, such as Point-1-Hazard/ascpo."""
        return f"{self.suite}/{self.algo}"

    @property
    def directory_name(self) -> str:
        return f"{self.suite}-{self.algo}"

    @property
    def suite(self) -> str:
        return str(self.config["env"])

    @property
    def algo(self) -> str:
        return str(self.config["algo"])

    @cached_property
    def config(self) -> Plain:
        plain = self._json("config.json")
        return plain.get("content", plain)

    @cached_property
    def evaluation(self) -> Plain:
        """The evaluation with sampled actions."""
        return self._json("evaluation.json")["sampled"]

    @cached_property
    def certificate(self) -> Plain:
        return self._json("certificate.json")

    def unpack(self, folder: Path) -> Path:
        """Unpack the run into a folder, unless it is there already."""
        place = folder / self.directory_name
        if place.exists():
            if not (place / "policy.safetensors").exists() or self._read("policy.safetensors") != (
                (place / "policy.safetensors").read_bytes()
            ):
                raise NoRun(f"{place} holds something other than {PREFIX}{self.name}. Move it away.")
            return place
        with writing(place):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".incoming-", dir=folder) as incoming:
                whole = Path(incoming) / place.name
                whole.mkdir()
                for name in self._names():
                    (whole / name).write_bytes(self._read(name))
                for name, content in _checksums(whole).items():
                    if not (whole / name).exists():
                        (whole / name).write_bytes(content)
                whole.rename(place)
        return place

    def _names(self) -> list[str]:
        with self._opened() as archive:
            names = archive.namelist()
        if unknown := sorted(set(names) - set(FILES)):
            raise BadFile(f"{self.file} is not a policy of the zoo: it holds {unknown[0]}.")
        return names

    def _read(self, name: str) -> bytes:
        with self._opened() as archive:
            return archive.read(name)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            with reading(self.file), zipfile.ZipFile(self.file) as archive:
                yield archive
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError) as error:
            raise BadFile(f"{self.file} is damaged: {error}. Reinstall the package.") from error

    def _json(self, name: str) -> Plain:
        with reading(self.file):
            return json.loads(self._read(name))


def packed(run: Path) -> bytes:
    """The content of a zoo file with this run."""
    if missing := [name for name in _NEEDED if not (run / name).exists()]:
        raise NoRun(f"{run} has no {missing[0]}. Evaluate and certify a run before you add it to the zoo.")
    found = {name: (run / name).read_bytes() for name in FILES if (run / name).exists()}
    following = _checksums(run)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in [name for name, file in found.items() if following.get(name) != file]:
            # LZMA makes tables a fifth smaller than deflation does, and gains nothing with the other files.
            method = zipfile.ZIP_LZMA if name.endswith(".csv") else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, _DATE), found[name], method, compresslevel=9)
    return content.getvalue()


def _checksums(run: Path) -> dict[str, bytes]:
    """The checksum files that follow from the tables of a run, by name."""
    from ascpo.runs.tables import checksums, sums_of

    seal = json.loads((run / "config.json").read_text()).get("checksum")
    tables = [run / name for name in _CHECKED if (run / name).exists()]
    # Runs of earlier versions have no checksums.
    return {sums_of(file).name: checksums(file.read_bytes(), seal["run"]).encode() for file in tables if seal}


def zoo_policies() -> list[ZooPolicy]:
    """All policies, by suite and algorithm."""
    return [ZooPolicy(file) for file in sorted((Path(__file__).parents[1] / "zoo").glob("*.zip"))]


def zoo_policy(name: str) -> ZooPolicy:
    """The policy of a name such as zoo:Point-1-Hazard, or Point-1-Hazard/ascpo."""
    known = {one.name: one for one in zoo_policies()}
    wanted = name.removeprefix(PREFIX)
    wanted = wanted if "/" in wanted else f"{wanted}/{_DEFAULT}"
    if wanted not in known:
        hint = nearest(wanted, known) if known else "It is empty."
        raise NoRun(f"The zoo has no {wanted}. {hint} `ascpo zoo list` lists all policies.")
    return known[wanted]


def in_place(name: str) -> str:
    """An argument of a command. The name of a zoo policy becomes the directory of its unpacked run."""
    return str(zoo_policy(name).unpack(PLACE)) if name.startswith(PREFIX) else name
