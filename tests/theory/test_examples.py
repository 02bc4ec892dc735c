"""The examples of the documentation print what they show."""

import doctest
from pathlib import Path

from ascpo import theory

DOCS = Path(__file__).parents[2] / "docs"


def test_the_packages_example_prints_what_it_says():
    outcome = doctest.testmod(theory)
    assert outcome.failed == 0
    assert outcome.attempted > 5


def test_the_worked_example_of_the_docs_prints_what_it_says():
    outcome = doctest.testfile(str(DOCS / "theory.md"), module_relative=False)
    assert outcome.failed == 0
    assert outcome.attempted > 10


def test_every_public_name_is_there():
    assert all(hasattr(theory, name) for name in theory.__all__)
