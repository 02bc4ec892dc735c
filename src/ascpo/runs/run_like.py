"""Arguments that name a run: its directory, or the result of `ascpo.train`. This module does not import JAX."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ascpo.errors import BadSetting
from ascpo.runs.zoo import in_place

if TYPE_CHECKING:
    from ascpo.runs.result import Result

RunLike: TypeAlias = "str | Path | Result"


def path_of(run: RunLike) -> Path:
    """The run's directory. A policy of the zoo is unpacked."""
    if isinstance(run, (str, Path)):
        return Path(in_place(str(run)))
    if not isinstance(directory := getattr(run, "directory", None), Path):
        raise BadSetting(
            f"This {type(run).__name__} is not a run. Name the run's directory, or pass what ascpo.train returned. To "
            f"evaluate or certify a policy of another library, pass a function from observation to action, such as "
            f"lambda observation: model.predict(observation)[0]"
        )
    return directory
