"""The journal: sentences about what the optimiser did in an epoch.

The row of an epoch has the performance of its policy, the step that followed, and the step's predictions. The next row
has the performance of the changed policy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ascpo.report.data import RunData
from ascpo.report.wording import change, equals, listed, number, percent, points, setting_percent, steps, times
from ascpo.runs.description import Description
from ascpo.runs.serialization import BadSetting

INFEASIBLE, RECOVERING, BOUNDED, FREE, NO_GRADIENT = range(5)
"""Values of the column Case."""
CASES = {
    INFEASIBLE: ("infeasible", "no step of the trust region meets the constraints, so the step only lowers them"),
    RECOVERING: ("recovering", "the constraints come first, and the reward gets the rest of the trust region"),
    BOUNDED: ("bounded", "the step raises the reward as far as the constraints allow"),
    FREE: ("free", "the whole trust region meets the constraints, so the step only raises the reward"),
    NO_GRADIENT: ("no cost gradient", "no step changes the constraints, so the step only raises the reward"),
}
"""The name and the meaning of each case."""
PROJECTED_CASES = {
    BOUNDED: ("projected", "the step for the reward is projected onto the nearest point that meets the constraints"),
    FREE: ("not projected", "the step for the reward meets the constraints as it is"),
}
"""The same for projected steps, where they differ."""


@dataclass(frozen=True)
class Entry:
    """The journal of one epoch."""

    epoch: int
    title: str
    parts: tuple[tuple[str, str], ...]
    """Pairs of a topic and its text."""


def entry(run: RunData, epoch: int) -> Entry:
    """The entry of one epoch, counted from 0 as in the log."""
    index, about = index_of(run, epoch), run.description
    row = Epochs(run, index, index + 1)
    parts = {
        "Policy": _policy(row),
        "Target": _target(row, about),
        "Step": _step(row, about),
        "Surrogate": _surrogate(row, about),
        "Penalty": _penalty(row, about),
        "Shield": _shield(row),
        "CVaR": _cvar(row),
        "Critics": _critics(row),
        "Next": _next(row),
    }
    title = f"Epoch {epoch}, after {steps(row('TotalEnvInteracts'))}: {case_of(row('Case'), about)[0]}"
    return Entry(epoch, title, tuple((topic, text) for topic, text in parts.items() if text))


def index_of(run: RunData, epoch: int) -> int:
    """The row of an epoch, or an error that names the epochs of the run."""
    epochs = run.metrics["Epoch"].astype(int).tolist()
    if epoch not in epochs:
        raise BadSetting(f"{run.path} has no epoch {epoch}. It has the epochs {epochs[0]} to {epochs[-1]}.")
    return epochs.index(epoch)


def case_of(case: float, about: Description) -> tuple[str, str]:
    """The name of a step's case, and its meaning."""
    if about.mechanism == "constraint" and math.isfinite(case):
        known = CASES | PROJECTED_CASES if about.step == "projected" else CASES
        return known.get(int(case), (f"case {case:g}", "this version does not know this case"))
    subject = "the descent raises the reward" if about.step == "clipped" else "the step raises the reward"
    return {
        "penalty": ("penalised", f"{subject} minus a penalty on {about.quantity}"),
        "shield": ("shielded", f"{subject}, and the shield changes actions if {about.quantity} is over the limit"),
    }.get(about.mechanism, ("reward only", f"{subject} and ignores costs"))


class Epochs:
    """Consecutive rows of the log. Its values are means over them, by the names of columns; nan if there is none."""

    def __init__(self, run: RunData, start: int, stop: int) -> None:
        self.run, self.start, self.stop, self.count = run, start, stop, stop - start

    def of(self, name: str, constraint: str | None = None, later: int = 0) -> np.ndarray:
        """The finite values of a column, so many epochs later."""
        found = self.run.column(name, constraint)
        found = np.array([]) if found is None else found[self.start + later : self.stop + later]
        return found[np.isfinite(found)]

    def __call__(self, name: str, constraint: str | None = None, later: int = 0) -> float:
        found = self.of(name, constraint, later)
        return float(found.mean()) if len(found) else math.nan

    def each(self, text: Callable[[str], str]) -> list[str]:
        """The text of each constraint, with the constraint's name if there are several."""
        names = self.run.constraints
        return [f"{text(name)} ({name})" if len(names) > 1 else text(name) for name in names]


def _policy(row: Epochs) -> str:
    def largest(name: str) -> str:
        return f"{number(row('EpMaxCost', name))} with a standard deviation of {number(row('StdMaxCost', name))}"

    limits = "all limits" if len(row.run.constraints) > 1 else "the limit"
    of_sums = row.run.limits_on == "episode"
    where = "in the sum of their costs" if of_sums else "in every state"
    return (
        f"Over {row('Episodes'):.0f} episodes, the mean return was {number(row('EpRet'))} and the mean cost "
        f"{number(row('EpCost'))}. The mean largest cost of an episode was {'; '.join(row.each(largest))}. The worst "
        f"state cost {number(row('WorstCost'))}. {percent(row('SafeRate'))} of the episodes kept {limits} {where}; "
        f"the target is {setting_percent(row.run.probability)}. {percent(row('TimeoutRate'))} ran into the time limit."
    )


def _target(row: Epochs, about: Description) -> str:
    if about.mechanism != "constraint":
        return ""

    def demand(name: str) -> str:
        asked = row("Asked", name)
        if not math.isfinite(asked):
            return "change by an unknown amount"
        if asked == 0:
            return "stay where it was"
        return f"fall by {number(asked)}" if asked > 0 else f"rise by at most {number(-asked)}"

    share = row("AskShare")
    cap = f" The constraints could use {percent(share)} of the trust region's radius." if math.isfinite(share) else ""
    return f"In this step, {about.quantity} had to {listed(row.each(demand))}.{cap}"


def _step(row: Epochs, about: Description) -> str:
    name, meaning = case_of(row("Case"), about)
    out = [f"{name.capitalize()}: {meaning}."]
    if about.mechanism == "constraint":
        nus = ", ".join(row.each(lambda one: equals("ν", row("Nu", one))))
        out.append(f"The multipliers were {equals('λ', row('Lambda'))} for the trust region and {nus} for costs.")
    if row("Accepted") == 0:
        return " ".join([*out, "No step was accepted, so the policy stayed as it was."])
    delta = row.run.settings.get("trust_region.delta")
    radius = f"; the limit is {number(float(delta))}" if delta is not None else ""
    out.append(f"The policy moved by a mean KL of {number(row('KL'))}{radius}.")
    return " ".join(part for part in (*out, _search(row, about)) if part)


def _search(row: Epochs, about: Description) -> str:
    count = row("LineSearch")
    if not math.isfinite(count):
        return ""
    if about.iterations:
        left = int(count)
        end = ", and stopped because the policy had moved enough." if left else "."
        return f"The descent made {about.iterations - left} of {about.iterations} iterations{end}"
    if count == 0:
        return "The line search kept the full step."
    factor = row.run.settings.get("trust_region.backtracking")
    length = f", to {percent(float(factor) ** count)} of its length" if factor is not None else ""
    return f"The line search shortened the step {times(int(count))}{length}."


def _surrogate(row: Epochs, about: Description) -> str:
    gain = f"The loss fell by {number(row('Gain'))}." if math.isfinite(row("Gain")) else ""
    if about.mechanism != "constraint":
        return gain

    def both(name: str) -> str:
        predicted, actual = row("CostPredicted", name), row("CostActual", name)
        return f"the linear model predicted {change(predicted)}, and the line search measured {change(actual)}"

    return f"For the change of the constraint's surrogate, {'; '.join(row.each(both))}. {gain}".strip()


def _penalty(row: Epochs, about: Description) -> str:
    multiplier, later = row("Multiplier"), row("Multiplier", later=1)
    if about.mechanism != "penalty" and not math.isfinite(multiplier):
        return ""
    penalised = f"The objective has a penalty for {about.quantity}."
    if not math.isfinite(multiplier):
        return f"{penalised} The penalty has no multiplier."
    then = ""
    if math.isfinite(later):
        verb = "rose to" if later > multiplier else "fell to"
        moved = number(later) != number(multiplier)
        then = f" and {verb} {number(later)} for the next one" if moved else " and hardly changed for the next one"
    return f"{penalised} Its multiplier was {number(multiplier)} in this step{then}."


def _shield(row: Epochs) -> str:
    rate = row("ShieldRate")
    return shield_sentence(rate, row("ShieldShift")) if rate else "The shield changed no action."


def shield_sentence(rate: float, shift: float) -> str:
    """A sentence about a shield that changed actions; empty if that is unknown."""
    sentence = f"The shield changed {percent(rate)} of the actions, by {number(shift)} on average."
    return sentence if math.isfinite(rate) and rate else ""


def _cvar(row: Epochs) -> str:
    var, cvar = number(row("VaR")), number(row("CVaR"))
    sentence = f"The value at risk was {var}; the episodes that cost more had a mean of {cvar}."
    return sentence if math.isfinite(row("VaR")) else ""


def _critics(row: Epochs) -> str:
    reward, several = row("EVReward"), len(row.run.constraints) > 1
    known = {name: value for name in row.run.constraints if math.isfinite(value := row("EVCost", name))}
    costs = [f"{_explained(value)} of " + (f"{name}'s" if several else "the costs'") for name, value in known.items()]
    both = f"{_explained(reward)} of the return's variance" + (f" and {', '.join(costs)}" if costs else "")
    return f"On unseen episodes, the critics explained {both}." if math.isfinite(reward) else ""


def _explained(share: float) -> str:
    """Below zero, the mean is the better prediction."""
    return percent(share) if share > 0 else "nothing"


def _next(row: Epochs) -> str:
    epoch = row("Epoch", later=1)
    if not math.isfinite(epoch):
        return "This is the last epoch so far, so there is no later measurement."

    def moved(name: str, constraint: str | None = None) -> str:
        now, then = row(name, constraint), row(name, constraint, later=1)
        return f"{number(then)} ({change(then - now)})"

    safe, later = row("SafeRate"), row("SafeRate", later=1)
    largest = "; ".join(row.each(lambda name: moved("EpMaxCost", name)))
    return (
        f"Epoch {epoch:.0f} measured a return of {moved('EpRet')}, a cost of {moved('EpCost')}, a largest cost of "
        f"{largest}, and {percent(later)} of the episodes within all limits ({points(later - safe)})."
    )
