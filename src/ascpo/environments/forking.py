"""Detection of processes that were forked after JAX had started its threads, where JAX would wait forever."""

import os

_forked: list[int] = []
"""The process in which JAX cannot run."""
SENTENCE = (
    "This environment cannot run here: its process was forked from one that had already used JAX, whose threads are "
    "missing here. Use gymnasium.make_vec(..., vectorization_mode='vector_entry_point'), which is also faster, or "
    "spawn the processes: vector_kwargs={'context': 'spawn'}."
)


class ForkedFromJax(RuntimeError):
    """A process in which JAX would wait forever."""


def refuse_forked() -> None:
    """Raise an error in a process in which JAX would wait forever."""
    if os.getpid() in _forked:
        raise ForkedFromJax(SENTENCE)


def _after_fork() -> None:
    from jax._src import xla_bridge  # No public function tells this without starting the threads.

    started = getattr(xla_bridge, "backends_are_initialized", None)
    if started is not None and started():
        _forked[:] = [os.getpid()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
