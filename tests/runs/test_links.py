"""A run's directory with a link in it, made by somebody who wants another file to be overwritten."""

import pytest

from ascpo.evaluation.evaluate import evaluate_run
from ascpo.replay.video import _video_file
from ascpo.report.document import write_report
from ascpo.runs.callbacks.tensorboard import TensorBoard
from ascpo.runs.checkpoints import Checkpoints
from ascpo.runs.directory import RunDirectory, write_whole
from ascpo.runs.links import LinkInRun
from ascpo.runs.tables import Table
from tests.evaluation.untrained import untrained
from tests.report.made import made


@pytest.fixture
def victim(tmp_path):
    """A file that nobody may change."""
    file = tmp_path / "victim"
    file.write_text("Epoch\n0\n")
    return file


def rows_kept(path):
    path.write_text("Epoch\n0\n1\n")
    Table(path, 1)


def locked(path):
    with RunDirectory(path.parent).locked():
        pass


def video(path):
    with _video_file(path, 30.0):
        pass


WRITERS = {
    "a file": ("config.json", lambda path: write_whole(path, "{}")),
    "the part of a file": ("config.json.part", lambda path: write_whole(path.with_suffix(""), "{}")),
    "a table": ("metrics.csv", Table),
    "a table that goes on": ("metrics.csv", lambda path: Table(path, 1)),
    "the part of a table": ("metrics.csv.part", lambda path: rows_kept(path.with_suffix(""))),
    "a lock": (".lock", locked),
    "a video": ("worst.mp4", video),
    "the part of a video": (".worst.part.mp4", lambda path: video(path.with_name("worst.mp4"))),
}


@pytest.mark.parametrize(("name", "write"), WRITERS.values(), ids=WRITERS)
def test_a_file_is_not_written_through_a_link(tmp_path, victim, name, write):
    (run := tmp_path / "run").mkdir()
    (run / name).symlink_to(victim)
    with pytest.raises(LinkInRun, match=f"{name} is a symbolic link"):
        write(run / name)
    assert victim.read_text() == "Epoch\n0\n"
    assert (run / name).is_symlink()


def test_a_directory_is_not_written_through_a_link(tmp_path):
    (elsewhere := tmp_path / "elsewhere").mkdir()
    run = made(tmp_path / "run")
    for name, write in {
        "checkpoints": lambda: Checkpoints(run / "checkpoints", ""),
        "tensorboard": lambda: TensorBoard(run).on_training_start(_Plan),
        "report": lambda: write_report([run]),
    }.items():
        (run / name).symlink_to(elsewhere)
        with pytest.raises(LinkInRun, match=f"{name} is a symbolic link"):
            write()
    assert list(elsewhere.iterdir()) == []


class _Plan:
    epochs_done = 0

    class config:  # noqa: N801
        class settings:  # noqa: N801
            num_envs = horizon = 1


def test_a_link_deeper_in_a_report_or_among_checkpoints_is_found(tmp_path, victim):
    run = made(tmp_path / "run")
    (run / "report").mkdir()
    (run / "report" / "figures").symlink_to(tmp_path)
    with pytest.raises(LinkInRun, match="figures is a symbolic link"):
        write_report([run])
    (run / "report" / "figures").unlink()
    (run / "report" / "index.html").symlink_to(victim)
    with pytest.raises(LinkInRun, match=r"index.html is a symbolic link"):
        write_report([run])
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / "5").symlink_to(tmp_path)
    with pytest.raises(LinkInRun, match="5 is a symbolic link"):
        Checkpoints(run / "checkpoints", "")
    assert victim.read_text() == "Epoch\n0\n"


def test_the_directory_itself_may_be_reached_through_a_link(tmp_path):
    run = untrained(tmp_path / "disk")
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    (tmp_path / "one").symlink_to(run)
    for path in (tmp_path / "runs" / run.name, tmp_path / "one"):
        evaluate_run(path, 2)
    assert (run / "evaluation.json").exists()
