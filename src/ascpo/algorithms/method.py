"""What all settings of an algorithm have in common."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ascpo.errors import InertSetting
from ascpo.ranges import Dataclass

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@runtime_checkable
class Method(Dataclass, Protocol):
    """An algorithm's own settings: a frozen dataclass whose fields all have defaults."""

    def build(self, probability: float) -> "Algorithm":
        """The algorithm with which all limits are to be kept with this probability, as far as it goes by one."""
        ...


def refuse_unused(method: Method, why: str, *names: str) -> None:
    """A setting that changes nothing is an error: these have no effect here, so they must have their defaults."""
    for name in names:
        if getattr(method, name) != method.__dataclass_fields__[name].default:
            raise InertSetting(name, getattr(method, name), why)
