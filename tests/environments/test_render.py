"""Rendering, and the errors where it is not possible."""

import builtins
import subprocess
import sys

import numpy as np
import pytest

import ascpo
from ascpo.environments import render
from ascpo.environments.render import RenderingUnavailable
from ascpo.guard.suites import ARENA

SCENE = {"robot": [0.0, 0.0, 0.0], "goal": [-1.2, 0.3], "obstacles": [[0.5, 0.0]]}


@pytest.fixture
def env():
    made = ascpo.make("Point-1-Hazard", render_mode="rgb_array", width=200, height=160)
    made.reset(seed=0)
    try:
        made.render()
    except RenderingUnavailable as missing:
        pytest.skip(str(missing))
    yield made
    made.close()


def test_a_picture_shows_goal_hazard_and_robot(env):
    env.reset(seed=0, options=SCENE)
    picture = env.render().astype(int)
    assert picture.shape == (160, 200, 3)
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    assert (green > red + 40).sum() > 100, "the goal is green"
    assert (blue > red + 40).sum() > 100, "the hazard is blue"
    assert (red > blue + 60).sum() > 10, "the robot is red"


def test_the_picture_is_tinted_red_while_a_cost_is_paid(env):
    env.reset(seed=0, options=SCENE)
    plain = env.render().astype(float)
    env.reset(seed=0, options=SCENE | {"obstacles": [[0.1, 0.0]]})
    env.step(np.zeros(2, np.float32))
    tinted = env.render().astype(float)
    excess = tinted[..., 0] - tinted[..., 1:].mean(axis=-1)
    assert excess.mean() > (plain[..., 0] - plain[..., 1:].mean(axis=-1)).mean() + 30


def test_the_tint_keeps_the_colours(env):
    env.reset(seed=0, options=SCENE | {"obstacles": [[0.1, 0.0]]})
    env.step(np.zeros(2, np.float32))
    red, green, blue = np.moveaxis(env.render().astype(int), -1, 0)
    assert (blue > red + 20).sum() > 50, "the hazard is still blue"
    assert (green > red + 20).sum() > 50, "the goal is still green"


@pytest.mark.parametrize("place", [(ARENA, ARENA), (-ARENA, ARENA), (ARENA, -ARENA), (-ARENA, -ARENA)])
def test_all_corners_of_the_arena_are_in_the_picture(env, place):
    env.reset(seed=0, options=SCENE | {"obstacles": [list(place)]})
    hazard = np.argwhere(np.diff(env.render()[..., ::2].astype(int), axis=-1)[..., 0] > 40)
    assert len(hazard) > 40
    assert (hazard.min(axis=0) > 0).all()
    assert (hazard.max(axis=0) < (159, 199)).all()


def test_the_camera_stands_still_in_the_world_whichever_way_the_robot_faces(env):
    pictures = []
    for heading in (0.0, 2.0):
        env.reset(seed=0, options=SCENE | {"robot": [0.8, -0.5, heading]})
        pictures.append(env.render().astype(int))
    hazard = [np.argwhere(picture[..., 2] > picture[..., 0] + 40).mean(axis=0) for picture in pictures]
    np.testing.assert_allclose(hazard[0], hazard[1], atol=2.0)


def test_two_environments_do_not_draw_into_each_other(env):
    other = ascpo.make("Point-1-Hazard", render_mode="rgb_array", width=200, height=160)
    env.reset(seed=0, options=SCENE)
    other.reset(seed=0, options=SCENE | {"goal": [1.2, -0.3]})
    first, second = env.render().astype(float), other.render().astype(float)
    other.close()
    again = env.render().astype(float)
    # Soft shadows differ in a pixel or two from one picture to the next.
    assert np.abs(again - first).mean() < 0.1 < np.abs(again - second).mean()


def test_where_opengl_is_missing_the_error_says_what_to_install(monkeypatch):
    ordinary = builtins.__import__

    def without_opengl(name, *args, **kwargs):
        if name.startswith("mujoco.") and name.split(".")[1] in ("egl", "osmesa", "glfw"):
            raise ImportError("no such library")
        return ordinary(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_opengl)
    env = ascpo.make("Point-1-Hazard", render_mode="rgb_array")
    env.reset(seed=0)
    with pytest.raises(RenderingUnavailable, match="apt install"):
        env.render()


def test_without_a_screen_only_installed_libraries_are_tried(monkeypatch):
    """PyOpenGL chooses its library once in a process: after a failed EGL it cannot load OSMesa."""
    monkeypatch.setattr("ctypes.util.find_library", lambda name: "libOSMesa.so.8" if name == "OSMesa" else None)
    assert render._headless_kinds() == ["osmesa"]


def test_opengl_starts_with_the_first_picture_and_stops_silently(env):
    """Libraries that are imported after OpenGL has started may crash: Stable-Baselines3 imports torch late."""
    code = """
import sys, gymnasium, ascpo
env = gymnasium.make("ascpo/Point-1-Hazard-v0", render_mode="rgb_array", width=64, height=64)
env.reset(seed=0)
assert not [name for name in sys.modules if name.startswith("OpenGL")]
env.render()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
