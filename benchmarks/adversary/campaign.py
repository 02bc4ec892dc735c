"""The campaign: plans all tries, gives them to processes side by side, and prints the counts."""

import argparse
import csv
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import astuple, fields
from functools import partial
from pathlib import Path

import benchmarks.adversary as described
from ascpo.cli.printable import printable
from benchmarks.adversary import corruptions, faults, hostile, subject
from benchmarks.adversary.outcome import BAD, Answer, Try, table
from benchmarks.adversary.workshop import build_shim, prepare

PARTS = ("faults", "corruptions", "hostile")
Task = Callable[[Path], list[Try]]


def _begin(root: Path) -> None:
    """In each process: import everything."""
    prepare(root / "cache")


def _place(root: Path) -> Path:
    """A place of this process's own."""
    return root / f"process{os.getpid()}"


def _make(run: Path, seed: int) -> None:
    subject.make(run, seed)


def _fault_references(run: Path, root: Path) -> dict[str, Answer]:
    return faults.references(run, _place(root))


def _corruption_references(run: Path, root: Path) -> dict[str, Answer]:
    return corruptions.references(run, _place(root))


def _fault(root: Path, run: Path, expected: dict[str, Answer], one: faults.DiskFault) -> list[Try]:
    return [faults.attempt(one, run, expected, _place(root))]


def _corruption(
    root: Path, run: Path, stranger: Path, expected: dict[str, Answer], one: corruptions.Corruption
) -> list[Try]:
    return list(corruptions.attempt(one, run, stranger, expected, _place(root)))


def _hostile(root: Path, run: Path, words: list[str]) -> list[Try]:
    return [hostile.attempt(words, run, _place(root))]


def campaign(pool: Executor, root: Path, args: argparse.Namespace) -> Iterator[Try]:
    """All tries of the parts that were asked for, as they end."""
    run, stranger = root / "subject" / "a", root / "stranger" / "a"
    list(pool.map(_make, (run, stranger), (0, 1)))
    work: list[tuple[Callable[..., list[Try]], object]] = []
    if "faults" in args.only:
        expected = pool.submit(_fault_references, run, root).result()
        counts = {job: answer.operations for job, answer in expected.items()}
        print(f"Operations on files: {counts}", file=sys.stderr)
        task = partial(_fault, root, run, expected)
        work += [(task, one) for one in faults.plan(args.faults, args.seed, counts)]
    if "corruptions" in args.only:
        expected, again = pool.map(_corruption_references, (run, run), (root, root))
        _same(expected, again)
        task = partial(_corruption, root, run, stranger, expected)
        work += [(task, one) for one in corruptions.plan(args.copies, args.seed, run)]
    if "hostile" in args.only:
        work += [(partial(_hostile, root, run), words) for words in hostile.plan(args.inputs, args.seed)]
    random.Random(args.seed).shuffle(work)
    end = time.monotonic() + 60.0 * args.minutes
    for number, done in enumerate(as_completed([pool.submit(*task) for task in work]), 1):
        print(f"\r{number} of {len(work)}", end="", file=sys.stderr, flush=True)
        yield from done.result()
        if time.monotonic() > end:
            print(f"\nThe time is over: {len(work) - number} tries were not begun.", file=sys.stderr)
            break
    pool.shutdown(cancel_futures=True)
    print(file=sys.stderr)


def _same(one: dict[str, Answer], other: dict[str, Answer]) -> None:
    """Stop where a command answers differently by itself: such an answer shows nothing."""
    differing = []
    for verb in one:
        first, second = (f"{found[verb].said}\n{found[verb].product}".splitlines() for found in (one, other))
        if lines := set(first) ^ set(second):
            differing.append(f"{verb} answers differently each time: {sorted(lines)[:4]}")
    if differing:
        sys.exit("\n".join(differing))


def main() -> None:
    parser = argparse.ArgumentParser(description=described.__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--faults", type=int, default=240, help="faults while commands work")
    parser.add_argument("--copies", type=int, default=180, help="damaged copies of a run, read by up to eight verbs")
    parser.add_argument("--inputs", type=int, default=200, help="hostile inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--minutes", type=float, default=1e6, help="end after so many minutes, with what was tried by then"
    )
    parser.add_argument("--csv", type=Path, help="where every try is written")
    args = parser.parse_args()
    began, tries = time.monotonic(), []
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve()
        os.environ["LD_PRELOAD"] = str(build_shim(root))
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(args.jobs, context, _begin, (root,)) as pool:
            for one in campaign(pool, root, args):
                tries.append(one)
                if one.outcome in BAD:
                    print(f"\r{one.outcome}: {one.part}: {one.what}: {one.detail}", flush=True)
    if args.csv:
        with args.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([field.name for field in fields(Try)])
            writer.writerows([printable(str(text)) for text in astuple(one)] for one in tries)
    print(f"\n{table(tries)}\n\nSeed {args.seed}, {time.monotonic() - began:.0f} s, {args.jobs} processes.")
    sys.exit(any(one.outcome in BAD for one in tries))
