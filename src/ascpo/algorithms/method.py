"""The protocol of an algorithm's own settings."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ascpo.errors import InertSetting
from ascpo.ranges import Dataclass

if TYPE_CHECKING:
    from ascpo.algorithms.algorithm import Algorithm


@runtime_checkable
class Method(Dataclass, Protocol):
    """An algorithm's own settings: a frozen dataclass whose fields all have defaults."""

    def build(self, probability: float) -> "Algorithm":
        """The algorithm. `probability` is the target probability of keeping all limits, if the algorithm uses one."""
        ...


def refuse_unused(method: Method, why: str, *names: str) -> None:
    """Raise an error if one of these settings, which change nothing here, does not have its default."""
    for name in names:
        if getattr(method, name) != method.__dataclass_fields__[name].default:
            raise InertSetting(name, getattr(method, name), why)
