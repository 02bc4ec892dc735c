"""Write the reference pages that come from the code: settings, log, zoo, command line and Python interface.

It also writes the types of the settings, `src/ascpo/runs/keywords.py`, by `docs/keywords.py`.

python docs/generate.py
"""

import dataclasses
from pathlib import Path

from field_tables import shown, table, tables
from reference import command_page, python_page

from ascpo.algorithms import ALGORITHMS
from ascpo.algorithms.suite_defaults import ALGORITHM_AND_ROBOT_DEFAULTS, ROBOT_DEFAULTS, SUITE_DEFAULTS
from ascpo.cli.train import Train
from ascpo.cli.zoo import FIGURES, figures_of, steps_of, target_of
from ascpo.evaluation.bound import rounded_down
from ascpo.evaluation.metrics import MEANINGS
from ascpo.runs.options import Options
from ascpo.runs.zoo import zoo_policies
from ascpo.training.metrics import COLUMNS, TIMES
from ascpo.training.settings import Settings

HERE = Path(__file__).parent
MADE = "<!-- docs/generate.py makes this page from the code. Change the code, then run it. -->\n"


_SIGNAL = """\
A step lowers a constraint by what the linear model predicts on its batch, `CostPredicted`. Part of that is noise: the
gradient also fits what happened by chance in these episodes. `CostSignal` is the share that is no noise. It compares
the gradients b₁ and b₂ of every second environment and of the others, which met other episodes: b₁ᵀF⁻¹b₂ / bᵀF⁻¹b,
with b the gradient of the whole batch. On average the numerator is βᵀF⁻¹β, where β is the true gradient, and the
denominator is βᵀF⁻¹β + tr(F⁻¹Σ), where Σ is the covariance of b.

A value of 1 says that other episodes would confirm all of the predicted change, and 0 that they would confirm nothing.
With 0.02, and a predicted fall of the violation probability by 0.1, other episodes see a fall by 0.002, and the rest
of the step is a random walk. A single value scatters by several hundredths, so that many are below zero: take the mean
over epochs and seeds before you compare runs.

Larger epochs (`--num-envs`, `--horizon`) have less noise, and so have advantages of costs that look less far ahead
(`--cost-gae-lambda`), as far as the critic can be relied on. `--target.half-signal 0.05`, which is off by default,
asks less of a step while the signal is low. The measurement needs another solve, so only every tenth epoch has one.
`--trust-region.signal-every 1` measures in every epoch."""
"""How to read the column CostSignal."""
_EVALUATIONS = """\
`ascpo evaluate` prints these figures of fresh episodes and keeps them in `evaluation.json`, with intervals of 95 %. In
Python, `Evaluation.figures` has them. With several constraints, `EpCost`, `EpMaxCost` and `SafeRate` also occur for
each of them, with its name at the end: `SafeRate_pillar`."""
_EPISODES = """\
`episodes-sampled.csv` and `episodes-mean.csv` have one row for each episode, with columns of the same names. `Seed` and
`Episode` identify its scene. `Safe` and `Timeout` are 1 or 0. `FirstViolation` is the step of the first violation,
counted from 0, and −1 if there is none. `ViolatingSteps` is the number of steps over a limit, and `Interventions` the
number of actions that a shield changed."""


def settings_page() -> str:
    """Every setting, its default, its meaning."""
    parts = [
        "# Settings",
        MADE,
        "This page lists every setting of `ascpo train`. You give the shared settings and the settings of the chosen "
        'algorithm in the same way: `--discount 0.95 --mode paper` on the command line, `discount=0.95, mode="paper"` '
        "in `ascpo.train(...)`. A setting in a group has the group's name in front: `--target.share 0.9`, and in "
        'Python `target={"share": 0.9}`. A switch is turned on with `--carry` and off with `--no-carry`.',
        "A value that is not of the kind below, or not in its range, is refused before anything is written. All "
        "numbers are finite. A training that needs more memory than the machine has is refused as well.",
        "A setting that changes nothing for the chosen algorithm is an error, and the message says why. For example, "
        "`--cost-fit.window 5` is refused for `trpo`, which has no cost critics.",
        "The defaults below are our own, for any environment. [Suites](training.md#defaults-for-suites) have some of "
        "their own, at the end of this page. [Presets](training.md#presets) have others: `--preset published` those of "
        "the paper, `--preset released` those of its released code.",
        "## The run",
        *tables(Train, skip=("method", "options", "settings")),
        "## Options that change no number",
        *tables(Options),
        "## Shared by all algorithms",
        *tables(Settings),
        "## Settings of each algorithm",
    ]
    for name, kind in ALGORITHMS.items():
        parts += [f"### {name}", *(tables(kind) if dataclasses.fields(kind) else ["It has no settings of its own."])]
    parts += ["## Defaults for suites", _suite_table()]
    return "\n\n".join(parts) + "\n"


def _suite_table() -> str:
    by_both = [(f"`{algo}`", "all", named) for algo, named in SUITE_DEFAULTS.items()]
    by_both += [("all", robot, named) for robot, named in ROBOT_DEFAULTS.items()]
    by_both += [(f"`{algo}`", robot, named) for (algo, robot), named in ALGORITHM_AND_ROBOT_DEFAULTS.items()]
    rows = [
        (algo, robot, f"`--{name.replace('_', '-')}`", f"`{shown(value)}`")
        for algo, robot, named in by_both
        for name, value in named.items()
    ]
    return table(("algorithm", "robots", "flag", "default in suites"), rows)


def log_page() -> str:
    """Every column of the tables that a run writes."""
    return (
        "\n\n".join(
            [
                "# The log",
                MADE,
                "## metrics.csv",
                "The table has one row per epoch, and a row is on disk as soon as its epoch is over. The same "
                "`config.json` gives the same bytes on the same machine with the same number of cores, however often "
                "the run was stopped. With "
                "several constraints, a column that belongs to one of them ends in its name: `Nu_hazard`, "
                "`EpMaxCost_pillar`. Columns that end in `_timeouts` belong to the "
                "[constraint on time-outs](training.md#time-outs-as-a-constraint). A column that an algorithm does not "
                "use is `nan`, or is missing.",
                table(("column", "meaning"), [(f"`{name}`", meaning) for name, meaning in COLUMNS.items()]),
                "## The signal of the cost gradient",
                _SIGNAL,
                "## timing.csv",
                "Times differ from run to run, so they are in a table of their own.",
                table(("column", "meaning"), [(f"`{name}`", meaning) for name, meaning in TIMES.items()]),
                "## Evaluations",
                _EVALUATIONS,
                table(("figure", "meaning"), [(f"`{name}`", meaning) for name, meaning in MEANINGS.items()]),
                _EPISODES,
            ]
        )
        + "\n"
    )


def zoo_page() -> str:
    """The trained policies that come with the package."""
    rows = [
        (
            f"`zoo:{policy.name}`",
            steps_of(policy),
            *figures_of(policy),
            target_of(policy),
            rounded_down(policy.certificate["bound"]),
        )
        for policy in zoo_policies()
    ]
    found = table(("policy", "steps", *FIGURES, "target", "certified"), rows)
    return "\n\n".join(["# The zoo", MADE, films(), _ABOUT_ZOO, found, _BELOW_ZOO]) + "\n"


def films() -> str:
    """Three to a row: policies that have a film, and what each is certified for."""
    shown = [one for one in zoo_policies() if one.algo == "ascpo" and (_PICTURES / f"{one.suite}.webp").exists()]
    cells = [
        f"![{one.suite}](pictures/{one.suite}.webp)<br>**{one.suite}**: safe with probability "
        f"{rounded_down(one.certificate['bound'])}"
        for one in shown
    ]
    cells += [""] * (-len(cells) % _COLUMNS)
    rows = [cells[i : i + _COLUMNS] for i in range(0, len(cells), _COLUMNS)]
    return table(("",) * _COLUMNS, rows)


_PICTURES, _COLUMNS = Path(__file__).parent / "pictures", 3
_ABOUT_ZOO = """\
These trained policies come with the package. Each has the settings and the log of its training, an evaluation on fresh
episodes, its worst episodes and a certificate. Every command that takes a run's directory takes `zoo:NAME` too: the run
is then unpacked into `runs/zoo`. It is a run like any other, but without checkpoints, so it cannot be trained further.

```bash
ascpo zoo list
ascpo zoo show Point-1-Hazard
ascpo evaluate zoo:Point-1-Hazard --episodes 20
```

```python
import ascpo

policy = ascpo.load("zoo:Point-1-Hazard")
```"""
_BELOW_ZOO = """\
J_r is the mean return, M_c the mean sum of the costs of an episode, both over fresh episodes with sampled actions.
An episode is safe if it keeps every limit in every state, and a time-out if the time limit ends it. The target is the
target probability of the training; TRPO has none. With the confidence of its certificate, an episode of a policy is
safe with at least the certified probability. `ascpo certify --check zoo:NAME` plays all episodes of a certificate again
and compares every figure.

`python -m benchmarks.zoo RUNS` adds trained runs to the zoo. Of several runs of a suite and an algorithm it takes the
one with the fewest failures on validation scenes; the certificate comes afterwards and does not affect the choice. Then
`python -m benchmarks.films` makes the films: each is the policy's first episode that keeps its limits, reaches the goal
and is not too short."""

PAGES = {
    "settings.md": settings_page,
    "log.md": log_page,
    "zoo.md": zoo_page,
    "reference/command-line.md": lambda: command_page(MADE),
    "reference/python.md": lambda: python_page(MADE),
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).parent.mkdir(exist_ok=True)
        (HERE / name).write_text(page())
    import keywords

    keywords.FILE.write_text(keywords.keywords_file())
