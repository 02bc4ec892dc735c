"""`ascpo export RUN`: write a policy for programs without this package."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ascpo.cli.parsing import parsed
from ascpo.runs.files import write_whole
from ascpo.runs.places import run_place

_NAMES = {"onnx": "policy.onnx", "numpy": "policy_numpy.py"}


@dataclass(frozen=True)
class Export:
    """Write a run's policy for programs without this package: what it remembers, its networks and its shield.

    The file is policy.onnx or policy_numpy.py in the run's directory, and holds the limits and the certificate of the
    policy, if there is one. Next: docs/how-to/deploy.md shows the control loop that calls it.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run's directory, or a policy's file."""
    format: Literal["onnx", "numpy"] = "onnx"
    """`onnx` is a graph for any ONNX runtime, and needs the package onnx. `numpy` is a Python file that needs NumPy."""
    out: Path | None = None
    """The file to write. The default is policy.onnx or policy_numpy.py in the run's directory."""


def main(words: list[str]) -> None:
    asked = parsed(Export, words, "ascpo export")
    if not asked.run.is_file():
        run_place(asked.run)
    from ascpo.deploy.numpy_file import numpy_source
    from ascpo.deploy.onnx_graph import onnx_content
    from ascpo.deploy.parts import parts_of

    parts = parts_of(asked.run)
    content = onnx_content(parts) if asked.format == "onnx" else numpy_source(parts).encode()
    beside = asked.run if asked.run.is_dir() else asked.run.parent
    out = asked.out or beside / _NAMES[asked.format]
    write_whole(out, content)
    certificate, limits = parts.about["certificate"], ", ".join(f"{limit:g}" for limit in parts.about["limits"])
    print(f"Policy: {out}, {len(content) / 1024:.0f} KiB, limits {limits} ({', '.join(parts.about['cost_names'])})")
    if certificate is None:
        print(f"It has no certificate. To make one before it is exported: ascpo certify {asked.run}")
    else:
        verdict = "certified" if certificate["certified"] else "not certified"
        asking = f"{verdict} for {certificate['probability']:g}, bound {certificate['bound']:.4f}"
        print(f"Its certificate is in the file: {asking}, with confidence {certificate['confidence']:g}.")
        if certificate["actions"] == "sampled":
            print(
                "It is about sampled actions: pass rng (NumPy) or standard normal noise (ONNX) in every step. Without, "
                f"the policy takes mean actions. To certify those: ascpo certify {asked.run} --actions mean"
            )
