"""The journal: one row of numbers per epoch, under the names this field uses, and what each of them means."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from ascpo.experience.episodes import LEVELS
from ascpo.training.state import Told

Row = dict[str, float]

COLUMNS: dict[str, str] = {
    "Epoch": "counted from 0",
    "TotalEnvInteracts": "steps of all environments so far",
    "EpRet": "mean return of the episodes that finished in this epoch",
    "EpCost": "their mean sum of costs, all constraints together",
    "EpMaxCost": "the mean of their largest cost, of the worst constraint",
    "EpLen": "their mean number of steps",
    "Episodes": "how many finished; where none did, those that run stand in",
    "SafeRate": "share of them that kept every limit in every state",
    "TimeoutRate": "share of them that the time limit ended",
    "Case": "of the step: 0 infeasible, 1 recovering, 2 bounded, 3 free, 4 no cost gradient",
    "AskShare": "share of the trust region's radius that the constraints could get",
    "Lambda": "multiplier of the trust region",
    "KL": "mean divergence of the step taken",
    "Gain": "by how much the loss fell: the reward's surrogate, and what costs add to it",
    "LineSearch": "how often the step was shortened; of PPO's, how many iterations were left",
    "Accepted": "1 if a step was taken, 0 if the policy stayed as it was",
    "CGResidual": "largest relative residual of the linear solves",
    "LogStd": "mean logarithm of the policy's standard deviations",
    "LossV": "last loss of the reward's critic",
    "LossC": "last loss of the cost critics",
    "EVReward": "explained variance of the reward's critic on episodes that it has not seen",
    "StdMaxCost": "standard deviation of an episode's largest cost",
    **{f"EpMaxCost{level}": f"what the largest cost of {level} % of the episodes is at most" for level in LEVELS},
    "Nu": "multiplier of the constraint",
    "Asked": "by how much the constraint's surrogate was asked to fall",
    "CostPredicted": "change of that surrogate by the linear model",
    "CostActual": "its change on the same steps, after the line search",
    "EVCost": "explained variance of the cost critic on episodes that it has not seen",
    "CriticBias": "by how much it expects too much, as a multiple of the truth",
    "WorstCost": "the largest cost of any state in this epoch, finished episode or not",
    "CostRate": "cost per step since the start",
    "EpochCostRate": "cost per step of this epoch",
    "Multiplier": "the price of costs in the objective, where there is one; of several, the largest",
    "ShieldRate": "share of the actions that a shield changed",
    "ShieldShift": "by how much it changed those, in the policy's units",
    "VaR": "ν, which a share α of the episodes cost at most; of several constraints, the largest",
    "CVaR": "mean cost of the others",
}
"""What the columns of `metrics.csv` mean. Of several constraints each has columns of its own, which end in its name;
`_square` is the critic of a squared maximum."""

TIMES: dict[str, str] = {
    "Epoch": "counted from 0",
    "TimeRollout": "seconds in which the environments moved and the policy acted",
    "TimeJudge": "for values, advantages and episodes",
    "TimePolicy": "for the policy's step",
    "TimeCritics": "for fitting the critics",
    "TimeOther": "for the journal",
    "StepsPerSecond": "of this epoch",
    "TimeSaved": "for the log and the checkpoint of the epoch before",
    "WallClock": "seconds of work since the run began, without those between a stop and going on",
}
"""What the columns of `timing.csv` mean."""


News = SimpleNamespace
"""What was `Told`, on the host: with NumPy's arrays, since with JAX's every sum would be a program to compile."""


def plain(told: Told) -> dict[str, Any]:
    """As nested dictionaries, which can be fetched from the device and taken apart."""
    return vars(told) | {"episodes": vars(told.episodes), "report": vars(told.report)}


def row_of(told: News, names: tuple[str, ...]) -> Row:
    """What happened in an epoch. Columns of a constraint carry its name if there are several."""
    episodes, step = SimpleNamespace(**told.episodes), SimpleNamespace(**told.report)
    explained, bias = told.cost_explained, told.cost_bias
    row: Row = {
        "EpRet": float(episodes.reward),
        "EpCost": float(np.sum(episodes.cost)),
        "EpMaxCost": float(np.max(episodes.maximum)),
        "EpLen": float(episodes.length),
        "Episodes": int(episodes.finished),
        "SafeRate": 1.0 - float(episodes.violating),
        "TimeoutRate": float(episodes.time_limited),
        "Case": int(step.case),
        "AskShare": float(told.share),
        "Lambda": float(step.lam),
        "KL": float(step.divergence),
        "Gain": float(step.gain),
        "LineSearch": int(step.exponent),
        "Accepted": int(step.accepted),
        "CGResidual": float(step.residual),
        "LogStd": float(told.log_std),
        "LossV": float(told.losses["value"]),
        "LossC": float(told.losses.get("cost", np.nan)),
        "EVReward": float(told.explained),
    }
    constrained, several = len(step.nu) > 0, len(names) > 1
    for i, name in enumerate(names):
        tail = f"_{name}" if several else ""
        if several:
            row |= {f"EpCost{tail}": float(episodes.cost[i]), f"EpMaxCost{tail}": float(episodes.maximum[i])}
        row |= {
            f"StdMaxCost{tail}": float(np.sqrt(max(episodes.square[i] - episodes.maximum[i] ** 2, 0.0))),
            **{f"EpMaxCost{level}{tail}": float(q) for level, q in zip(LEVELS, episodes.quantiles[:, i], strict=True)},
            f"Nu{tail}": float(step.nu[i]) if constrained else np.nan,
            f"Asked{tail}": float(step.asked[i]) if constrained else np.nan,
            f"CostPredicted{tail}": float(step.predicted[i]) if constrained else np.nan,
            f"CostActual{tail}": float(step.actual[i]) if constrained else np.nan,
        }
    signals = len(explained)
    for i in range(max(signals, len(names))):
        tail = (f"_{names[i % len(names)]}" if several else "") + ("_square" if i >= len(names) else "")
        known = i < signals
        row |= {
            f"EVCost{tail}": float(explained[i]) if known else np.nan,
            f"CriticBias{tail}": float(bias[i]) if known else np.nan,
        }
    return row
