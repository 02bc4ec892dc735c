"""Checks only of arrays: the outer layers pass on what users typed, and have error messages of their own."""

from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import partial, wraps
from types import FunctionType
from typing import get_args

import jaxtyping
from beartype import beartype


def _has_shape(annotation):
    if isinstance(annotation, type) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    return any(_has_shape(part) for part in get_args(annotation))


def check_arrays(function):
    """As `beartype`, for the parameters that are arrays."""
    known = {name: kind for name, kind in function.__annotations__.items() if _has_shape(kind)}
    if not known:
        return function
    every, function.__annotations__ = function.__annotations__, known
    checked = beartype(function)
    function.__annotations__ = every
    return checked


@contextmanager
def unchecked():
    """Records of several runs have an axis more than annotations say, and checks of thousands of steps take long."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


def where_shapes_are(jaxtyped):
    """As `jaxtyped`, which remembers the axes of every call, for functions that have any.

    Where a function has no array, there is nothing to remember, and its types are checked all the same. Remembering
    took a fifth of the time of tests. `jaxtyped` itself checks with two functions that it writes and compiles: the
    parameters, and after the call the parameters again with what is returned. Here it is one function, once. The same
    holds for records, of which each is a call of `__init__`.
    """
    of_records = set()

    def decorator(what=None, *, typechecker):
        if what is None:
            return partial(decorator, typechecker=typechecker)
        if isinstance(what, type) and is_dataclass(what):
            if what.__init__ not in of_records:  # A class may inherit it.
                what.__init__ = decorator(what.__init__, typechecker=typechecker)
                of_records.add(what.__init__)
            return what
        known = what.__annotations__.values() if isinstance(what, FunctionType) else [""]
        # What is written as a string is not known yet.
        if any(isinstance(kind, str) for kind in known):
            return jaxtyped(what, typechecker=typechecker)
        checked = typechecker(what)
        return _with_axes_of_its_own(what, checked) if any(map(_has_shape, known)) else checked

    return decorator


def _with_axes_of_its_own(function, checked):
    @wraps(function)
    def call(*arguments, **named):
        if jaxtyping.config.jaxtyping_disable:
            return function(*arguments, **named)
        with jaxtyping._decorator.jaxtyped("context"):
            return checked(*arguments, **named)

    return call
