"""Videos of episodes: one frame per step, tinted while there is a cost, with the step and its costs."""

from pathlib import Path

import numpy as np
import pytest

from ascpo.cli import video as verb
from ascpo.environments.render import RenderingUnavailable
from ascpo.evaluation.records import records_content
from ascpo.evaluation.retrace import retrace
from ascpo.replay import video as module
from ascpo.replay.episode import Line, play_again
from ascpo.replay.video import with_text, with_time_bar, write_video
from ascpo.runs.serialization import BadSetting
from tests.replay.straight import HAZARD, OWN, straight

mediapy = pytest.importorskip("mediapy", reason="mediapy is not installed: pip install 'ascpo[video]'.")


def redness(pictures):
    pictures = np.asarray(pictures, float)
    return pictures[..., 0] - pictures[..., 1:].mean(axis=-1)


def test_a_video_has_a_frame_for_each_step_and_costly_frames_are_red(tmp_path):
    record, out = straight(*HAZARD), tmp_path / "episode.mp4"
    try:
        write_video(record, out, size=64, fps=20)
    except BadSetting as missing:
        pytest.skip(str(missing))
    video = mediapy.read_video(out)
    assert video.shape == (len(record), 72, 64, 3)
    assert video.metadata.fps == 20
    red = redness(video[:, :60]).mean(axis=(1, 2)) > 30
    np.testing.assert_array_equal(red, play_again(record).violated)
    assert [file.name for file in tmp_path.iterdir()] == ["episode.mp4"]


def test_the_frame_of_a_step_shows_the_state_whose_cost_it_pays(tmp_path, monkeypatch):
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
    steps = retrace(straight(*HAZARD))
    assert seen.pop() == "closed"
    np.testing.assert_array_equal([qpos for qpos, _, _ in seen], steps.path.qpos[1:])
    np.testing.assert_array_equal([violated for _, _, violated in seen], steps.cost[:, 0] > 0)
    assert seen[0][1].goal == pytest.approx(steps.path.layouts[1].goal)


def test_the_time_bar_is_dark_up_to_the_present_step_and_red_at_violations():
    violated = np.zeros(1000, bool)
    violated[503] = True  # in column 50 of 100, which stands for ten steps
    drawn = with_time_bar(np.full((20, 100, 3), 255, np.uint8), violated, step=299).astype(int)
    assert (drawn[:20] == 255).all()
    bar = drawn[20]
    assert (drawn[20:] == bar).all()
    np.testing.assert_array_equal(np.flatnonzero(redness(bar) > 50), [50])
    np.testing.assert_array_equal(np.flatnonzero(bar.sum(axis=1) < 100), np.arange(30))
    wide = with_time_bar(np.zeros((4, 10, 3), np.uint8), np.array([False, True]), step=0)[4]
    np.testing.assert_array_equal(redness(wide) > 50, [False] * 5 + [True] * 5)


def test_the_step_and_its_costs_stand_above_the_frame_and_violations_are_red():
    frame = np.zeros((100, 320, 3), np.uint8)
    calm = with_text(frame, (Line("step 3 of 9"), Line("hazard: cost 0.000, limit 0")))
    alarm = with_text(frame, (Line("step 3 of 9"), Line("hazard: cost 0.120, limit 0", alarm=True)))
    assert calm.shape == alarm.shape
    assert calm.shape[0] > 120
    np.testing.assert_array_equal(calm[-100:], frame)
    assert redness(calm[:-100]).max() < 20
    assert redness(alarm[:-100]).max() > 100
    assert (calm[:-100].sum(axis=-1) < 300).sum() > 100, "the text is dark on white"
    assert module._fitting("a long name: cost 0.123", lambda text: len(text) <= 12) == "… cost 0.123"
    assert module._fitting("short", lambda text: len(text) <= 12) == "short"
    assert with_text(frame[:, :64], (Line("step 3"),)).shape == (100, 64, 3), "nobody could read it"


def test_captions_have_every_cost_with_its_limit():
    episode = play_again(straight(*HAZARD))
    first = episode.first_violation
    step, hazard = episode.captions(first)
    assert step.text == f"step {first} of {len(episode) - 1}"
    assert hazard.text == f"hazard: cost {episode.cost[first, 0]:.3f}, limit 0"
    assert hazard.alarm
    assert not episode.captions(0)[1].alarm


def test_a_users_environment_renders_the_frames_of_its_video(tmp_path):
    out = tmp_path / "cart.mp4"
    write_video(straight(OWN, 3), out, env=OWN)
    video = mediapy.read_video(out)
    assert video.shape == (20, 38, 40, 3)
    np.testing.assert_allclose(video[:, :30].mean(axis=(1, 2, 3)), 10 * np.arange(1, 21), atol=3)


def test_a_directory_with_the_name_of_a_protocol_is_a_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pipe:1").mkdir()
    write_video(straight(OWN, 3), Path("pipe:1") / "cart.mp4", env=OWN)
    assert [file.name for file in Path("pipe:1").iterdir()] == ["cart.mp4"]


def test_an_environment_that_cannot_render_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"There is no video of tests\.own:Cart\. It has no render_mode"):
        write_video(straight("tests.own:Cart", 3), tmp_path / "cart.mp4", trust_env=True)
    assert not list(tmp_path.iterdir())


def test_an_error_names_what_is_missing_and_how_to_get_it(tmp_path, monkeypatch):
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
        (["--episode", "2"], r"from 0 \(the worst\) to 0"),
        (["--out", "video.gif"], "ends in .mp4"),
        (["--out", "nowhere/video.mp4"], "there is no directory nowhere"),
        (["--size", "2"], "from 16 to 4096"),
        (["--fps", "0"], "above 0"),
    ],
)
def test_an_error_says_which_values_are_right(tmp_path, typed, answer):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "worst-sampled.safetensors").write_bytes(records_content([straight(OWN, 3)]))
    with pytest.raises(BadSetting, match=answer):
        verb.main([str(tmp_path), *typed])


def test_the_command_writes_into_the_directory_of_the_run_and_says_so(tmp_path, capsys):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "worst-mean.safetensors").write_bytes(records_content([straight(OWN, 3)]))
    verb.main([str(tmp_path), "--actions", "mean", "--trust-env"])
    assert (tmp_path / "worst-mean-0.mp4").exists()
    assert f"{tmp_path}/worst-mean-0.mp4 shows episode 0: cost" in capsys.readouterr().out
