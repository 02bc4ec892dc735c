"""Videos of episodes: as many pictures as steps, red while a cost is being paid."""

import numpy as np
import pytest

from ascpo.cli import video as verb
from ascpo.environments.render import RenderingUnavailable
from ascpo.evaluation.records import write_records
from ascpo.evaluation.retrace import retrace
from ascpo.replay import video as module
from ascpo.replay.tale import tell
from ascpo.replay.video import with_timeline, write_video
from ascpo.runs.serialization import BadSetting
from tests.replay.straight import HAZARD, OWN, straight

mediapy = pytest.importorskip("mediapy", reason="mediapy is not installed: pip install 'ascpo[video]'.")


def redness(pictures):
    pictures = np.asarray(pictures, float)
    return pictures[..., 0] - pictures[..., 1:].mean(axis=-1)


def test_a_video_has_a_picture_for_each_step_tinted_while_a_cost_is_paid(tmp_path):
    record, out = straight(*HAZARD), tmp_path / "episode.mp4"
    try:
        write_video(record, out, size=64, fps=20)
    except BadSetting as missing:
        pytest.skip(str(missing))
    film = mediapy.read_video(out)
    assert film.shape == (len(record), 72, 64, 3)
    assert film.metadata.fps == 20
    tinted = redness(film[:, :60]).mean(axis=(1, 2)) > 30
    np.testing.assert_array_equal(tinted, tell(record).story.violated)
    assert [file.name for file in tmp_path.iterdir()] == ["episode.mp4"]


def test_the_picture_of_a_step_shows_the_state_that_its_cost_was_paid_in(tmp_path, monkeypatch):
    seen = []

    class Witness:
        def __init__(self, task, width, height):
            self.blank = np.zeros((height, width, 3), np.uint8)

        def paint(self, data, layout, *, violated):
            seen.append((data.qpos.copy(), layout, violated))
            return self.blank

        def close(self):
            seen.append("closed")

    monkeypatch.setattr(module, "Painter", Witness)
    write_video(straight(*HAZARD), tmp_path / "episode.mp4", size=16)
    trajectory = retrace(straight(*HAZARD))
    assert seen.pop() == "closed"
    np.testing.assert_array_equal([qpos for qpos, _, _ in seen], trajectory.path.qpos[1:])
    np.testing.assert_array_equal([violated for _, _, violated in seen], trajectory.cost[:, 0] > 0)
    assert seen[0][1].goal == pytest.approx(trajectory.path.layouts[1].goal)


def test_the_line_of_time_is_dark_up_to_the_present_step_and_red_where_a_limit_is_violated():
    violated = np.zeros(1000, bool)
    violated[503] = True  # in column 50 of 100, which stands for ten steps
    drawn = with_timeline(np.full((20, 100, 3), 255, np.uint8), violated, step=299).astype(int)
    assert (drawn[:20] == 255).all()
    line = drawn[20]
    assert (drawn[20:] == line).all()
    np.testing.assert_array_equal(np.flatnonzero(redness(line) > 50), [50])
    np.testing.assert_array_equal(np.flatnonzero(line.sum(axis=1) < 100), np.arange(30))
    wide = with_timeline(np.zeros((4, 10, 3), np.uint8), np.array([False, True]), step=0)[4]
    np.testing.assert_array_equal(redness(wide) > 50, [False] * 5 + [True] * 5)


def test_an_environment_of_ones_own_is_filmed_in_its_own_pictures(tmp_path):
    out = tmp_path / "cart.mp4"
    write_video(straight(OWN, 3), out)
    film = mediapy.read_video(out)
    assert film.shape == (20, 38, 40, 3)
    np.testing.assert_allclose(film[:, :30].mean(axis=(1, 2, 3)), 10 * np.arange(1, 21), atol=3)


def test_one_that_cannot_draw_is_refused_and_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="knows no render_mode"):
        write_video(straight("tests.own:Cart", 3), tmp_path / "cart.mp4")
    assert not list(tmp_path.iterdir())


def test_what_is_missing_is_named_with_what_brings_it(tmp_path, monkeypatch):
    def without_opengl(*size):
        raise RenderingUnavailable("apt install libegl1")

    with monkeypatch.context() as patch:
        patch.setattr(module, "Painter", without_opengl)
        with pytest.raises(BadSetting, match="apt install"):
            write_video(straight(*HAZARD), tmp_path / "episode.mp4")
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    for missing in ("mediapy", "imageio_ffmpeg"):
        monkeypatch.setattr(module, "find_spec", lambda name, missing=missing: None if name == missing else name)
        with pytest.raises(BadSetting, match=r"pip install 'ascpo\[video\]'"):
            write_video(straight(*HAZARD), tmp_path / "episode.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["--episode", "2"], r"the episodes 0 \(the worst\) to 0"),
        (["--out", "film.gif"], "ends in .mp4"),
        (["--out", "nowhere/film.mp4"], "there is no directory nowhere"),
        (["--size", "2"], "16 to 4096"),
        (["--fps", "0"], "more than 0"),
    ],
)
def test_a_mistake_is_answered_with_what_would_be_right(tmp_path, typed, answer):
    (tmp_path / "config.json").write_text("{}")
    write_records(tmp_path / "worst-sampled.safetensors", [straight(OWN, 3)])
    with pytest.raises(BadSetting, match=answer):
        verb.main([str(tmp_path), *typed])


def test_the_verb_writes_into_the_runs_directory_and_says_so(tmp_path, capsys):
    (tmp_path / "config.json").write_text("{}")
    write_records(tmp_path / "worst-mean.safetensors", [straight(OWN, 3)])
    verb.main([str(tmp_path), "--actions", "mean"])
    assert (tmp_path / "worst-mean-0.mp4").exists()
    assert f"{tmp_path}/worst-mean-0.mp4 shows episode 0: cost" in capsys.readouterr().out
