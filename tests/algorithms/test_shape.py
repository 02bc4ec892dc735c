"""Algorithms are short compositions. Code that two of them need belongs into a part."""

from collections import defaultdict
from pathlib import Path

import pytest

import ascpo.algorithms
from ascpo.algorithms import ALGORITHMS, ASCPO, CPO, PASCPO, PCPO, SCPO, CPOCVaR, TRPOCVaR
from ascpo.algorithms.outline import outline_of
from ascpo.surrogates.settings import TargetSettings

FOLDER = Path(ascpo.algorithms.__file__).parent
IMPORTS = ("from ", "import ", "if TYPE_CHECKING:")
FILES = [FOLDER / f"{name.replace('-', '_')}.py" for name in ALGORITHMS]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_algorithm_is_one_short_file(file):
    assert len(file.read_text().splitlines()) <= 120


def test_no_two_algorithms_share_six_lines():
    seen = defaultdict(set)
    for file in FILES:
        lines = [line for line in map(str.strip, file.read_text().splitlines()) if line]
        lines = [line for line in lines if not line.startswith(IMPORTS)]
        for i in range(len(lines) - 5):
            seen[tuple(lines[i : i + 6])].add(file.stem)
    assert [files for files in seen.values() if len(files) > 1] == []


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_has_the_name_that_is_typed_and_a_page(name):
    assert ALGORITHMS[name]().build(0.98).name == name
    assert (FOLDER.parents[2] / "docs" / "algorithms" / f"{name}.md").exists()


@pytest.mark.parametrize(
    ("settings", "head"),
    [({}, "sigmoid"), ({"mode": "chernoff", "cap": 1.0}, "sigmoid"), ({"mode": "chernoff", "cap": 1.5}, "softplus"),
     ({"mode": "chernoff", "cap": 1.0, "union_bound": True}, "softplus"), ({"mode": "moment"}, "softplus")],
)  # fmt: skip
def test_critics_of_signals_that_are_at_most_one_end_in_a_sigmoid(settings, head):
    assert ALGORITHMS["ascpo"](**settings).build(0.98).cost_critics.head == head


TARGETS = (TargetSettings("own"), TargetSettings("capped"), TargetSettings(half_signal=0.1))
METHODS = [
    *(kind() for kind in ALGORITHMS.values()),
    *(kind(target=target) for kind in (ASCPO, CPO, SCPO, CPOCVaR) for target in TARGETS),
    *(ASCPO(mode) for mode in ("reference", "paper", "moment", "cantelli", "chance", "chernoff")),
    ASCPO("paper", k=3.0),
    ASCPO("chernoff", cap=1.0),
    ASCPO("chernoff", cap=1.0, union_bound=True),
    ASCPO("chance", target=TargetSettings("own")),
    PASCPO("reference", "sum", "cost", k=2.0),
    PCPO(target=TargetSettings("own")),
    TRPOCVaR(alpha=0.5),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_an_outline_agrees_with_the_parts_of_the_algorithm(method):
    assert outline_of(method, 0.95) == method.build(0.95).outline
