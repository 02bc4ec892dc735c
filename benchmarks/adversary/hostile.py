"""Hostile input: numbers that are none, sizes that no machine has, names that lead elsewhere. All is refused.

Code that `--env module:factory` names on the command line is called: naming it there is consent (docs/trust.md). So
nothing is tried whose call does harm or never ends.
"""

import random
import shutil
import time
from pathlib import Path

from benchmarks.adversary.outcome import Try, last_line
from benchmarks.adversary.subject import ENV, copy, run_verb

_SECONDS = 20.0
"""A refusal that takes longer came after work had begun."""
_NUMBERS = """--gamma --num-envs --horizon --seed --total-steps --checkpoint-every --probability --margin --limits
--hidden --value-fit.learning-rate --value-fit.iterations --value-fit.batch-size --cost-fit.learning-rate
--cost-fit.window
--trust-region.delta --trust-region.damping --trust-region.cg-iterations --target.gain --target.episodes --log-std
--discount --gae-lambda --cost-gae-lambda --output-bias --threads --evaluate""".split()  # noqa: SIM905
_NO_NUMBERS = ("nan", "inf", "-inf", "-1", "1e30", "text", "", "0x10", "١٢", "1;rm")
_FINE = (
    ("--output-bias", "-1"),
    *((flag, "1e30") for flag in ("--limits", "--trust-region.delta", "--trust-region.damping")),
)
"""Pairs of them that are sensible, or large in a range without an end."""
_TRAINING = """Point-999999999-Hazard|Point-0-Hazard|Point-8-Hazard+999999-Pillar|Point--1-Hazard|Point-8-Hazard-v9
Point-8|../x|/etc/passwd|os:system|nowhere:make|no.such.module:make|tests.own:nothing|tests.own|a:b:c
Pendulum-v99|Point-8-Hazard\x00|Pоint-8-Hazard|[bold]Point[/bold]|{0.__class__}|%s%n|$(reboot)""".replace(
    "\n", "|"
).split("|")
_NAMES = ("../x", "/absolute", "a/b", "", ".", "..", "a\nb", "a\x00b", "x" * 300, "-rf", "~")
_BOMBS = (
    ["--num-envs", "10000000"],
    ["--num-envs", "100000000000000000000"],
    ["--horizon", "1000000000000"],
    ["--hidden", "1000000000"],
    ["--hidden", *["64"] * 20000],
    ["--cost-fit.window", "1000000000"],
    ["--seeds", "0..1000000"],
    ["--seeds", "5..1"],
    ["--seeds", "0..x"],
    ["--evaluate", "100000000000"],
    ["--total-steps", "1e300"],
)
_OTHERS = (
    ["evaluate", "RUN", "--episodes", "0"],
    ["evaluate", "RUN", "--episodes", "-5"],
    ["evaluate", "RUN", "--episodes", "nan"],
    ["evaluate", "RUN", "--episodes", "1000000000000"],
    ["evaluate", "RUN", "--seed", "-1"],
    ["evaluate", "/dev/null"],
    ["evaluate", "/proc/self/mem"],
    ["certify", "RUN", "--limits", "nan"],
    ["certify", "RUN", "--limits", "inf"],
    ["certify", "RUN", "--probability", "nan"],
    ["certify", "RUN", "--probability", "1"],
    ["certify", "RUN", "--probability", "2"],
    ["certify", "RUN", "--confidence", "nan"],
    ["certify", "RUN", "--confidence", "-1"],
    ["certify", "RUN", "--episodes", "1000000000000"],
    ["certify", "RUN", "--episodes", "1"],
    ["certify", "RUN", "--looks", "100"],
    ["certify", "RUN", "RUN"],
    ["certify", "--check", "/dev/null"],
    ["certify", "--check", "/nowhere"],
    ["replay", "RUN", "--port", "-1"],
    ["replay", "RUN", "--port", "99999"],
    ["replay", "/nowhere"],
    ["video", "/nowhere"],
    ["report", "/nowhere"],
    ["report"],
    ["report", "RUN", "--out", "/dev/null"],
    ["report", "RUN", "--out", "/proc/x"],
    ["journal", "/nowhere"],
    ["journal", "/dev/zero"],
    ["list", "nothing"],
    ["list", "runs", "/nowhere"],
    ["check", "os:system"],
    ["check", "nowhere:make"],
    ["paper", "run", "nothing"],
    ["paper", "run", "q1", "--scale", "nan"],
    ["paper", "run", "q1", "--scale", "-1"],
    ["paper", "run", "q1", "--jobs", "0"],
    ["paper", "run", "q1", "--seeds", "-1"],
    ["paper", "run", "q1", "--set", "nothing"],
    ["paper", "run", "q1", "--set", "delta=nan"],
    ["paper", "run", "q1", "--suites", "Point-999999999-Hazard"],
    ["train", "--resume", "/nowhere"],
    ["train", "--resume", "/dev/null"],
    ["train", "--resume", "RUN", "--env", "Point-8-Hazard", "--hidden", "9"],
    ["train", "--algo", "nothing"],
    ["train", "--preset", "nothing"],
    ["train", "--engine", "nothing"],
    ["trian"],
    ["train", "--nothing", "1"],
)


def plan(count: int, seed: int) -> list[list[str]]:
    """All inputs that are written down here, and as many pairs of a setting and a wrong value as are left."""
    common = ["train", "--env", ENV, "--total-steps", "100", "--out", "OUT"]
    fixed = [
        *(["train", "--env", name, "--total-steps", "100", "--out", "OUT"] for name in _TRAINING),
        *([*common, "--name", name] for name in _NAMES),
        *([*common, *bomb] for bomb in _BOMBS),
        *([*common[:-1], place] for place in ("/dev/null", "/proc/x", "")),
        *(list(words) for words in _OTHERS),
    ]
    pairs = [[*common, flag, value] for flag in _NUMBERS for value in _NO_NUMBERS if (flag, value) not in _FINE]
    rng = random.Random(seed)
    rng.shuffle(pairs)
    if count < len(fixed):
        return rng.sample(fixed, count)
    return fixed + pairs[: count - len(fixed)]


def attempt(words: list[str], subject: Path, place: Path) -> Try:
    """Refused means: a status above 0, a sentence, soon, and nothing is left on the disk."""
    run = copy(subject, place / "runs" / "a")
    out = place / "out"
    shutil.rmtree(out, ignore_errors=True)
    typed = [word.replace("RUN", str(run)).replace("OUT", str(out)) for word in words]
    began = time.monotonic()
    found = run_verb("", typed, run)
    seconds = time.monotonic() - began
    what = " ".join(words)[:150]
    if found.status == 2 and "usage" not in found.complained and len(found.complained.splitlines()) > 3:
        found = type(found)(found.status, found.said, found.complained.strip().splitlines()[-2])
    if found.broke:
        return Try("hostile input", what, "traceback", last_line(found))
    if not found.refused:
        return Try("hostile input", what, "silent", "It was accepted.")
    left = out.exists() and any(out.iterdir())
    if left or seconds > _SECONDS:
        late = "It left files behind" if left else f"It took {seconds:.0f} s"
        return Try("hostile input", what, "silent", f"{late}: {last_line(found)}")
    return Try("hostile input", what, "sentence", last_line(found))
