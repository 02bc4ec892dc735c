"""Mutation testing of the packages with the mathematics: how many changed signs and numbers do the tests detect?

python -m benchmarks.mutation make --sample 60 --out mutants.json    # needs: pip install cosmic-ray
python -m benchmarks.mutation run mutants.json --jobs 2 --seconds 3600

`make` draws mutants of each package (operators, comparisons, numbers, signs) with cosmic-ray, and leaves out lines
that hold no number. `run` puts each mutant into a copy of the checkout and runs the package's tests until one fails.
It prints the share of mutants that tests detected, and the others, which need a manual check: some do not affect
numbers.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("surrogates", "trust_region", "experience", "training")
OPERATORS = (
    *(
        f"core/ReplaceBinaryOperator_{a}_{b}"
        for a, b in (("Add", "Sub"), ("Sub", "Add"), ("Mul", "Div"), ("Div", "Mul"))
    ),
    *(
        f"core/ReplaceComparisonOperator_{a}_{b}"
        for a, b in (("Lt", "GtE"), ("Gt", "LtE"), ("LtE", "Gt"), ("GtE", "Lt"))
    ),
    "core/ReplaceUnaryOperator_USub_UAdd",
    "core/ReplaceUnaryOperator_Delete_Invert",
    "core/NumberReplacer",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
)
Mutant = dict[str, Any]
_NO_NUMBER = ("@dataclass(frozen=", "strict=", "maxsize=", '"""')
"""Lines in which a change changes no number."""


def make(sample: int, out: Path, seed: int) -> None:
    """Draw so many mutants of each package."""
    from cosmic_ray import plugins  # pyrefly: ignore[missing-import]
    from cosmic_ray.mutating import mutate_code  # pyrefly: ignore[missing-import]

    chosen: list[Mutant] = []
    for package in PACKAGES:
        found: list[Mutant] = []
        for file in sorted((ROOT / "src" / "ascpo" / package).glob("*.py")):
            source = file.read_text()
            for name in OPERATORS:
                operator, i = plugins.get_operator(name)(), 0
                while (text := mutate_code(source.encode(), operator, i)) is not None:
                    text = text if isinstance(text, str) else text.decode()
                    lines = zip(source.splitlines(), text.splitlines(), strict=True)
                    line, (_, now) = next((n, pair) for n, pair in enumerate(lines, 1) if pair[0] != pair[1])
                    place = str(file.relative_to(ROOT))
                    if not any(word in now for word in _NO_NUMBER):
                        found.append(
                            {"package": package, "file": place, "line": line, "now": now.strip(), "text": text}
                        )
                    i += 1
        print(f"{package}: {len(found)} mutants")
        chosen += random.Random(seed).sample(found, min(sample, len(found)))
    random.Random(seed).shuffle(chosen)
    out.write_text(json.dumps(chosen))


def run(mutants: list[Mutant], jobs: int, seconds: float) -> None:
    """Try mutants side by side until the time is over."""
    end, cache = time.monotonic() + seconds, tempfile.mkdtemp()
    tried: list[tuple[Mutant, bool]] = []

    def attempt(mutant: Mutant) -> None:
        if time.monotonic() < end:
            tried.append((mutant, _noticed(mutant, cache)))
            print(f"{len(tried)} {'noticed' if tried[-1][1] else 'SURVIVED'} {_place(mutant)}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        if any(pool.map(lambda package: _noticed({"package": package}, cache), PACKAGES)):
            sys.exit(f"Some tests of {', '.join(PACKAGES)} fail without any mutant.")
        list(pool.map(attempt, mutants))
    print("\n| package | mutants tried | noticed | share |\n|---|---|---|---|")
    for package in (*PACKAGES, "all"):
        mine = [noticed for mutant, noticed in tried if package in ("all", mutant["package"])]
        print(f"| {package} | {len(mine)} | {sum(mine)} | {sum(mine) / max(len(mine), 1):.2f} |")
    print("\nNot noticed:")
    for mutant, noticed in tried:
        if not noticed:
            print(_place(mutant))


def _place(mutant: Mutant) -> str:
    return f"{mutant['file']}:{mutant['line']}: {mutant['now']}"


def _noticed(mutant: Mutant, cache: str) -> bool:
    """Whether a test of the package fails in a copy with the mutant. Without a text, nothing is changed in the copy."""
    with tempfile.TemporaryDirectory() as copy:
        for part in ("src", "tests", "pyproject.toml"):
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, Path(copy) / part)
        Path(copy, ".jax_cache").symlink_to(cache)
        if "text" in mutant:
            Path(copy, mutant["file"]).write_text(mutant["text"])
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
        tests = f"tests/{mutant['package']}"
        path = os.pathsep.join([f"{copy}/src", copy, os.environ.get("PYTHONPATH", "")])
        try:
            env = os.environ | {"PYTHONPATH": path}
            done = subprocess.run([*command, tests], cwd=copy, env=env, capture_output=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("--sample", type=int, default=60, help="mutants of each package")
    making.add_argument("--out", type=Path, default=Path("mutants.json"))
    making.add_argument("--seed", type=int, default=0)
    running = verbs.add_parser("run")
    running.add_argument("mutants", type=Path)
    running.add_argument("--jobs", type=int, default=2)
    running.add_argument("--seconds", type=float, default=3600.0)
    args = parser.parse_args()
    if args.verb == "make":
        make(args.sample, args.out, args.seed)
    else:
        run(json.loads(args.mutants.read_text()), args.jobs, args.seconds)


if __name__ == "__main__":
    main()
