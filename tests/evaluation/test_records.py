import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ascpo.evaluation.records import Record, read_records, records_content
from ascpo.runs.directory import NoRun

RECORD = Record(
    env="Point-1-Hazard",
    cost_names=("hazard", "pillar"),
    limits=(0.0, 0.5),
    seed=2**31 + 5,
    episode=3,
    actions=np.array([[0.1, -0.2], [1.5, 0.0]], np.float32),
    reward=1.2345678901234567,
    maximum=(0.1, 0.7),
    first_violation=(1, 0),
)


def test_records_are_the_same_after_writing_and_reading(tmp_path):
    (tmp_path / "worst.safetensors").write_bytes(records_content([RECORD, RECORD]))
    first, second = read_records(tmp_path / "worst.safetensors")
    assert_array_equal(first.actions, RECORD.actions)
    assert first.actions.dtype == np.float32
    for name, value in vars(RECORD).items():
        if name != "actions":
            assert getattr(second, name) == value


def test_a_record_takes_kilobytes(tmp_path):
    actions = np.zeros((1000, 2), np.float32)
    (tmp_path / "worst.safetensors").write_bytes(records_content([Record(**{**vars(RECORD), "actions": actions})]))
    assert (tmp_path / "worst.safetensors").stat().st_size < 10_000


def test_violated_constraints_are_named_in_the_order_of_their_violations():
    assert RECORD.violated == ("pillar", "hazard")
    assert Record(**{**vars(RECORD), "first_violation": (-1, -1)}).violated == ()


def test_a_missing_file_gets_the_command_that_makes_it(tmp_path):
    with pytest.raises(NoRun, match="ascpo evaluate"):
        read_records(tmp_path / "worst.safetensors")


def test_a_damaged_or_foreign_file_is_refused(tmp_path):
    (tmp_path / "worst.safetensors").write_bytes(b"not at all")
    with pytest.raises(NoRun, match=r"worst.safetensors is damaged, or this program did not write it"):
        read_records(tmp_path / "worst.safetensors")


def test_a_flipped_bit_in_a_limit_is_found(tmp_path):
    file = tmp_path / "worst.safetensors"
    file.write_bytes(records_content([RECORD]))
    file.write_bytes(file.read_bytes().replace(b"[0.0, 0.5]", b"[0.0, 0.4]"))
    with pytest.raises(NoRun, match=r"worst.safetensors is damaged: its checksum does not fit"):
        read_records(file)
