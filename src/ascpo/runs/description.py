"""description.json: how a run's algorithm treats costs, as data for reports.

Reports and journals read it, so that a new algorithm needs no change there. Runs without this file are described from
their config.json. Only that imports the algorithms, so this module does not import JAX.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from ascpo.choices import LimitKind, Mechanism, StepKind
from ascpo.runs.files import BadFile, reading
from ascpo.runs.sealed import read_sealed, write_sealed
from ascpo.runs.serialization import BadSetting, Plain

if TYPE_CHECKING:
    from ascpo.runs.config import Config

FILE = "description.json"


@dataclass(frozen=True)
class Description:
    """How a run's algorithm treats costs."""

    algorithm: str
    description: str
    """How the algorithm treats costs, as a predicate whose subject is the algorithm."""
    mechanism: Mechanism
    """How costs act: as a constraint on the step, as a penalty in the objective, or by a shield that changes
    actions."""
    quantity: str
    """The quantity that is constrained or penalised, such as "the mean cost of an episode"."""
    target: str
    """The target of a step's constraints. Empty without constraints."""
    step: StepKind
    iterations: int = 0
    """Largest number of iterations of a clipped step. 0 for other steps."""
    limits_on: LimitKind = "state"
    """Whether the limits bound the cost of every state, or the sum of an episode's costs (`episode`)."""

    def __post_init__(self) -> None:
        kinds = {"mechanism": Mechanism, "step": StepKind, "limits_on": LimitKind}
        for name, known in kinds.items():
            value = getattr(self, name)
            if value not in get_args(known):
                raise BadSetting(f"{name}={value!r} must be one of {', '.join(get_args(known))}.")


def describe(config: "Config") -> Description:
    """The description of a run with these settings."""
    algorithm = config.algorithm()
    return Description(
        algorithm=algorithm.name,
        description=algorithm.description,
        mechanism=algorithm.mechanism,
        quantity=algorithm.quantity,
        target=algorithm.target.description if algorithm.target else "",
        step=algorithm.outline.step,
        iterations=getattr(algorithm.step, "iterations", 0),
        limits_on=algorithm.limits_on,
    )


def write(directory: Path, description: Description, run: str = "") -> None:
    """Write the file. `run` is the fingerprint of the run."""
    write_sealed(directory / FILE, "description", asdict(description), run)


def read(directory: Path) -> Description:
    """The description in a run's directory, or the one that its settings give."""
    file = directory / FILE
    if not file.exists():
        from ascpo.runs.directory import RunDirectory

        return describe(RunDirectory(directory).config())
    try:
        found = read_sealed(file, "description")
        with reading(file):
            return _checked(found.content)
    except BadFile as error:
        raise BadSetting(
            f"{error} It does not describe a run. Delete it, and the description comes from config.json."
        ) from error


def _checked(content: Plain) -> Description:
    for name, value in content.items():
        kind = int if name == "iterations" else str
        if not isinstance(value, kind):
            raise BadSetting(f"{name}={value!r} must be of type {kind.__name__}.")
    return Description(**content)
