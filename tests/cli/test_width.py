"""Tables on a terminal of 80 columns keep every figure."""

import io

import pytest
from rich.console import Console

from ascpo.cli.show import show_figures
from ascpo.paper.tables import Table, _print_table

NAME = "EpMaxCost_of_a_constraint_with_a_name_that_is_long_and_longer"
FIGURES = {"EpRet": -1234.5678, "CostRate": 0.00030641, NAME: 0.00012345}
FIGURES |= {"intervals": {"EpRet": (-1299.75, -1111.25), "CostRate": (0.00020618, 0.00041623), NAME: (1.5e-5, 2.5e-5)}}


@pytest.mark.parametrize("ways", [("sampled",), ("sampled", "mean")])
def test_an_evaluation_fits_eighty_columns_with_all_figures(monkeypatch, capsys, ways):
    monkeypatch.setenv("COLUMNS", "80")
    show_figures(dict.fromkeys(ways, FIGURES), 100)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed
    for figure in ("-1235 [-1300, -1111]", "0.0003064 [0.0002062, 0.0004162]", "0.0001234 [1.5e-05, 2.5e-05]"):
        assert printed.count(figure) == len(ways)
    assert NAME in "".join(line.split("  ")[0].strip() for line in printed.splitlines())


def test_a_wide_table_continues_below_instead_of_breaking_its_numbers():
    columns = {"algorithm": ""} | {f"a column {i}": ".4f" for i in range(12)}
    table = Table("Title", columns, [("ascpo", *(10000.0 + i for i in range(12)))])
    out = io.StringIO()
    _print_table(table, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    words = out.getvalue().split()
    assert all(f"{10000 + i}.0000" in words for i in range(12))
    assert words.count("ascpo") > 1, "each part names its rows"
