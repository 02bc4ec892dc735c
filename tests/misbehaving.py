"""A cart with deliberate faults. It is in a module, so that other processes can make it too."""

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from ascpo.engines.gymnasium.processes import INSPECTION
from tests.own import Cart


def _raise(error):
    raise error


def _kill():
    os.kill(os.getpid(), signal.SIGKILL)


RETURNED = {
    "nan observation": lambda o, r, end, late, info: (o * np.nan, r, end, late, info),
    "longer observation": lambda o, r, end, late, info: (np.zeros(3, np.float32), r, end, late, info),
    "observation of text": lambda o, r, end, late, info: ("here", r, end, late, info),
    "complex observation": lambda o, r, end, late, info: (o + 0j, r, end, late, info),
    "no observation": lambda o, r, end, late, info: (None, r, end, late, info),
    "ragged observation": lambda o, r, end, late, info: ([1.0, [2.0]], r, end, late, info),
    "nan reward": lambda o, r, end, late, info: (o, np.nan, end, late, info),
    "reward of text": lambda o, r, end, late, info: (o, "much", end, late, info),
    "infinite cost": lambda o, r, end, late, info: (o, r, end, late, {"cost": np.inf}),
    "nan cost": lambda o, r, end, late, info: (o, r, end, late, {"cost": np.nan}),
    "no cost": lambda o, r, end, late, info: (o, r, end, late, {}),
    "two costs": lambda o, r, end, late, info: (o, r, end, late, {"costs": [0.0, 0.0]}),
    "info of None": lambda o, r, end, late, info: (o, r, end, late, None),
    "four values": lambda o, r, end, late, info: (o, r, end, info),
    "six values": lambda o, r, end, late, info: (o, r, end, late, info, 0),
    "nothing": lambda *_: None,
    "no end": lambda o, r, end, late, info: (o, r, None, late, info),
    "ValueError": lambda *_: _raise(ValueError("at home")),
    "BrokenPipeError": lambda *_: _raise(BrokenPipeError(32, "Broken pipe")),
    "EOFError": lambda *_: _raise(EOFError()),
    "ConnectionResetError": lambda *_: _raise(ConnectionResetError(104, "Connection reset by peer")),
    "sys.exit(0)": lambda *_: sys.exit(0),
}
"""What a step returns or raises in place of its five values."""
DEADLY = {
    "os._exit(0)": lambda *_: os._exit(0),
    "SIGKILL": lambda *_: _kill(),
    "hangs": lambda *_: time.sleep(3600),
}
"""What ends a process, or never returns."""
FAULTS = RETURNED | DEADLY


class Misbehaving(Cart):
    """A cart that costs nothing and ends after twenty steps, until a fault comes in its step (or reset) number `at`.

    The first cart of the tests' own process is sound, and so is that of an inspection: it is tried out before a
    training, which the others survive.
    """

    made = 0

    def __init__(self, fault, at, where="step"):
        super().__init__()
        self.fault, self.at, self.where, self.calls = fault, at, where, 0
        here, name = multiprocessing.parent_process() is None, multiprocessing.current_process().name
        self.sound = name == INSPECTION or (here and Misbehaving.made == 0)
        Misbehaving.made += 1

    def reset(self, *, seed=None, options=None):
        seen = super().reset(seed=seed)
        return self._perhaps("reset", *seen)

    def step(self, action):
        observation, reward, terminated, truncated, _ = super().step(action)
        return self._perhaps("step", observation, reward, terminated, truncated, {"cost": 0.0})

    def close(self):
        self._perhaps("close")

    def _perhaps(self, where, *result):
        if self.sound or where != self.where:
            return result
        self.calls += 1
        if self.calls != self.at:
            return result
        assert self.fault not in DEADLY or multiprocessing.parent_process(), "it would kill the tests themselves"
        return FAULTS[self.fault](*result)


class Scheduled(Misbehaving):
    """Its processes die one after the other according to a list of (fault, at, where), and then stay alive."""

    def __init__(self, schedule, marks):
        number = len(list(Path(marks).iterdir()))
        fault = schedule[number] if number < len(schedule) else ("ValueError", 0, "step")
        super().__init__(*fault)
        if not self.sound:
            (Path(marks) / str(number)).touch()


class Endless(Cart):
    """Its episodes never end. It leaves a mark in its step 30."""

    def step(self, action):
        observation, reward, _, _, _ = super().step(action)
        if self.t == 30 and (mark := os.environ.get("MARK")):
            Path(mark).touch()
        return observation, reward, False, False, {"cost": 0.0}


def make():
    """What the command line makes: the fault is in the environment's variables."""
    return Misbehaving(os.environ["FAULT"], int(os.environ.get("AT", "30")), os.environ.get("WHERE", "step"))
