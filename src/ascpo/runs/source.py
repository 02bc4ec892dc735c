"""The source of a policy: the last one of its training, the mean of the last ones, or a selected one."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from ascpo.errors import BadSetting
from ascpo.runs.serialization import Plain

PolicyKind = Literal["last", "average", "selected"]


@dataclass(frozen=True)
class Source:
    """The parameters are the mean of those after the epochs from `first` to `last`."""

    kind: PolicyKind
    first: int
    """The first of these epochs."""
    last: int
    """The last of them. A single policy has the same number twice."""

    @property
    def description(self) -> str:
        """A phrase for messages."""
        if self.first == self.last:
            what = f"the policy after {self.last} {'epoch' if self.last == 1 else 'epochs'}"
        else:
            what = f"the mean of the policies after {self.first} to {self.last} epochs"
        ends = {"last": ", the last one", "selected": ", selected on validation scenes"}
        return what + ends.get(self.kind, "")

    def plain(self) -> Plain:
        """Plain data for a policy's file."""
        return {"kind": self.kind, "mean_of": [self.first, self.last]}

    def selected(self) -> "Source":
        return replace(self, kind="selected")


def source_of(about: Plain) -> Source:
    """The source in a policy's file. Files of earlier versions hold the last policy, and have no entry."""
    kind, epochs = about.get("kind", "last"), about["epochs"]
    first, last = about.get("mean_of", [epochs, epochs])
    if kind not in get_args(PolicyKind):
        raise BadSetting(f"kind={kind!r} must be one of {', '.join(get_args(PolicyKind))}.")
    known = all(isinstance(one, int) for one in (first, last, epochs)) and min(1, epochs) <= first <= last <= epochs
    if not known or (kind == "last" and (first, last) != (epochs, epochs)):
        raise BadSetting(f"mean_of={[first, last]} does not fit a policy of {epochs} epochs.")
    return Source(kind, first, last)
