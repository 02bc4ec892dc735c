"""`ascpo check ENV`: test whether an environment can be trained on."""

from dataclasses import dataclass
from typing import Annotated, cast

import tyro

from ascpo.cli.parsing import parsed
from ascpo.engines.gymnasium.naming import AnyEnv, resolve
from ascpo.runs.environment_name import name_of


@dataclass(frozen=True)
class Check:
    """Test an environment: print its sizes and constraints, or what is wrong with it and how to mend that.

    One environment is made, played for some dozens of steps, and closed; nothing is written. The exit status is 1 if it
    cannot be trained on. Next: `ascpo train --env ENV`.
    """

    env: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="ENV")]
    """The environment: a suite, a Gymnasium id, or package.module:factory."""


def main(words: list[str]) -> None:
    asked = parsed(Check, words, "ascpo check")
    name = name_of(asked.env)
    make = resolve(name) or resolve(f"ascpo/{name}-v0")
    if make is None:
        print(f"{name} is a suite of this package. It can be trained on.")
        return
    # JAX is imported here, so that a mistyped name is answered at once.
    from ascpo.engines.functional.inspection import inspect_world
    from ascpo.engines.functional.world import World
    from ascpo.engines.gymnasium.inspection import inspect, made_by

    made = made_by(make)
    found = inspect_world(made) if isinstance(made, World) else inspect(lambda: cast(AnyEnv, made))
    print(f"{name} can be trained on: ascpo train --env {asked.env}")
    print(f"  observations   {found.observation_size} numbers")
    bounds = zip(found.low, found.high, strict=True)
    print(f"  actions        {', '.join(f'{low:g} to {high:g}' for low, high in bounds)}")
    print(f"  constraints    {', '.join(found.cost_names)}")
    for note in found.notes:
        print(f"  note: {note}")
