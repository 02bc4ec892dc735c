"""docs/differences.md: every row says which settings reproduce the difference. They exist, and none is missing."""

import re
from pathlib import Path

from ascpo.algorithms import ALGORITHMS
from ascpo.algorithms.presets import PRESETS
from ascpo.runs.serialization import flat, to_plain
from ascpo.training.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "differences.md").read_text()
MARKS = ("both", "published", "released", "setting", "fixed", "kept", "ours")
ROWS = [re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGE.splitlines() if line.startswith("| ")]
FLAG = re.compile(r"--([a-z][a-z0-9.-]*)")
EXIST = {name for kind in (Settings, *ALGORITHMS.values()) for name in flat(to_plain(kind()))}


def names(text):
    """The settings whose flags occur in a text, also as switches that are turned off."""
    return {re.sub(r"(^|\.)no-", r"\1", flag).replace("-", "_") for flag in FLAG.findall(text)}


def test_every_row_says_whether_the_difference_can_be_reproduced():
    rows = [row for row in ROWS if row[0].strip() not in ("topic", "algorithm")]
    assert len(rows) > 70
    for row in rows:
        assert row[-1].strip().startswith(MARKS), row
        assert len(row) in (4, 5), row


def test_a_row_that_a_preset_reproduces_names_its_settings():
    for row in ROWS:
        if row[-1].strip().startswith(("both", "published", "released")):
            assert names(row[-1]), row


def test_every_setting_that_is_named_exists():
    assert names(PAGE) <= EXIST | {"preset"}


def test_every_setting_of_a_preset_is_named():
    set_by_presets = {name for algos in PRESETS.values() for entries in algos.values() for name in entries}
    rows = " ".join(row[-1] for row in ROWS)
    assert set_by_presets <= names(rows)
