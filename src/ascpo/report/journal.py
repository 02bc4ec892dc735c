"""What the optimiser did at an epoch, in words with the figures.

The row of an epoch says three things in turn: how the policy did that the epoch began with, what the step was that
followed, and what the step promised. How the changed policy does is in the next row.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ascpo.report.data import Run
from ascpo.report.heeded import Heeded, Way, heeded
from ascpo.report.wording import change, equals, number, percent, points, promised, steps, times
from ascpo.runs.serialization import BadSetting

INFEASIBLE, RECOVERING, BOUNDED, FREE, NO_GRADIENT = range(5)
"""Values of the column Case."""

CASES = {
    INFEASIBLE: ("out of reach", "no step of the region meets the constraints, so it goes towards them alone"),
    RECOVERING: ("recovering", "the constraints come first, and the reward gets what is left of the region"),
    BOUNDED: ("held", "the reward comes first, up to where the constraints hold"),
    FREE: ("free", "the constraints hold in the whole region, so the step is for the reward alone"),
    NO_GRADIENT: ("no cost gradient", "no step could change the constraints, so it is for the reward alone"),
}
"""What each is called, and what it means."""
PROJECTED = {
    BOUNDED: ("projected", "the step for the reward was moved to the nearest point at which the constraints hold"),
    FREE: ("not projected", "the step for the reward keeps the constraints as it is"),
}
"""The same of projected steps."""


@dataclass(frozen=True)
class Entry:
    """An epoch in words."""

    epoch: int
    title: str
    parts: tuple[tuple[str, str], ...]
    """What each is about, and what is said."""


def entry(run: Run, epoch: int) -> Entry:
    """What happened at one epoch, counted from 0 as in the log."""
    row = index_of(run, epoch)
    how = heeded(run)
    log = _Log(run, row)
    parts = [("Policy", _policy(log)), ("Asked", _asked(log, how)), ("Step", _step(log, how))]
    parts += [("Promise", _promise(log, how)), ("Price", _price(log, how)), ("Shield", _shield(log))]
    parts += [("Tail", _tail(log)), ("Critics", _critics(log)), ("Next", _next(log))]
    title = f"Epoch {epoch}, after {steps(log('TotalEnvInteracts'))}: {case_of(log('Case'), how)[0]}"
    return Entry(epoch, title, tuple((about, text) for about, text in parts if text))


def index_of(run: Run, epoch: int) -> int:
    """Its row, or an error that says which epochs there are."""
    epochs = run.metrics["Epoch"].astype(int)
    found = [i for i, known in enumerate(epochs) if known == epoch]
    if not found:
        raise BadSetting(
            f"There is no epoch {epoch} in {run.path}: it has {epochs[0]} to {epochs[-1]}, counted from 0."
        )
    return found[0]


def case_of(case: float, how: Heeded) -> tuple[str, str]:
    """What a step was, and what that means."""
    if how.way is Way.CONSTRAINT and math.isfinite(case):
        known = CASES | PROJECTED if how.projected else CASES
        return known.get(int(case), (f"case {case:g}", "a case that this program does not know"))
    kind = "steps of descent" if how.iterations else "one step"
    return {
        Way.PRICE: ("paying", f"{kind} for the reward, less the price of {how.quantity}"),
        Way.SHIELD: ("shielded", f"{kind} for the reward; costs are left to the shield"),
    }.get(how.way, ("reward alone", f"{kind} for the reward; costs are not looked at"))


class _Log:
    """A row of the log, by the names of its columns; nan for what is not there."""

    def __init__(self, run: Run, row: int) -> None:
        self.run, self.row = run, row

    def __call__(self, name: str, constraint: str | None = None, later: int = 0) -> float:
        found = self.run.column(name, constraint)
        at = self.row + later
        return float(found[at]) if found is not None and 0 <= at < len(found) else math.nan

    def each(self, say: Callable[[str], str]) -> list[str]:
        """Something about each constraint, by name where there are several."""
        names = self.run.constraints
        return [f"{say(name)} ({name})" if len(names) > 1 else say(name) for name in names]


def _policy(log: _Log) -> str:
    several = len(log.run.constraints) > 1
    largest = "; ".join(
        log.each(
            lambda name: (
                f"{number(log('EpMaxCost', name))} on average, with a deviation of {number(log('StdMaxCost', name))}"
            )
        )
    )
    out = [
        f"Over {log('Episodes'):.0f} episodes it returned {number(log('EpRet'))} and paid {number(log('EpCost'))} an "
        f"episode. The largest cost of an episode was {largest}; the worst state cost {number(log('WorstCost'))}.",
        f"{percent(log('SafeRate'))} of the episodes kept {'all limits' if several else 'the limit'} in every state, "
        f"where {promised(log.run.probability)} are promised; {percent(log('TimeoutRate'))} ran into the time limit.",
    ]
    return " ".join(out)


def _asked(log: _Log, how: Heeded) -> str:
    if how.way is not Way.CONSTRAINT:
        return ""
    share = log("AskShare")
    got = f"The constraints could get {percent(share)} of the region's radius. " if math.isfinite(share) else ""

    def wish(name: str) -> str:
        asked = log("Asked", name)
        if not math.isfinite(asked):
            return "nothing is known of what was asked"
        if asked > 0:
            return f"it was asked to fall by {number(asked)}"
        return f"it was allowed to rise by {number(-asked)}" if asked < 0 else "it was to be held where it was"

    return f"{got}What is kept is {how.quantity}: {'; '.join(log.each(wish))}."


def _step(log: _Log, how: Heeded) -> str:
    name, meaning = case_of(log("Case"), how)
    out = [f"{name.capitalize()}: {meaning}."]
    if how.way is Way.CONSTRAINT:
        nus = ", ".join(log.each(lambda one: equals("ν", log("Nu", one))))
        out.append(f"Multipliers: {equals('λ', log('Lambda'))} of the region, {nus} of the constraint.")
    delta = log.run.setting("trust_region.delta", None)
    radius = f", where at most {number(float(delta))} is allowed" if delta is not None else ""
    if log("Accepted") == 0:
        return " ".join(
            [*out, "No step was taken: none that was tried kept its promises, and the policy stayed as it was."]
        )
    out.append(f"The policy moved by a mean KL of {number(log('KL'))}{radius}.")
    out.append(_search(log, how))
    return " ".join(filter(None, out))


def _search(log: _Log, how: Heeded) -> str:
    count = log("LineSearch")
    if not math.isfinite(count):
        return ""
    if how.iterations:
        left = int(count)
        done = f"{how.iterations - left} of {how.iterations} iterations"
        return f"The descent made {done}" + (", and ended where it had moved enough." if left else ".")
    factor = log.run.setting("trust_region.backtracking", None)
    if count == 0:
        return "The line search left it at its full length."
    length = f", to {percent(float(factor) ** count)} of its length" if factor is not None else ""
    return f"The line search shortened it {times(int(count))}{length}."


def _promise(log: _Log, how: Heeded) -> str:
    gain = f"The loss fell by {number(log('Gain'))}." if math.isfinite(log("Gain")) else ""
    if how.way is not Way.CONSTRAINT:
        return gain

    def both(name: str) -> str:
        predicted, actual = log("CostPredicted", name), log("CostActual", name)
        return f"{change(predicted)} by the linear model, {change(actual)} on the same data after the line search"

    return f"Change of the constraint's surrogate: {'; '.join(log.each(both))}. {gain}".strip()


def _price(log: _Log, how: Heeded) -> str:
    price, later = log("Multiplier"), log("Multiplier", later=1)
    if not math.isfinite(price):
        return "" if how.way is not Way.PRICE else f"Paid for is {how.quantity}, steeply near the limit."
    then = ""
    if math.isfinite(later):
        verb = "rose to" if later > price else "fell to"
        moved = number(later) != number(price)
        then = f" and {verb} {number(later)} for the next" if moved else " and hardly changed for the next"
    return f"Paid for is {how.quantity}. Its price was {number(price)} in this step{then}."


def _shield(log: _Log) -> str:
    rate = log("ShieldRate")
    if not math.isfinite(rate):
        return ""
    if rate == 0:
        return "The shield changed no action."
    return f"The shield changed {percent(rate)} of the actions, by {number(log('ShieldShift'))} on average."


def _tail(log: _Log) -> str:
    if not math.isfinite(log("VaR")):
        return ""
    return (
        f"The worst episodes are those that cost more than {number(log('VaR'))} (value at risk); "
        f"{number(log('CVaR'))} is the mean of those beyond."
    )


def _critics(log: _Log) -> str:
    reward = log("EVReward")
    if not math.isfinite(reward):
        return ""
    costs = [
        f"{_explained(value)} of {name}'s" if len(log.run.constraints) > 1 else f"{_explained(value)} of the costs'"
        for name in log.run.constraints
        if math.isfinite(value := log("EVCost", name))
    ]
    both = f"{_explained(reward)} of the return's variance" + (f", and {', '.join(costs)}" if costs else "")
    return f"On episodes that they had not seen, the critics explained {both}."


def _explained(share: float) -> str:
    """Below zero, the mean would have been the better guess."""
    return percent(share) if share > 0 else "nothing"


def _next(log: _Log) -> str:
    epoch = log("Epoch", later=1)
    if not math.isfinite(epoch):
        return "This is the last epoch so far, so nothing was measured after it."

    def moved(name: str, constraint: str | None = None) -> str:
        now, then = log(name, constraint), log(name, constraint, later=1)
        return f"{number(then)} ({change(then - now)})"

    safe, later = log("SafeRate"), log("SafeRate", later=1)
    largest = "; ".join(log.each(lambda name: moved("EpMaxCost", name)))
    return (
        f"Epoch {epoch:.0f} measured a return of {moved('EpRet')}, a cost of {moved('EpCost')}, a largest cost of "
        f"{largest}, and {percent(later)} of the episodes within all limits ({points(later - safe)})."
    )
