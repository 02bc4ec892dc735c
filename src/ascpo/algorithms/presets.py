"""Presets: the settings of every algorithm as its authors have them.

published   the settings of the ASCPO paper, also for the baselines. If its text and its tables disagree, the tables
            count. If it says nothing, the released code counts, unless that is a bug.
released    the settings of the authors' released code, with its bugs as far as settings can reproduce them.

A preset is data: algorithm → setting → value, by the names on the command line. It lists only what differs from our
defaults. docs/differences.md lists what no setting reproduces.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

PresetName = Literal["published", "released"]


class Entry(NamedTuple):
    """A setting of a preset."""

    value: object
    reason: str
    """The source of the value, as a short sentence."""


_Entries = dict[str, Entry]

_EVERY: _Entries = {
    "value_fit.batch_size": Entry(0, "The code fits critics on full batches."),
}
_REGION = _EVERY | {
    "trust_region.damping": Entry(0.0, "The code adds nothing to the Fisher matrix."),
    "trust_region.cg_iterations": Entry(100, "The code has up to 100 iterations of conjugate gradients."),
    "trust_region.fisher_stride": Entry(1, "The code estimates the Fisher matrix from all steps."),
}
_COSTS: _Entries = {
    "cost_fit.batch_size": Entry(0, "The code fits critics on full batches."),
    "cost_fit.window": Entry(1, "The code fits critics to the last epoch alone."),
    "cost_fit.balance": Entry("none", "The cost critic sees every state once."),
}
_SUBSAMPLED = Entry("subsample", "States without future cost are sub-sampled, and not weighted back.")
_NO_BIAS: _Entries = {"output_bias": Entry(None, "The code initialises every layer alike.")}
_OWN: _Entries = {"target.kind": Entry("own", "A step aims at the algorithm's own bound.")}
_MARGIN: _Entries = {"margin": Entry(0.03, "The code has a limit of −0.03 for ASCPO and SCPO.")}
_RATE: _Entries = {"multiplier_rate": Entry(0.005, "The paper and the code have a rate of 0.005.")}
_SHIELD: _Entries = {"shield_fit.batch_size": Entry(0, "The code fits the layer on full batches.")}
_PAPER_LAMBDA: _Entries = {"cost_gae_lambda": Entry(0.97, "The paper's table has one λ, 0.97, for rewards and costs.")}
_CVAR: _Entries = _NO_BIAS | {
    "alpha": Entry(0.3, "The code takes the worst 70 % of the episodes; the paper has no value."),
    "cost_gae_lambda": Entry(0.97, "The paper's table and the code have 0.97."),
}

_BOTH: dict[str, _Entries] = {
    "trpo": _REGION,
    "trpo-lagrangian": _REGION | _COSTS | _RATE,
    "trpo-sl": _REGION | _SHIELD,
    "trpo-usl": _REGION
    | _SHIELD
    | {"threshold": Entry(0.0, "An action is changed until its predicted cost is at most the limit.")},
    "trpo-ipo": _REGION
    | _COSTS
    | {
        "t": Entry(0.01, "The paper and the code have t = 0.01."),
        "slope": Entry(0.0005, "The code has a slope of 0.0005; the paper has none."),
    },
    "trpo-fac": _REGION
    | _COSTS
    | {
        "multiplier_rate": Entry(1e-4, "The paper and the code have a learning rate of 0.0001."),
        "multiplier_steps": Entry(1, "The code takes one step of Adam an epoch."),
    },
    "cpo": _REGION | _COSTS | _OWN,
    "pcpo": _REGION
    | _COSTS
    | _OWN
    | {"projection.within_region": Entry(False, "The whole step is taken; there is no line search.")},
    "scpo": _REGION | _COSTS | _OWN | _NO_BIAS | {"cost_fit.balance": _SUBSAMPLED},
    "trpo-cvar": _REGION | _COSTS | _CVAR,
    "cpo-cvar": _REGION | _COSTS | _CVAR | _OWN,
    "ascpo": _REGION | _COSTS | _OWN | _NO_BIAS,
    "pascpo": _EVERY
    | _COSTS
    | _NO_BIAS
    | {
        "multiplier_rate": Entry(0.005, "The code has the rate that the paper gives for other multipliers."),
        "strength": Entry(0.05, "The code has a factor of 0.05; the paper has none."),
        "rescaled": Entry(False, "Neither the paper nor the code divides the loss by 1 + λ."),
    },
    "ppo-lagrangian": _EVERY
    | _COSTS
    | _RATE
    | {
        "rescaled": Entry(False, "The code does not divide the loss by 1 + λ."),
        "ppo.clip_costs": Entry(False, "The code leaves the costs' part of the loss unclipped."),
    },
}
"""The entries that both presets share."""

_MONOTONE: _Entries = {
    "cost_fit.balance": _SUBSAMPLED,
    "cost_fit.monotone_weight": Entry(1.0, "The paper has the monotone loss; its weight is the code's."),
}
_PUBLISHED: dict[str, _Entries] = {
    "scpo": _PAPER_LAMBDA,
    "ascpo": {"mode": Entry("paper", "The paper's bound, with its equations put right.")} | _MONOTONE | _PAPER_LAMBDA,
    "pascpo": _MONOTONE | _PAPER_LAMBDA,
}
_RELEASED: dict[str, _Entries] = {
    "scpo": _MARGIN,
    "trpo-cvar": {"multiplier_rate": Entry(0.0035, "In the code λ rises by 0.005·(1 − α)·(CVaR − w), and α is 0.3.")},
    "ascpo": {"mode": Entry("reference", "The bound that the code computes.")} | _MARGIN,
    "pascpo": {
        "mode": Entry("reference", "The bound that the code computes."),
        "signal": Entry("sum", "The code stores raw costs where the increments of the largest cost should be."),
        "ascent": Entry("cost", "In the code λ rises with the mean sum of an episode's costs."),
        "ppo.optimistic_costs": Entry(True, "The code clips costs by min, which is optimistic."),
    },
}

SOURCES: Mapping[PresetName, Mapping[str, Mapping[str, Entry]]] = {
    "published": {algo: shared | _PUBLISHED.get(algo, {}) for algo, shared in _BOTH.items()},
    "released": {algo: shared | _RELEASED.get(algo, {}) for algo, shared in _BOTH.items()},
}
"""Every entry of every preset, with its reason."""

PRESETS: Mapping[PresetName, Mapping[str, Mapping[str, object]]] = {
    name: {algo: {setting: entry.value for setting, entry in entries.items()} for algo, entries in algos.items()}
    for name, algos in SOURCES.items()
}
"""Preset → algorithm → setting → value."""
