import numpy as np
import pytest

from ascpo.runs import tables
from ascpo.runs.files import BadFile, CannotWrite
from ascpo.runs.tables import Table, check_table, read_table, sums_of, write_rows


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


def test_a_continued_table_equals_one_that_never_stopped(tmp_path):
    write(tmp_path / "whole.csv", rows(0, 6))
    write(tmp_path / "stopped.csv", rows(0, 4))
    with (tmp_path / "stopped.csv").open("a") as file:
        file.write("4,1.3")  # Killed in the middle of a row.
    write(tmp_path / "stopped.csv", rows(2, 6), keep=2)
    assert (tmp_path / "stopped.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_table_of_another_version_keeps_its_columns(tmp_path):
    """One column is new, and one is there no longer."""
    path = tmp_path / "a.csv"
    Table(path).write({"Epoch": 0, "Old": 1.5, "Both": 2.5})
    Table(path, 1).write({"Epoch": 1, "Both": 3.5, "New": 4.5})
    found = read_table(path)
    assert list(found) == ["Epoch", "Old", "Both"]
    np.testing.assert_array_equal(found["Both"], [2.5, 3.5])
    np.testing.assert_array_equal(found["Old"], [1.5, np.nan])


def test_a_table_that_lost_rows_is_refused(tmp_path):
    write(tmp_path / "a.csv", rows(0, 2))
    with pytest.raises(ValueError, match="has 2 rows, but the checkpoint was written after 3"):
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


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_a_changed_row_is_found_and_those_before_it_remain_valid(tmp_path):
    write(tmp_path / "a.csv", rows(0, 5))
    flip(tmp_path / "a.csv", (tmp_path / "a.csv").read_bytes().index(b"0.666667"))
    with pytest.raises(BadFile, match=r"a.csv is damaged, or a.csv.sha256 is: row 2 does not fit"):
        read_table(tmp_path / "a.csv")
    assert len(check_table(tmp_path / "a.csv").lines) == 1 + 2


def test_lost_rows_are_found(tmp_path):
    write(tmp_path / "a.csv", rows(0, 5))
    (tmp_path / "a.csv").write_bytes(b"".join((tmp_path / "a.csv").read_bytes().splitlines(keepends=True)[:4]))
    with pytest.raises(BadFile, match=r"has lost rows: it has 3, and a.csv.sha256 knows 5"):
        read_table(tmp_path / "a.csv")


def test_a_kill_between_a_row_and_its_checksum_damages_only_that_row(tmp_path):
    write(tmp_path / "a.csv", rows(0, 3))
    sums = sums_of(tmp_path / "a.csv").read_bytes()
    sums_of(tmp_path / "a.csv").write_bytes(sums[:-5])
    found = check_table(tmp_path / "a.csv")
    assert (found.damage, len(found.lines)) == ("", 1 + 2)
    assert "last row" in found.pending


def test_a_log_that_the_checkpoint_proves_gets_its_checksums_back(tmp_path):
    table = Table(tmp_path / "a.csv", run="me")
    for row in rows(0, 3):
        table.write(row)
    sums_of(tmp_path / "a.csv").write_text("nonsense\n")
    Table(tmp_path / "a.csv", 3, run="me", expected=table.last).close()
    assert (check_table(tmp_path / "a.csv").damage, check_table(tmp_path / "a.csv").run) == ("", "me")
    flip(tmp_path / "a.csv", -10)
    with pytest.raises(BadFile, match="row 2 does not fit"):
        Table(tmp_path / "a.csv", 3, run="me", expected=table.last)
    with pytest.raises(BadFile, match="not the log of this checkpoint"):
        Table(tmp_path / "a.csv", 2, run="me", expected=table.last)


def test_missing_rows_of_timing_become_nan(tmp_path):
    write(tmp_path / "a.csv", rows(0, 1))
    table = Table(tmp_path / "a.csv", 3, may_miss=True)
    table.write(rows(3, 4)[0])
    found = read_table(tmp_path / "a.csv")
    np.testing.assert_array_equal(found["Epoch"], [0, 1, 2, 3])
    np.testing.assert_array_equal(found["EpRet"], [0, np.nan, np.nan, 1])


def full_after(monkeypatch, count, half=True):
    """A disk on which so many writes succeed. The next one writes a half, as full disks do."""
    left, write_all = [count], tables.write_all

    def write(file, content):
        left[0] -= 1
        if left[0] < 0:
            file.write(content[: len(content) // 2] if half else b"")
            raise OSError(28, "No space left on device")
        write_all(file, content)

    monkeypatch.setattr(tables, "write_all", write)


@pytest.mark.parametrize("writes", range(4))
def test_an_epoch_has_its_rows_in_both_tables_or_in_none(tmp_path, monkeypatch, writes):
    two = [Table(tmp_path / name) for name in ("a.csv", "b.csv")]
    write_rows(two, rows(0, 1) * 2)
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        full_after(patch, writes)
        with pytest.raises(CannotWrite, match=r"[ab].csv could not be written: No space left on device"):
            write_rows(two, rows(1, 2) * 2)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    write_rows(two, rows(1, 2) * 2)
    assert list(read_table(tmp_path / "b.csv")["Epoch"]) == [0, 1]
