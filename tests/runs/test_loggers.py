"""Loggers: TensorBoard, Weights & Biases and MLflow get what the table says, and it is read back from their files."""

import math
import struct
import time
import warnings
from pathlib import Path

import pytest

import ascpo
from ascpo.callbacks import EpochRecord, TrainingPlan
from ascpo.runs.callbacks.logged_run import keep_id, read_id
from ascpo.runs.callbacks.mlflow import MLflow, _key
from ascpo.runs.callbacks.wandb import WeightsAndBiases
from ascpo.runs.config import configure
from ascpo.runs.directory import create
from ascpo.runs.files import BadFile
from tests.runs.helpers import CART, EPOCH, TINY
from tests.slow import slow


def epochs_of(run, first, last):
    """Records whose return is the number of the epoch. One metric is not a number."""
    for epoch in range(first, last):
        row = {"Epoch": epoch, "TotalEnvInteracts": EPOCH * (epoch + 1), "EpRet": float(epoch), "Nu": math.nan}
        yield [EpochRecord(run, row, {"Epoch": epoch, "WallClock": 1.0}), EpochRecord(run / "other", row, {})]


def log(logger, run, first, last):
    """What a training of two epochs tells a logger, with a stop in between."""
    callback = logger(run.path)
    callback.on_training_start(TrainingPlan(run.config(), run.path, first, "", {}))
    for records in epochs_of(run.path, first, last):
        callback.on_epoch_end(records)
    callback.on_training_end()


@pytest.fixture
def run(tmp_path):
    return create(tmp_path, configure(CART, total_steps=2 * EPOCH, **TINY))


def records_of(file):
    """The records of a .wandb file: a head of seven bytes, then blocks of 32 KiB with parts of records in them."""
    content, place, record = file.read_bytes(), 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        record += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # A whole record, or its last part.
            yield record
            record = b""


def finished(file, kind):
    """The records of a finished run. Its server continues to write them after the run reports its end."""
    for _ in range(100):
        records = [kind.FromString(content) for content in records_of(file)]
        if any(record.WhichOneof("record_type") == "exit" for record in records):
            return records
        time.sleep(0.1)
    raise AssertionError(f"{file} has no end")


@slow("Weights & Biases starts a server of its own")
def test_weights_and_biases_gets_the_numbers_of_the_table(run, monkeypatch):
    pytest.importorskip("wandb", reason="wandb is not installed: pip install 'ascpo[wandb]'.")
    from wandb.proto import wandb_internal_pb2

    monkeypatch.setenv("WANDB_MODE", "offline")
    for first in (0, 1):  # The run was stopped after the first epoch, and continued.
        log(WeightsAndBiases, run, first, first + 1)
    files = sorted((run.path / "wandb").glob("offline-run-*/*.wandb"))
    assert len(files) == 2
    logged, names = [], set()
    for file in files:
        for record in finished(file, wandb_internal_pb2.Record):
            if record.WhichOneof("record_type") == "history":
                items = record.history.item
                logged.append({item.key or item.nested_key[0]: item.value_json for item in items})
            elif record.WhichOneof("record_type") == "run":
                names.add(record.run.run_id)
    assert [float(row["EpRet"]) for row in logged] == [0.0, 1.0]
    assert [int(row["_step"]) for row in logged] == [EPOCH, 2 * EPOCH]
    assert not any("Nu" in row for row in logged), "what is not a number is left out"
    assert names == {read_id(run.path / "wandb-run.txt")}, "a run that continues is the same run there"


@slow("MLflow makes a database")
def test_mlflow_gets_the_numbers_of_the_table(run, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'ascpo[mlflow]'.")
    pytest.importorskip("sqlalchemy", reason="MLflow's store is not installed: pip install 'ascpo[mlflow]'.")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{run.path.parent / 'mlflow.db'}")
    statuses = []
    for first in (0, 1):
        log(MLflow, run, first, first + 1)
        name = read_id(run.path / "mlflow-run.txt")
        statuses.append(client.get_run(name).info.status)
    assert statuses == ["KILLED", "FINISHED"]
    history = client.get_metric_history(name, "EpRet")
    assert [(point.step, point.value) for point in history] == [(EPOCH, 0.0), (2 * EPOCH, 1.0)]
    found = client.get_run(name)
    assert (found.data.params["algo"], found.data.params["cost_fit.window"]) == ("ascpo", "3")
    assert "Nu" not in found.data.metrics


@slow("trains with all loggers")
def test_a_training_writes_to_all_loggers(tmp_path, monkeypatch):
    for package in ("wandb", "mlflow", "sqlalchemy", "tensorboardX"):
        pytest.importorskip(package, reason=f"{package} is not installed.")
    monkeypatch.setenv("WANDB_MODE", "offline")
    loggers = {"tensorboard": True, "wandb": True, "mlflow": True, "progress": False}
    with warnings.catch_warnings(action="error", category=UserWarning):
        results = ascpo.train_many(CART, seeds=[0], out=tmp_path, total_steps=EPOCH, **TINY, **loggers)
    for result in results:
        assert list(result.directory.glob("tensorboard/events*"))
        assert list(result.directory.glob("wandb/offline-run-*/*.wandb"))
    assert (tmp_path / "mlflow.db").exists()


@pytest.mark.parametrize("logger", [WeightsAndBiases, MLflow])
def test_a_logger_that_is_not_installed_says_how_to_get_it(logger, monkeypatch):
    monkeypatch.setattr("sys.modules", {"wandb": None, "mlflow": None, "sqlalchemy": None})
    with pytest.raises(ValueError, match=r"pip install .*ascpo\[(wandb|mlflow)\]"):
        logger(Path("run"))


def test_weights_and_biases_that_cannot_start_says_what_to_do(run):
    class Unknown(Exception):
        pass

    class Wandb:
        errors = type("errors", (), {"Error": Unknown})

        @staticmethod
        def Settings(**_):  # noqa: N802
            return None

        @staticmethod
        def init(**_):
            raise Unknown("no key.")

    callback = WeightsAndBiases.__new__(WeightsAndBiases)
    callback._wandb, callback._directory = Wandb, run.path
    with pytest.raises(ValueError, match=r"no key\. Log in with `wandb login`, or set WANDB_MODE=offline"):
        callback.on_training_start(TrainingPlan(run.config(), run.path, 0, "", {}))


def test_the_name_of_a_run_at_a_logger_is_checked(tmp_path):
    file = tmp_path / "name.txt"
    assert read_id(file) is None
    assert read_id(file) or keep_id(file, "ab12") == read_id(file) == "ab12"
    file.write_text("../../etc")
    with pytest.raises(BadFile, match="holds no name of a run"):
        read_id(file)


def test_names_of_columns_have_characters_that_mlflow_accepts():
    assert _key("EpCost_hazard+pillar/2") == "EpCost_hazard_pillar_2"
    assert _key("cost_fit.window") == "cost_fit.window"
