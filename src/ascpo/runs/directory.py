"""A run's directory: its files, and the lock of the process that writes them.

config.json          all settings that decide the numbers
description.json     how the algorithm treats costs, for reports
metrics.csv          a row per epoch; the same bytes for the same config, however often the run was stopped
timing.csv           seconds, a row per epoch
*.csv.sha256         a checksum for each row of these two
checkpoints/         the last two, each with the complete state
policy.safetensors   the final policy of the training
policy-*.safetensors the last policy, and the mean of the last ones
selection.csv        results of the last policies on validation scenes, if one of them was selected
certificate.json     the certificate of the policy, if there is one
certificates.jsonl   the list of all looks at the run for certificates
versions.json        versions of the packages, the interpreter and the machine
"""

import contextlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import filelock

from ascpo.ranges import shown
from ascpo.runs import description
from ascpo.runs.config import Config
from ascpo.runs.files import BadFile, CannotWrite, NoRun, reading, reason_of, write_whole, writing
from ascpo.runs.links import refuse_links
from ascpo.runs.places import run_place
from ascpo.runs.sealed import CHANGEABLE, RENAMED_FIELDS, Sealed, fingerprint_of, read_sealed, write_sealed
from ascpo.runs.serialization import BadSetting, Plain

INCOMING = ".incoming-"
"""The prefix of a temporary directory in which runs are unpacked, beside their places."""
_LONGEST = 200
"""Letters of a run's name. Most file systems take 255."""
_PACKAGES = ("ascpo", "equinox", "gymnasium", "jax", "jaxlib", "mujoco", "numpy", "optax", "orbax-checkpoint")


__all__ = ["BadFile", "NoRun", "RunDirectory", "create", "find", "runs_in", "write_whole"]


class _Inside:
    """The path of a file in a run's directory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: "RunDirectory", _: type) -> Path:
        return run.path / self._name


@dataclass(frozen=True)
class RunDirectory:
    """The directory of a run, with the paths of its files."""

    path: Path
    config_file = _Inside("config.json")
    metrics = _Inside("metrics.csv")
    timing = _Inside("timing.csv")
    checkpoints = _Inside("checkpoints")
    policy = _Inside("policy.safetensors")
    """The final policy: a copy of one of the next two, or another one that was selected."""
    policy_last = _Inside("policy-last.safetensors")
    policy_average = _Inside("policy-average.safetensors")
    selection = _Inside("selection.csv")

    def check_free(self) -> None:
        """Raise an error if the directory holds a run, or cannot be made."""
        for place in (self.path, *self.path.parents):
            if _taken(place):
                raise NoRun(
                    f"{place} is not a directory, so {self.path} cannot be made. Choose another --name or --out."
                )
        if self.config_file.exists():
            raise NoRun(
                f"{self.path} holds a run already. Continue it with --resume {self.path}, or choose another --name or "
                f"--out."
            )

    def config(self) -> Config:
        return config_in(self.config_file)

    def plain_config(self, config: Config) -> Plain:
        """The plain config, in the spelling of the stored one.

        Runs of an earlier version keep their spelling, because checkpoints and certificates hold checksums of it.
        """
        plain = config.plain()
        free = {name: getattr(config, name) for name in CHANGEABLE}
        if not self.config_file.exists() or replace(self.config(), **free) != config:
            return plain
        stored = stored_config(self.config_file).content
        kept = {name: value for name, value in stored.items() if name not in (*CHANGEABLE, *RENAMED_FIELDS)}
        return kept | {name: plain[name] for name in CHANGEABLE if name in plain}

    def write_config(self, plain: Plain) -> None:
        write_sealed(self.config_file, "config", plain, fingerprint_of(plain))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory against other processes. The lock ends with the process."""
        refuse_links(self.path / ".lock")
        try:
            lock = filelock.FileLock(self.path / ".lock").acquire(timeout=0)
        except filelock.Timeout:
            message = f"Another training is writing to {self.path}. Wait for it, stop it, or choose another --out."
            raise NoRun(message) from None
        except OSError as error:
            raise CannotWrite(f"{self.path} could not be locked: {reason_of(error)}.") from error
        with lock:
            yield


def check_name(name: str) -> str:
    """The name, if it is valid for a directory inside --out. Otherwise an error."""
    fine = isinstance(name, str) and name.isprintable() and name.strip() and name not in (".", "..") and name[0] != "~"
    if not fine or {"/", "\\"} & set(name):
        raise BadSetting(
            f"--name {shown(name)} cannot be the name of a directory. Use letters, digits and signs other than / and "
            f"\\, and no ~ at the beginning. --out says where the directory is created."
        )
    if len(name.encode(errors="surrogatepass")) > _LONGEST:
        raise BadSetting(f"--name {shown(name)} is too long. Use at most {_LONGEST} letters.")
    return name


def free_directories(out: Path, names: Sequence[str]) -> list[RunDirectory]:
    """Directories for new runs, if all of them can be made and hold no run yet."""
    if len(set(names)) < len(names):
        raise BadSetting(f"{next(name for name in names if names.count(name) > 1)} is given twice.")
    found = [RunDirectory(out / check_name(name)) for name in names]
    for directory in found:
        directory.check_free()
    return found


def _taken(place: Path) -> bool:
    """Whether the path exists and is not a directory."""
    try:
        place.lstat()  # From Python 3.14 on, `exists` is False for paths that the system refuses, too.
        return not place.is_dir()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise NoRun(f"{shown(str(place))} cannot be used as a directory: {why}. Choose another --out.") from None


def create(out: Path, config: Config, name: str | None = None) -> RunDirectory:
    directory = RunDirectory(out / (name or config.name()))
    directory.check_free()
    plain = config.plain()
    with writing(directory.path):
        directory.path.mkdir(parents=True, exist_ok=True)
    run = fingerprint_of(plain)
    write_sealed(directory.path / "versions.json", "versions", dict(_versions()), run)
    description.write(directory.path, description.describe(config), run)
    directory.write_config(plain)
    return directory


def stored_config(file: Path) -> Sealed:
    """The plain data of a config.json, without migration."""
    return read_sealed(file, "config")


def config_in(file: Path) -> Config:
    """The config of a config.json. An error names the file."""
    plain = stored_config(file).content
    with reading(file, "cannot be used"):
        return Config.from_plain(plain)


def find(path: Path) -> RunDirectory:
    """The directory of an existing run."""
    return RunDirectory(run_place(path))


def runs_in(directory: Path) -> list[RunDirectory]:
    """The runs below a directory, without those that were being unpacked when their process was killed."""
    found = (file.parent for file in sorted(directory.glob("**/config.json")))
    return [RunDirectory(run) for run in found if not _is_incoming(run.relative_to(directory))]


def _is_incoming(place: Path) -> bool:
    return any(part.startswith(INCOMING) for part in place.parts)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.platform()}
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
