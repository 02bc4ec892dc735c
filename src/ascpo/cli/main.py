"""`ascpo`: the commands. Each is imported when it is called, so that help appears at once.

docs/exit-status.md has the table of the exit statuses.
"""

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn, TypeAlias

from ascpo.cli.hints import refuse_foreign, refuse_mistyped
from ascpo.cli.opengl import opengl_advice
from ascpo.cli.output import lasting_output
from ascpo.cli.printable import printable
from ascpo.cli.usage import WrongUsage
from ascpo.runs.stopping import Stopped, stop
from ascpo.runs.zoo import in_place

COMMANDS = {
    "train": "train a policy, or continue a run",
    "evaluate": "evaluate a run's policy on fresh episodes",
    "certify": "bound the probability that a policy stays within its limits, or repeat a certificate",
    "report": "write a page with the curves, distributions and settings of one or several runs",
    "watch": "show the curves of runs in the browser while they train",
    "journal": "describe what the optimiser did, epoch by epoch",
    "replay": "play the worst episodes in the browser",
    "video": "make a video of a bad episode",
    "export": "write a policy for other programs: an ONNX graph, or a file that needs NumPy alone",
    "sweep": "train a grid of environments, algorithms, settings and seeds, on this machine or on a cluster",
    "hosts": "train one policy on the accelerators of several machines",
    "tune": "search for settings with a larger return that keep the limits",
    "zoo": "list trained policies that come with the package, or describe one",
    "paper": "reproduce the paper's tables and figures",
    "check": "test whether an environment can be trained on",
    "new-env": "write a template of your own environment, and its test",
    "cache": "show, pack, unpack or delete the compiled programs that are kept on disk",
    "doctor": "check this machine, and train for a few seconds",
    "list": "list algorithms, suites or runs",
    "completion": "print a script with which your shell completes commands and flags",
}
TRACEBACK = "ASCPO_TRACEBACK"
"""If this environment variable is set, errors also show their traceback."""
Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None
_OURS = ("ascpo", "tyro", "argparse", "wandb")
"""Packages that may end this program with their own exit status. The last one wraps `sys.exit`."""


def program() -> NoReturn:
    """Run the command line as a program. After a signal it exits without Python's cleanup.

    During that cleanup, threads of JAX that still compile would crash.
    """
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
        if status not in (128 + signal.SIGINT, 128 + signal.SIGTERM):
            raise
    if isinstance(status, int) and status:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status)
    sys.exit(0)


def main() -> None:
    """Run the command line. Errors that the user can correct are printed as one sentence."""
    command, *rest = sys.argv[1:] or ["--help"]
    with lasting_output():
        if command in ("-h", "--help", "help"):
            print(_help())
        elif command in ("--version", "version"):
            from importlib.metadata import version

            print(version("ascpo"))
        elif command in COMMANDS:
            _run(command, rest)
        else:
            from ascpo.errors import nearest
            from ascpo.ranges import shown

            advice = "`ascpo --help` describes all commands."
            _end(f"ascpo: there is no command {shown(command)}. {nearest(command, COMMANDS)}\n{advice}", 2)


def _run(command: str, rest: list[str]) -> None:
    before = _answer_signals(stop)
    try:
        if command == "train":
            refuse_foreign(rest)
            refuse_mistyped(rest)
        import_module(f"ascpo.cli.{command.replace('-', '_')}").main([in_place(word) for word in rest])
        # Here and not at exit, where a full disk would not be reported as an error.
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt as stopped:
        before = _leave_at_once(before)
        _stopped(command, stopped)
    except SystemExit as end:
        if _last_module(end).partition(".")[0] in _OURS:
            raise
        _fail(command, end, f"{_last_module(end)} ended the program by itself (SystemExit: {end.code}).")
    except WrongUsage as wrong:
        _end(f"ascpo {command}: {wrong}", 2)
    except Exception as error:
        if (interrupt := _interrupt_of(error)) is not None:
            before = _leave_at_once(before)
            _stopped(command, interrupt)
        if (advice := opengl_advice(error)) is not None:
            _fail(command, error, advice)
        if not _is_mendable(error):
            raise
        _fail(command, error, str(error))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_mendable(error: Exception) -> bool:
    """Whether the error's text says what to do. Most such errors are known without importing JAX."""
    if isinstance(error, (ValueError, OSError)):
        return True
    from ascpo.runs.errors import MENDABLE

    return isinstance(error, MENDABLE)


def _answer_signals(handler: Handler) -> Mapping[signal.Signals, Handler]:
    """Handle Ctrl-C and SIGTERM. Returns the earlier handlers, without those of ignored signals (nohup)."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    answered = {number: one for number, one in before.items() if one not in (signal.SIG_IGN, None)}
    for number in answered:
        signal.signal(number, handler)
    return answered


def _stopped(command: str, interrupt: KeyboardInterrupt) -> NoReturn:
    number = interrupt.number if isinstance(interrupt, Stopped) else signal.SIGINT
    _end(f"ascpo {command}: stopped by {signal.Signals(number).name}.", 128 + number)


def _leave_at_once(answered: Mapping[signal.Signals, Handler]) -> Mapping[signal.Signals, Handler]:
    """Handlers that exit at once, for a user who presses Ctrl-C again."""
    return dict.fromkeys(answered, lambda number, _: os._exit(128 + number))


def _interrupt_of(error: BaseException | None) -> KeyboardInterrupt | None:
    """The interrupt that led to an error. During an import, a library turns it into an ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error


def _fail(command: str, error: BaseException, sentence: str) -> NoReturn:
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    elif error.__cause__ is not None:
        sentence += f" ({TRACEBACK}=1 shows the traceback.)"
    _end(f"ascpo {command}: {sentence}", 1)


def _end(sentence: str, status: int) -> NoReturn:
    sentence = printable(sentence)
    print(sentence, file=sys.stderr)
    end = SystemExit(sentence)
    end.code = status
    raise end


def _last_module(error: BaseException) -> str:
    """The module that raised the error."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__", "?"))


def _help() -> str:
    commands = "\n".join(f"  {name:<10} {what}" for name, what in COMMANDS.items())
    return (
        "Policies that keep every state of an episode within its cost limit, with high probability.\n\n"
        f"usage: ascpo COMMAND ...\n\n{commands}\n\n"
        "  ascpo train --env Point-8-Hazard --algo ascpo --seed 0 --total-steps 6e6 --out runs\n\n"
        "`ascpo COMMAND --help` describes all flags of a command."
    )


if __name__ == "__main__":
    program()
