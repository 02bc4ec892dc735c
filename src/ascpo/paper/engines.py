"""Which engine moves the robots of a suite, where one was asked for all of them."""

from dataclasses import dataclass

from ascpo.runs.config import EngineName


@dataclass(frozen=True)
class Choice:
    """An engine, and why it is not the one that was asked for."""

    engine: EngineName
    why: str = ""


def choose_engine(wanted: str, suite: str) -> Choice:
    """`mjx` is what suits the suite and the machine: the native engine, if MJX cannot move its robots here.

    All runs of a suite have the same, so that no comparison mixes engines. An implementation that was asked for by its
    name is taken or refused.
    """
    if wanted == "native":
        return Choice("native")
    from ascpo.runs.environment import engine_name, open_mjx

    engine = engine_name(wanted, suite)
    if wanted != "mjx":
        if engine in ("mjx-jax", "mjx-warp"):
            open_mjx(suite, 1, engine).close()
        return Choice(engine)
    from ascpo.engines.mjx.physics import Unserved

    try:
        open_mjx(suite, 1, engine).close()
    except Unserved as error:
        return Choice("native", str(error))
    return Choice(engine)
