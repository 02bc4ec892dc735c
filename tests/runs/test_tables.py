import numpy as np
import pytest

from ascpo.runs.tables import Table, read_table


def write(path, rows, keep=0):
    table = Table(path, keep)
    for row in rows:
        table.write(row)
    table.close()


def rows(first, last):
    return [{"Epoch": i, "EpRet": i / 3, "LossC": float("nan")} for i in range(first, last)]


def test_every_row_is_on_disk_as_soon_as_it_is_written(tmp_path):
    table = Table(tmp_path / "a.csv")
    table.write({"Epoch": 0, "EpRet": 1 / 3})
    assert (tmp_path / "a.csv").read_text().splitlines() == ["Epoch,EpRet", "0,0.333333"]


def test_a_table_that_goes_on_equals_one_that_never_stopped(tmp_path):
    write(tmp_path / "whole.csv", rows(0, 6))
    write(tmp_path / "stopped.csv", rows(0, 4))
    with (tmp_path / "stopped.csv").open("a") as file:
        file.write("4,1.3")  # Killed in the middle of a row.
    write(tmp_path / "stopped.csv", rows(2, 6), keep=2)
    assert (tmp_path / "stopped.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_table_that_lost_rows_is_refused(tmp_path):
    write(tmp_path / "a.csv", rows(0, 2))
    with pytest.raises(ValueError, match="has 2 rows, but the checkpoint was made after 3"):
        Table(tmp_path / "a.csv", 3)


def test_columns_are_read_by_name_and_an_unfinished_row_is_left_out(tmp_path):
    write(tmp_path / "a.csv", rows(0, 3))
    with (tmp_path / "a.csv").open("a") as file:
        file.write("3,1")
    found = read_table(tmp_path / "a.csv")
    np.testing.assert_array_equal(found["Epoch"], [0, 1, 2])
    assert np.isnan(found["LossC"]).all()


def test_an_empty_table_has_no_columns(tmp_path):
    (tmp_path / "a.csv").touch()
    assert read_table(tmp_path / "a.csv") == {}
