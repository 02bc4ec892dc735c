"""The run that is attacked: small, of an environment of one's own, with evaluation, certificate and report."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.adversary.outcome import Answer
from benchmarks.adversary.workshop import Fault, call

ENV = "benchmarks.adversary.environments:make"
MINE = ["--env", ENV]
"""The code that a run names runs only if it is named again."""
EPOCH, EPOCHS = 100, 3
SMALL = """--num-envs 4 --horizon 25 --hidden 8 8 --value-fit.iterations 4 --value-fit.batch-size 32
--cost-fit.iterations 4 --cost-fit.batch-size 32 --cost-fit.window 3 --checkpoint-every 0""".split()  # noqa: SIM905
TRAIN = ["train", "--env", ENV, "--evaluate", "0", "--total-steps", str(EPOCHS * EPOCH), *SMALL]


def verbs(run: Path) -> dict[str, list[str]]:
    """Every verb that reads a run. Those that write come last."""
    here, scratch = str(run), str(run.parent / "page")
    certain = ["--probability", "0.01", "--episodes", "20"]
    further = ["--total-steps", str((EPOCHS + 1) * EPOCH), "--evaluate", "0"]
    return {
        "list": ["list", "runs", str(run.parent)],
        "journal": ["journal", here],
        "report": ["report", here, "--out", scratch],
        "replay": ["replay", here, "--no-open", "--port", "0", *MINE],
        "check": ["certify", "--check", here, *MINE],
        "evaluate": ["evaluate", here, "--episodes", "6", *MINE],
        "certify": ["certify", here, *certain, *MINE],
        "resume": ["train", "--resume", here, *further, *MINE],
    }


PRODUCTS = {
    "report": ("../page/index.html",),
    "evaluate": ("evaluation.json", "episodes-sampled.csv"),
    "certify": ("certificate.json",),
    "train": ("metrics.csv", "policy.safetensors"),
    "resume": ("metrics.csv", "policy.safetensors"),
}
"""The files that a verb is for."""


def run_verb(verb: str, words: Sequence[str], run: Path, fault: Fault | None = None) -> Answer:
    """Run a verb on a run, with what it leaves. Places and times, which are never the same, are taken out."""
    found = call(words, fault)
    files = [run / name for name in PRODUCTS.get(verb, ())]
    product = "\n".join(_content(file) for file in files)
    return replace(
        found, said=_plain(found.said, run), complained=_plain(found.complained, run), product=_plain(product, run)
    )


def _content(file: Path) -> str:
    return file.read_bytes().decode("latin-1") if file.is_file() else f"{file.name} is not there"


_TIMES = re.compile(
    r"\d+(\.\d+)?( ms| s\b| min\b| h\b| seconds)|\d[\d,]* steps/s|steps/s +[\d,]+|\d+:\d\d left"
    r"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?|Made on [^.]* UTC|http://127\.0\.0\.1:\S+"
)


def _plain(text: str, run: Path) -> str:
    return _TIMES.sub("…", text.replace(str(run), "RUN").replace(str(run.parent), "OUT"))


def make(run: Path, seed: int) -> None:
    """Train, evaluate, certify, report."""
    words = [*TRAIN, "--seed", str(seed), "--out", str(run.parent), "--name", run.name]
    commands = [words, *(verbs(run)[verb] for verb in ("evaluate", "certify"))]
    for command in commands:
        if (found := call(command)).status != 0:
            raise RuntimeError(f"{command[0]} failed on the undamaged run: {found.complained}")


def copy(run: Path, to: Path) -> Path:
    """A copy at a place of its own."""
    shutil.rmtree(to.parent, ignore_errors=True)
    shutil.copytree(run, to)
    return to
