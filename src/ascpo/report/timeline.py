"""The journal as a time line: stretches of epochs in which the optimiser did the same kind of thing.

The kind of an epoch is what its step was, and how much room it left: for constrained steps the share of the region that
the constraints could get, for others how many episodes ran into the time limit. Stretches that are too short to mean
anything join their longer neighbour; what they were is counted in its words.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascpo.report.data import Run
from ascpo.report.heeded import Heeded, Way, heeded
from ascpo.report.journal import CASES, case_of
from ascpo.report.wording import change, equals, listed, number, percent, plural, promised

_TIERS = (1 / 3, 2 / 3)
"""Of the way from all that the constraints may get to the least, or from no time-out to only such."""
_ROOM = (", with nearly all of the region", ", with most of the region", ", with room for the reward")
_TIME = ("", ", while many episodes run out of time", ", while most episodes run out of time")
"""What a tier is called."""
_PARTS = 16
"""A stretch is at least this part of the run."""
_ENDS = 3
"""A stretch begins and ends with the mean of so many epochs, as one alone says little."""


@dataclass(frozen=True)
class Phase:
    """A stretch of epochs, both ends included."""

    first: int
    last: int
    tone: str
    """What its steps were, as one word, for colours."""
    title: str
    sentences: tuple[str, ...]
    """What was done."""
    outcome: str
    """What was measured meanwhile."""
    strength: float
    """How much of the region the constraints could get, roughly, between 0 and 1; for shades."""

    @property
    def epochs(self) -> str:
        return f"Epoch {self.first}" if self.first == self.last else f"Epochs {self.first} to {self.last}"

    @property
    def length(self) -> int:
        return self.last - self.first + 1


Kind = tuple[str, int]


def timeline(run: Run) -> list[Phase]:
    """From the first epoch to the last. What a kind of step means is said where it comes first."""
    how = heeded(run)
    kinds = list(zip(_tones(run, how), _tiers(run, how), strict=True))
    epochs, found, known = run.metrics["Epoch"].astype(int), [], set()
    for (tone, tier), start, stop in stretches(kinds, shortest=max(1, run.epochs // _PARTS)):
        part = _Part(run, start, stop)
        words, outcome = _words(part, how, explained=tone in known), _outcome(part)
        title = _TITLES[tone] + (_ROOM if how.way is Way.CONSTRAINT else _TIME)[tier]
        strength = 1.0 - tier / len(_ROOM)
        found.append(Phase(int(epochs[start]), int(epochs[stop - 1]), tone, title, words, outcome, strength))
        known.add(tone)
    return found


def milestones(run: Run) -> list[str]:
    """Epochs worth remembering."""
    safe, reward = run.column("SafeRate"), run.column("EpRet")
    epochs, found = run.metrics["Epoch"].astype(int), []
    if safe is not None:
        kept = np.flatnonzero(safe >= run.probability)
        share = promised(run.probability)
        if len(kept):
            often = plural(len(kept), "epoch")
            found.append(
                f"At least {share} of the episodes kept all limits first in epoch {epochs[kept[0]]}, and in {often}."
            )
        else:
            best = int(np.nanargmax(safe))
            found.append(
                f"The promised {share} of episodes within all limits were never reached; the most were "
                f"{percent(safe[best])} in epoch {epochs[best]}."
            )
    if reward is not None:
        best = int(np.nanargmax(reward))
        found.append(f"The highest return, {number(reward[best])}, was in epoch {epochs[best]}.")
    return found


def stretches(kinds: Sequence[Kind], shortest: int) -> list[tuple[Kind, int, int]]:
    """(kind, first, one after the last). None is shorter than asked for unless all together are."""
    found = [(kinds[0], 0, 1)]
    for i, kind in enumerate(kinds[1:], 1):
        last, start, _ = found[-1]
        found[-1:] = [(last, start, i + 1)] if kind == last else [found[-1], (kind, i, i + 1)]
    while len(found) > 1:
        lengths = [stop - start for _, start, stop in found]
        least = int(np.argmin(lengths))
        if lengths[least] >= shortest:
            break
        beside = [i for i in (least - 1, least + 1) if 0 <= i < len(found)]
        into = max(beside, key=lambda i: lengths[i])
        a, b = sorted((least, into))
        found[a : b + 1] = [(found[into][0], found[a][1], found[b][2])]
        found = _joined(found)
    return found


def _joined(found: list[tuple[Kind, int, int]]) -> list[tuple[Kind, int, int]]:
    """Neighbours of the same kind are one."""
    out = found[:1]
    for kind, start, stop in found[1:]:
        last, first, _ = out[-1]
        out[-1:] = [(last, first, stop)] if kind == last else [out[-1], (kind, start, stop)]
    return out


_TITLES = {
    "still": "No step was taken",
    "out-of-reach": "Out of reach",
    "recovering": "Recovering",
    "held": "Held at the bound",
    "free": "Free",
    "no-cost-gradient": "Nothing to heed",
    "projected": "Projected",
    "not-projected": "Not projected",
    "unknown": "Steps of an unknown kind",
    "rising": "The price rises",
    "falling": "The price falls",
    "resting": "The price rests",
    "paying": "Costs are paid for",
    "learning": "The shield learns",
    "shielding": "The shield acts",
    "reward": "The reward alone",
}


def _tones(run: Run, how: Heeded) -> list[str]:
    taken = run.column("Accepted")
    tones = {Way.CONSTRAINT: _of_cases, Way.PRICE: _of_prices, Way.SHIELD: _of_shields}.get(how.way)
    found = tones(run, how) if tones else ["reward"] * run.epochs
    return found if taken is None else ["still" if step == 0 else tone for step, tone in zip(taken, found, strict=True)]


def _of_cases(run: Run, how: Heeded) -> list[str]:
    cases = run.column("Case")
    if cases is None:
        return ["unknown"] * run.epochs
    return [case_of(case, how)[0].replace(" ", "-") if case in CASES else "unknown" for case in cases]


def _of_prices(run: Run, how: Heeded) -> list[str]:
    price = run.column("Multiplier")
    if price is None or len(price) < 2:
        return ["paying"] * run.epochs
    # The log's six digits make a price that rests tremble.
    moves = np.diff(price, append=price[-1] + (price[-1] - price[-2]))
    return ["rising" if move > 1e-5 * size else "falling" if move < -1e-5 * size else "resting"
            for move, size in zip(moves, np.maximum(np.abs(price), 1e-6), strict=True)]  # fmt: skip


def _of_shields(run: Run, how: Heeded) -> list[str]:
    rate = run.column("ShieldRate")
    return ["learning"] * run.epochs if rate is None else ["shielding" if one > 0 else "learning" for one in rate]


def _tiers(run: Run, how: Heeded) -> list[int]:
    share, most = run.column("AskShare"), run.setting("ask.share", None)
    relief = float(run.setting("ask.relief", 0.0))
    if how.way is Way.CONSTRAINT and share is not None and most and relief > 0:
        way = (float(most) - share) / (float(most) * relief)
    else:
        limited = run.column("TimeoutRate")
        way = np.zeros(run.epochs) if limited is None else limited
    return [int(np.searchsorted(_TIERS, one)) for one in np.nan_to_num(way)]


def _words(part: "_Part", how: Heeded, *, explained: bool) -> tuple[str, ...]:
    out = [_kind_words(part, how, explained)]
    if how.way is Way.CONSTRAINT:
        out += _constraint_words(part, how)
    out += [_price_words(part, how), _shield_words(part), _tail_words(part), _step_words(part, how)]
    return tuple(filter(None, out))


class _Part:
    """Some epochs of a run."""

    def __init__(self, run: Run, start: int, stop: int) -> None:
        self.run, self.count, self._rows = run, stop - start, slice(start, stop)

    def of(self, name: str, constraint: str | None = None) -> np.ndarray:
        """What is known of a column."""
        found = self.run.column(name, constraint)
        found = np.array([]) if found is None else found[self._rows]
        return found[np.isfinite(found)]

    def mean(self, name: str, constraint: str | None = None) -> float:
        found = self.of(name, constraint)
        return float(found.mean()) if len(found) else float("nan")

    def ends(self, name: str) -> tuple[float, float] | None:
        found = self.of(name)
        if not len(found):
            return None
        few = min(_ENDS, max(1, len(found) // 2))
        return float(found[:few].mean()), float(found[-few:].mean())


def _kind_words(part: _Part, how: Heeded, explained: bool) -> str:
    if how.way is not Way.CONSTRAINT:
        return "" if explained else f"Each epoch: {case_of(float('nan'), how)[1]}."
    counted = Counter(int(case) for case in part.of("Case"))
    if not counted:
        return ""
    (most, _), *others = counted.most_common()
    meaning = case_of(most, how)[1]
    exceptions = listed([f"{plural(count, 'step')} {case_of(case, how)[0]}" for case, count in others])
    if explained:
        return f"Among them {exceptions}." if exceptions else ""
    return f"{meaning[0].upper()}{meaning[1:]}" + (f"; among them {exceptions}." if exceptions else ".")


def _constraint_words(part: _Part, how: Heeded) -> list[str]:
    share = part.mean("AskShare")
    out = [f"The constraints could get {percent(share)} of the radius."] if np.isfinite(share) else []
    names = part.run.constraints
    for name in names:
        asked = part.mean("Asked", name)
        what = f"{how.quantity} ({name})" if len(names) > 1 else how.quantity
        wish = f"was to lower {what} by {number(asked)}" if asked > 0 else f"might raise {what} by {number(-asked)}"
        if asked == 0:
            wish = f"was to hold {what}"
        out.append(
            f"{'The step' if part.count == 1 else 'On average a step'} {wish}; it "
            f"predicted {change(part.mean('CostPredicted', name))} and brought "
            f"{change(part.mean('CostActual', name))} on the same data, with {equals('ν', part.mean('Nu', name))}."
        )
    return out


def _price_words(part: _Part, how: Heeded) -> str:
    price = part.of("Multiplier")
    if not len(price):
        return ""
    return f"The price of {how.quantity} went from {number(price[0])} to {number(price[-1])}."


def _shield_words(part: _Part) -> str:
    rate = part.mean("ShieldRate")
    if not np.isfinite(rate) or rate == 0:
        return ""
    return f"It changed {percent(rate)} of the actions, by {number(part.mean('ShieldShift'))} on average."


def _tail_words(part: _Part) -> str:
    value, tail = part.ends("VaR"), part.ends("CVaR")
    if value is None or tail is None:
        return ""
    return (
        f"The value at risk went from {number(value[0])} to {number(value[1])}, the mean cost beyond it from "
        f"{number(tail[0])} to {number(tail[1])}."
    )


def _step_words(part: _Part, how: Heeded) -> str:
    taken, search = part.of("Accepted"), part.of("LineSearch")
    out = [f"{'The' if part.count == 1 else 'A'} step moved the policy by a mean KL of {number(part.mean('KL'))}"]
    shortened = int((search > 0).sum())
    if shortened and not how.iterations:
        out.append(f"the line search shortened {'it' if part.count == 1 else f'{shortened} of {len(search)}'}")
    refused = int((taken == 0).sum())
    if refused:
        out.append(f"{refused} of {len(taken)} {'was' if refused == 1 else 'were'} not taken")
    return "; ".join(out) + "."


def _outcome(part: _Part) -> str:
    said = []
    for name, words, show in (
        ("EpRet", "return", number),
        ("EpCost", "cost of an episode", number),
        ("EpMaxCost", "largest cost", number),
        ("SafeRate", "within all limits", percent),
        ("TimeoutRate", "time-outs", percent),
    ):
        ends = part.ends(name)
        if ends is not None:
            said.append(f"{words} {show(ends[0])} → {show(ends[1])}" if part.count > 1 else f"{words} {show(ends[0])}")
    return f"Measured: {', '.join(said)}." if said else ""
