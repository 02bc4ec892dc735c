"""Copies of an environment, each in its own process. A process that dies or hangs is reported, and can be replaced.

Ctrl-C reaches all processes of a group. Copies ignore it, because the training process stops them. They end on SIGTERM,
and when the other end of their pipe is closed.
"""

import contextlib
import multiprocessing
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

import numpy as np
from gymnasium.vector.utils import CloudpickleWrapper

from ascpo.engines.gymnasium.checked import CheckedEnv, Expected, Fault, Observation, Step, attempt
from ascpo.engines.gymnasium.errors import InItsProcess, Unsuitable
from ascpo.engines.gymnasium.inspection import EnvInspection, inspect
from ascpo.engines.gymnasium.naming import MakeEnv
from ascpo.engines.settings import STEP_TIMEOUT

T = TypeVar("T")
_SLOWER, _AT_LEAST = 10, 60.0
"""The timeout of a reset, and of making a copy: this multiple of a step's timeout, and at least these seconds."""
_GOODBYE = 5.0
"""Timeout for closing all copies, in seconds."""
_GONE = (EOFError, OSError)
"""Exceptions of a pipe whose other end is closed."""
INSPECTION = "inspection"
"""The name of the process of an inspection."""
_MADE, _CLOSED = "made", "closed"

_CANNOT_BE_MADE = (
    "It could not be made in its own process; its output is above. Its function must be importable there: "
    "define it in a module, and start a script's work behind if __name__ == '__main__'. Or do without processes."
)


def inspect_apart(make: MakeEnv) -> EnvInspection:
    """As `inspect`, in a process of its own, so that an environment that crashes does not end this one."""
    copy = _Copy(_inspect, make, name=INSPECTION)
    try:
        found = copy.receive(float("inf"), "the inspection")
    finally:
        copy.kill()
    if isinstance(found, EnvInspection):
        return found
    if isinstance(found, Fault):
        raise Unsuitable(found.sentence)
    faults, cause = found
    raise Unsuitable(*faults) from cause


class SubprocessCopies:
    """Copies, each in a process of its own."""

    def __init__(self, make: MakeEnv, num_envs: int, expected: Expected, step_timeout: float = STEP_TIMEOUT) -> None:
        self._step_timeout, self._reset_timeout = step_timeout, max(_SLOWER * step_timeout, _AT_LEAST)
        self._start = partial(_Copy, _serve, make, expected)
        self._copies: list[_Copy] = []
        try:
            # All processes start in parallel.
            for _ in range(num_envs):
                self._copies.append(self._start())
            made = {env: copy.receive(self._reset_timeout, "Making it") for env, copy in enumerate(self._copies)}
        except BaseException:
            self.close()
            raise
        self.unmade = {env: found for env, found in made.items() if isinstance(found, Fault)}
        """Copies that could not be made."""

    def reset(self, seeds: Mapping[int, int]) -> dict[int, Observation | Fault]:
        return self._ask("reset", seeds, self._reset_timeout)

    def step(self, actions: Mapping[int, np.ndarray]) -> dict[int, Step | Fault]:
        return self._ask("step", actions, self._step_timeout)

    def restart(self, env: int) -> Fault | None:
        self._copies[env].kill()
        self._copies[env] = self._start()
        found = self._copies[env].receive(self._reset_timeout, "Making it")
        return found if isinstance(found, Fault) else None

    def close(self) -> dict[int, Fault]:
        end, found = time.monotonic() + _GOODBYE, {}
        try:
            for copy in self._copies:
                copy.send("close", None)
            for env, copy in enumerate(self._copies):
                if isinstance(said := copy.say_goodbye(end), Fault):
                    found[env] = said
        finally:
            for copy in self._copies:
                copy.kill()
        return found

    def _ask(self, method: str, arguments: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        for env, argument in arguments.items():
            self._copies[env].send(method, argument)
        end = time.monotonic() + seconds
        return {env: self._copies[env].receive(max(0.0, end - time.monotonic()), method, seconds) for env in arguments}


class _Copy:
    """A process with one copy, as the training process sees it."""

    def __init__(self, serve: Callable[..., None], make: MakeEnv, *arguments: object, name: str | None = None) -> None:
        # A forked process may wait forever for JAX's threads.
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=serve, args=(far, CloudpickleWrapper(make), *arguments), name=name, daemon=True
        )
        try:
            with _without_interrupts():
                self._process.start()
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise ValueError(f"{_CANNOT_BE_MADE} ({error})") from error
        finally:
            far.close()

    def send(self, method: str, argument: object) -> None:
        # If the process has died, `receive` reports it.
        with contextlib.suppress(*_GONE):
            self._pipe.send((method, argument))

    def receive(self, seconds: float, method: str, limit: float = 0.0) -> Any:
        """The answer, or a fault if there is none."""
        try:
            if not self._pipe.poll(None if seconds == float("inf") else seconds):
                self.kill()
                return Fault(f"{method} has not returned after {limit or seconds:g} s (--step-timeout).", dead=True)
            return self._pipe.recv()
        except _GONE:
            return self._death(method)

    def say_goodbye(self, end: float) -> Fault | None:
        """The answer to `close`, after earlier answers that nobody has read."""
        try:
            while self._pipe.poll(max(0.0, end - time.monotonic())):
                answer = self._pipe.recv()
                if isinstance(answer, tuple) and len(answer) == 2 and answer[0] == _CLOSED:
                    return answer[1]
        except _GONE:
            pass  # It has died before, which `receive` has reported.
        return None

    def kill(self) -> None:
        self._pipe.close()
        self._process.join(0.2)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _death(self, method: str) -> Fault:
        self._process.join(1.0)
        code = self._process.exitcode
        if code is not None and -code in (signal.SIGTERM, signal.SIGINT):
            # If all processes are being stopped, this one gets its own signal in a moment.
            time.sleep(1.0)
        if method in ("Making it", "the inspection") and code == 1:
            return Fault(_CANNOT_BE_MADE)
        return Fault(f"Its process died during {method.lower()}: {_reason(code)}.", dead=True)


def _reason(code: int | None) -> str:
    if code is None or code >= 0:
        return f"it ended itself with exit code {code}" if code is not None else "it closed its pipe"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
    return f"{name} ended it{hint}"


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C in a new process until it has set its handler."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The first process would also start the resource tracker, which unblocks interrupts.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _inspect(pipe: Connection, make: CloudpickleWrapper) -> None:
    """Run an inspection in its process."""
    _leave_interrupts_alone()
    try:
        found = inspect(make.fn)
    except Unsuitable as unsuitable:
        found = unsuitable.faults, _as_text(unsuitable.__cause__)
    with contextlib.suppress(*_GONE):
        pipe.send(found)


def _leave_interrupts_alone() -> None:
    # A handler rather than SIG_IGN, which child processes of the environment would inherit.
    signal.signal(signal.SIGINT, _ignore)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _serve(pipe: Connection, make: CloudpickleWrapper, expected: Expected) -> None:
    """Run a copy in its process, until its pipe is closed."""
    _leave_interrupts_alone()
    env = _attempt(partial(CheckedEnv, make.fn, expected))
    with contextlib.suppress(*_GONE):
        pipe.send(env if isinstance(env, Fault) else _MADE)
        while not isinstance(env, Fault):
            method, argument = pipe.recv()
            if method == "close":
                pipe.send((_CLOSED, _attempt(env.close)))
                return
            pipe.send(_attempt(partial(env.reset if method == "reset" else env.step, argument)))
    if not isinstance(env, Fault):
        attempt(env.close)


def _attempt(work: Callable[[], T]) -> T | Fault:
    """As `attempt`, with the cause as text, since not every exception can be pickled."""
    found = attempt(work)
    return replace(found, cause=_as_text(found.cause)) if isinstance(found, Fault) else found


def _as_text(cause: BaseException | None) -> InItsProcess | None:
    return InItsProcess("".join(traceback.format_exception(cause))) if cause else None


def _ignore(*_: object) -> None: ...
