"""Two reference pages: every command with its flags, and every public name of the package with its signature."""

import dataclasses
import inspect
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from field_tables import docstrings, tables

import ascpo
from ascpo.api.certification import Certification
from ascpo.api.comparison import RunComparison
from ascpo.api.evaluation import Evaluation
from ascpo.cli import (
    cache,
    certify,
    check,
    completion,
    doctor,
    evaluate,
    export,
    hosts,
    journal,
    new_env,
    paper,
    replay,
    report,
    sweep,
    train,
    tune,
    video,
    watch,
    zoo,
)
from ascpo.cli import list as list_
from ascpo.report import written
from ascpo.runs.api import Result
from ascpo.runs.trained_policy import TrainedPolicy

_RETURNED = (Result, Evaluation, Certification, written.Report, RunComparison, TrainedPolicy)

_VERBS: dict[str, dict[str, type]] = {
    "evaluate": {"": evaluate.Evaluate},
    "certify": {"": certify.Certify},
    "report": {"": report.Report},
    "journal": {"": journal.Journal},
    "replay": {"": replay.ReplayVerb},
    "video": {"": video.Video},
    "watch": {"": watch.WatchVerb},
    "export": {"": export.Export},
    "sweep": {"": sweep.Sweep, "status": sweep.Status, "stop": sweep.Stop, "resume": sweep.Resume},
    "hosts": {"": hosts.Hosts},
    "tune": {"": tune.Tune},
    "paper": {"list": paper.List, "run": paper.Run, "show": paper.Show, "pack": paper.Pack, "unpack": paper.Unpack},
    "zoo": {"list": zoo.List, "show": zoo.Show},
    "check": {"": check.Check},
    "new-env": {"": new_env.NewEnv},
    "cache": {"show": cache.Show, "pack": cache.Pack, "unpack": cache.Unpack, "clear": cache.Clear},
    "doctor": {"": doctor.Doctor},
    "completion": {"": completion.Completion},
    "list": {"": list_.List},
}


def command_page(note: str) -> str:
    """Every command, what it is for, and its flags."""
    parts = [
        "# The command line",
        note,
        "`ascpo COMMAND --help` prints the same text. [Exit statuses](../exit-status.md) says how commands end.",
        "## ascpo train",
        _text(train.Train).replace("The settings below", "[The settings](../settings.md)"),
    ]
    for command, kinds in _VERBS.items():
        parts += [f"## ascpo {command}"]
        for verb, kind in kinds.items():
            parts += [f"### ascpo {command} {verb}"] if len(kinds) > 1 and verb else []
            parts += [_text(kind), *tables(kind)]
    return "\n\n".join(parts) + "\n"


def python_page(note: str) -> str:
    """Every name of `ascpo.__all__`, and what the functions return."""
    parts = [
        "# The Python interface",
        note,
        "`import ascpo` gives these names. They keep their meaning within a major version: see "
        "[versions](../versioning.md). Everything else may change at any time.",
    ]
    for name in (name for name in ascpo.__all__ if name != "PAPER_SUITES"):
        parts += _entry(f"ascpo.{name}", getattr(ascpo, name))
    parts += ["## ascpo.PAPER_SUITES", "The names of the paper's suites: " + _names(ascpo.PAPER_SUITES)]
    parts += [
        "## What they return",
        "`train` and `resume` return a `Result`, and `train_many` a list of them. `evaluate` returns an `Evaluation`, "
        "`certify` a `Certification`, `report` a `Report`, `compare` a `RunComparison`, and `load` a `TrainedPolicy`.",
    ]
    for kind in _RETURNED:
        parts += [f"### {kind.__name__}", _text(kind), *_members(kind)]
    return "\n\n".join(parts) + "\n"


def _entry(title: str, thing: Callable[..., Any]) -> list[str]:
    if thing is ascpo.callbacks:
        return [f"## {title}", *_callbacks()]
    if thing is ascpo.report:  # The package is callable, and the function in it has the docstring.
        thing = written.report
    if thing.__name__ != title.removeprefix("ascpo."):
        return [f"## {title}", f"Another name of `ascpo.{thing.__name__}`."]
    if isinstance(thing, type) and getattr(thing, "_is_protocol", False):
        return [f"## {title}", _text(thing), *_members(thing)]
    return [f"## {title}", f"```text\n{title}{_signature(thing)}\n```", _text(thing)]


def _callbacks() -> list[str]:
    """The classes of `ascpo.callbacks`."""
    parts = ["Callbacks for `train`, `train_many` and `resume`. [Callbacks](../add-a-callback.md) has examples."]
    for name in ascpo.callbacks.__all__:
        kind: type = getattr(ascpo.callbacks, name)
        made = f"```text\nascpo.callbacks.{name}{_signature(kind)}\n```"
        is_read = dataclasses.is_dataclass(kind) or getattr(kind, "_is_protocol", False)
        parts += [f"### {name}", _text(kind), *(_members(kind) if is_read else [made])]
    return parts


def _members(kind: type) -> list[str]:
    """The fields, and the public methods and properties of a class."""
    told = docstrings(kind) if dataclasses.is_dataclass(kind) else {}
    out = [f"* `{name}`: {text}" if text else f"* `{name}`" for name, text in told.items() if not name.startswith("_")]
    for name, member in vars(kind).items():
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, (property, cached_property))):
            continue
        called = name + _signature(member) if inspect.isfunction(member) else name
        out.append(f"* `{called}`: {_text(member)}" if _text(member) else f"* `{called}`")
    return ["\n".join(out)] if out else []


def _signature(thing: Callable[..., Any]) -> str:
    """Names and defaults, without the types, which are in the code and in every editor."""
    signature = inspect.signature(thing)
    kept = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    kept = [one for one in kept if one.name != "self"]
    return str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty))


def _text(thing: object) -> str:
    """The docstring, its paragraphs as paragraphs."""
    text = inspect.getdoc(thing) or ""
    is_made = dataclasses.is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}(")
    return "" if is_made else re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) + "."
