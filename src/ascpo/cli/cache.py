"""`ascpo cache show`, `pack FILE`, `unpack FILE`, `clear`: the cache of compiled programs on disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ascpo.cli.parsing import parsed
from ascpo.cli.usage import no_verb, verbs_help
from ascpo.errors import BadSetting

_VERBS = {
    "show": "say where compiled programs are kept, and how many",
    "pack": "write them into one file, for other machines of the same kind",
    "unpack": "read such a file, so that nothing in it is compiled again",
    "clear": "delete them; they are compiled again when they are needed",
}


@dataclass(frozen=True)
class Show:
    """Say where compiled programs are kept, how many there are, and how large they are.

    Next: `ascpo cache pack FILE` takes them to another machine, and `ascpo cache clear` frees the disk.
    """


@dataclass(frozen=True)
class Pack:
    """Write all compiled programs into one file.

    Next: `ascpo cache unpack FILE` on a machine with the same processor and the same JAX.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The file to write, for example programs.tar."""


@dataclass(frozen=True)
class Unpack:
    """Read programs that `ascpo cache pack` wrote on a machine with the same processor and the same JAX.

    Nothing else needs to be done: trainings find them.
    """

    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """The file to read."""


@dataclass(frozen=True)
class Clear:
    """Delete all compiled programs.

    The next training compiles what it needs again, which takes a minute or less.
    """


def main(words: list[str]) -> None:
    verb, *rest = words or ["--help"]
    match verb:
        case "-h" | "--help":
            below = (
                "The first run of a kind compiles its programs, and later runs reuse them. ASCPO_CACHE=off keeps none."
            )
            print(verbs_help("cache", "Compiled programs that are kept on disk.", _VERBS, below))
        case "show":
            parsed(Show, rest, "ascpo cache show")
            print(described(_directory()))
        case "pack":
            file = parsed(Pack, rest, "ascpo cache pack").file
            from ascpo.runs.compilation import pack_programs

            print(f"{pack_programs(_directory(), file)} programs are in {file} ({_megabytes(file)}).")
        case "unpack":
            file = parsed(Unpack, rest, "ascpo cache unpack").file
            from ascpo.runs.compilation import unpack_programs

            print(f"{unpack_programs(file, _directory())} programs are new here. {described(_directory())}")
        case "clear":
            parsed(Clear, rest, "ascpo cache clear")
            from ascpo.runs.compilation import compiled_kernels, compiled_programs

            programs = compiled_programs(_directory())
            for file in programs + compiled_kernels(_directory()):
                file.unlink(missing_ok=True)
            print(f"{len(programs)} programs were deleted.")
        case _:
            raise no_verb("cache", verb, _VERBS)


def described(directory: Path) -> str:
    """A sentence about a directory of compiled programs."""
    from ascpo.runs.compilation import compiled_kernels, compiled_programs

    programs, kernels = compiled_programs(directory), compiled_kernels(directory)
    of_warp = f" and {len({file.parent for file in kernels})} of Warp's kernels" if kernels else ""
    return f"{directory} holds {len(programs)} compiled programs{of_warp} ({_megabytes(*programs, *kernels)})."


def _directory() -> Path:
    from ascpo.runs.compilation import cache_directory

    place = cache_directory()
    if place is None:
        raise BadSetting("There is no cache of compiled programs, because ASCPO_CACHE is off. Unset that variable.")
    return place


def _megabytes(*files: Path) -> str:
    return f"{sum(file.stat().st_size for file in files) / 1e6:.1f} MB"
