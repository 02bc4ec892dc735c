"""The journal as a timeline: phases of epochs in which the optimiser took the same kind of step.

The kind of a step is its case (or how the multiplier or the shield behaves), and its room: for constrained steps the
share of the trust region that is left to the reward, for others the share of episodes that run out of time. A phase
that is too short joins its longer neighbour, whose text counts its steps.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascpo.report.data import RunData
from ascpo.report.journal import CASES, Epochs, case_of, shield_sentence
from ascpo.report.wording import change, equals, listed, number, percent, plural, setting_percent
from ascpo.runs.description import Description

_TIERS = (1 / 3, 2 / 3)
"""Borders of the tiers of a step's room, which lies between 0 and 1."""
_ROOM = (", with nearly all of the trust region", ", with most of the trust region", ", with room for the reward")
_TIMEOUTS = ("", ", while many episodes run out of time", ", while most episodes run out of time")
"""The texts of the tiers, for runs with and without a share of the constraints."""
_PARTS = 16
"""A phase has at least this fraction of the run's epochs."""
_ENDS = 3
"""The figures at the ends of a phase are means over this many epochs, since a single epoch is noisy."""
_TITLES = {
    "rejected": "No step was accepted",
    "bounded": "Bounded by the constraints",
    "unknown": "Steps of an unknown case",
    "rising": "The multiplier rises",
    "falling": "The multiplier falls",
    "steady": "The multiplier is steady",
    "penalised": "The objective penalises costs",
    "learning": "The shield learns",
    "shielding": "The shield acts",
    "reward": "Reward only",
}
"""The titles of kinds that differ from their names. The page colours phases by their kinds."""

Kind = tuple[str, int]
"""The kind of a step, and the tier of its room."""


@dataclass(frozen=True)
class Phase:
    """Consecutive epochs, from the first to the last."""

    first: int
    last: int
    kind: str
    title: str
    sentences: tuple[str, ...]
    """What the optimiser did."""
    outcome: str
    """What the episodes of the phase measured."""
    strength: float
    """The approximate share of the trust region that the constraints could use, which shades the page."""

    @property
    def epochs(self) -> str:
        return f"Epoch {self.first}" if self.first == self.last else f"Epochs {self.first} to {self.last}"


def timeline(run: RunData) -> list[Phase]:
    """The phases of a run. The first phase of a kind explains the kind."""
    about = run.description
    names, tiers = _tiers(run, about)
    kinds = list(zip(_kinds(run, about), tiers, strict=True))
    epochs, found, known = run.metrics["Epoch"].astype(int), [], set()
    for (kind, tier), start, stop in split(kinds, shortest=max(1, run.epochs // _PARTS)):
        part = Epochs(run, start, stop)
        sentences, outcome = _sentences(part, about, explained=kind in known), _outcome(part)
        title = _TITLES.get(kind, kind.replace("-", " ").capitalize()) + names[tier]
        first, last, strength = int(epochs[start]), int(epochs[stop - 1]), 1.0 - tier / len(names)
        found.append(Phase(first, last, kind, title, sentences, outcome, strength))
        known.add(kind)
    return found


def milestones(run: RunData) -> list[str]:
    """When the run reached its target probability, and its highest return."""
    safe, reward = run.column("SafeRate"), run.column("EpRet")
    epochs, found = run.metrics["Epoch"].astype(int), []
    if safe is not None:
        target, kept, best = setting_percent(run.probability), safe >= run.probability, int(np.nanargmax(safe))
        often, first = plural(int(kept.sum()), "epoch"), epochs[kept.argmax()]
        found.append(
            f"At least {target} of the episodes kept all limits in {often}, first in epoch {first}."
            if kept.any()
            else f"No epoch reached the target of {target} of the episodes within all limits. The best was epoch "
            f"{epochs[best]} with {percent(safe[best])}."
        )
    if reward is not None:
        best = int(np.nanargmax(reward))
        found.append(f"Epoch {epochs[best]} had the highest return, {number(reward[best])}.")
    return found


def split(kinds: Sequence[Kind], shortest: int) -> list[tuple[Kind, int, int]]:
    """Phases as (kind, first, one after the last). None is too short unless all epochs together are."""
    found = _joined([(kind, i, i + 1) for i, kind in enumerate(kinds)])
    while len(found) > 1:
        lengths = [stop - start for _, start, stop in found]
        least = int(np.argmin(lengths))
        if lengths[least] >= shortest:
            break
        neighbours = [i for i in (least - 1, least + 1) if 0 <= i < len(found)]
        into = max(neighbours, key=lambda i: lengths[i])
        a, b = sorted((least, into))
        found[a : b + 1] = [(found[into][0], found[a][1], found[b][2])]
        found = _joined(found)
    return found


def _joined(found: list[tuple[Kind, int, int]]) -> list[tuple[Kind, int, int]]:
    """Neighbours of the same kind become one phase."""
    same = [list(phases) for _, phases in itertools.groupby(found, key=lambda phase: phase[0])]
    return [(phases[0][0], phases[0][1], phases[-1][2]) for phases in same]


def _kinds(run: RunData, about: Description) -> list[str]:
    accepted, rate = run.column("Accepted"), run.column("ShieldRate")
    match about.mechanism:
        case "constraint":
            found = _case_kinds(run, about)
        case "penalty":
            found = _multiplier_kinds(run)
        case "shield":
            found = ["shielding" if one > 0 else "learning" for one in ([0.0] * run.epochs if rate is None else rate)]
        case _:
            found = ["reward"] * run.epochs
    if accepted is None:
        return found
    return ["rejected" if taken == 0 else kind for taken, kind in zip(accepted, found, strict=True)]


def _case_kinds(run: RunData, about: Description) -> list[str]:
    cases = run.column("Case")
    if cases is None:
        return ["unknown"] * run.epochs
    return [case_of(case, about)[0].replace(" ", "-") if case in CASES else "unknown" for case in cases]


def _multiplier_kinds(run: RunData) -> list[str]:
    multiplier = run.column("Multiplier")
    if multiplier is None or len(multiplier) < 2:
        return ["penalised"] * run.epochs
    moves = np.diff(multiplier, append=2 * multiplier[-1] - multiplier[-2])
    # The log has six digits, so a steady multiplier seems to fluctuate.
    noise = 1e-5 * np.maximum(np.abs(multiplier), 1e-6)
    return np.select([moves > noise, moves < -noise], ["rising", "falling"], "steady").tolist()


def _tiers(run: RunData, about: Description) -> tuple[Sequence[str], list[int]]:
    """The names of the tiers, and the tier of each epoch."""
    share, limits = run.column("AskShare"), run.target_range
    if about.mechanism == "constraint" and share is not None and limits is not None:
        least, most = limits
        names, room = _ROOM, (most - share) / (most - least)
    else:
        timeouts = run.column("TimeoutRate")
        names, room = _TIMEOUTS, np.zeros(run.epochs) if timeouts is None else timeouts
    return names, [int(np.searchsorted(_TIERS, one)) for one in np.nan_to_num(room)]


def _ends(part: Epochs, name: str) -> tuple[float, float] | None:
    found = part.of(name)
    few = min(_ENDS, max(1, len(found) // 2))
    return (float(found[:few].mean()), float(found[-few:].mean())) if len(found) else None


def _sentences(part: Epochs, about: Description, *, explained: bool) -> tuple[str, ...]:
    constrained = _constraint_sentences(part, about) if about.mechanism == "constraint" else []
    out = [_case_sentence(part, about, explained), *constrained, _multiplier_sentence(part, about)]
    out.append(shield_sentence(part("ShieldRate"), part("ShieldShift")))
    out += [_cvar_sentence(part), _step_sentence(part, about)]
    return tuple(filter(None, out))


def _case_sentence(part: Epochs, about: Description, explained: bool) -> str:
    counted = Counter(int(case) for case in part.of("Case")).most_common()
    if about.mechanism != "constraint":
        counted, meaning = [], case_of(float("nan"), about)[1]
    elif counted:
        meaning = case_of(counted[0][0], about)[1]
    else:
        return ""
    others = listed([f"{plural(count, 'step')} {case_of(case, about)[0]}" for case, count in counted[1:]])
    exceptions = f"The phase includes {others}." if others else ""
    return exceptions if explained else f"{meaning[0].upper()}{meaning[1:]}. {exceptions}".strip()


def _constraint_sentences(part: Epochs, about: Description) -> list[str]:
    share, names = part("AskShare"), part.run.constraints
    out = [f"The constraints could use {percent(share)} of the radius."] if np.isfinite(share) else []
    for name, quantity in zip(names, part.each(lambda _: about.quantity), strict=True):
        asked = part("Asked", name)
        demand = f"had to lower {quantity} by {number(asked)}"
        if not asked > 0:
            demand = f"could raise {quantity} by {number(-asked)}" if asked else f"had to keep {quantity} where it was"
        out.append(
            f"{'The step' if part.count == 1 else 'On average, a step'} {demand}. The linear model predicted a change "
            f"of {change(part('CostPredicted', name))}; on the same data the change was "
            f"{change(part('CostActual', name))}, with {equals('ν', part('Nu', name))}."
        )
    return out


def _multiplier_sentence(part: Epochs, about: Description) -> str:
    if not len(found := part.of("Multiplier")):
        return ""
    return f"The multiplier of {about.quantity} went from {number(found[0])} to {number(found[-1])}."


def _cvar_sentence(part: Epochs) -> str:
    var, cvar = _ends(part, "VaR"), _ends(part, "CVaR")
    if var is None or cvar is None:
        return ""
    return (
        f"The value at risk went from {number(var[0])} to {number(var[1])}, and the mean cost beyond it from "
        f"{number(cvar[0])} to {number(cvar[1])}."
    )


def _step_sentence(part: Epochs, about: Description) -> str:
    accepted, search = part.of("Accepted"), part.of("LineSearch")
    out = [f"{'The' if part.count == 1 else 'A'} step moved the policy by a mean KL of {number(part('KL'))}"]
    shortened, rejected = int((search > 0).sum()), int((accepted == 0).sum())
    if shortened and not about.iterations:
        out.append(f"the line search shortened {'it' if part.count == 1 else f'{shortened} of {len(search)} steps'}")
    if rejected:
        out.append(f"the optimiser rejected {rejected} of {plural(len(accepted), 'step')}")
    return "; ".join(out) + "."


def _outcome(part: Epochs) -> str:
    found = []
    for name, title, text in (
        ("EpRet", "return", number),
        ("EpCost", "cost", number),
        ("EpMaxCost", "largest cost", number),
        ("SafeRate", "within all limits", percent),
        ("TimeoutRate", "time-outs", percent),
    ):
        ends = _ends(part, name)
        if ends is not None:
            later = f" → {text(ends[1])}" if part.count > 1 else ""
            found.append(f"{title} {text(ends[0])}{later}")
    return f"Measured: {', '.join(found)}." if found else ""
