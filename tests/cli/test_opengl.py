import os
import subprocess
import sys


def test_a_missing_opengl_is_named_and_training_said_to_need_none(tmp_path):
    """MuJoCo opens the OpenGL of MUJOCO_GL as it is imported."""
    words = [sys.executable, "-m", "ascpo.cli.main", "train", "--env", "Point-1-Hazard", "--total-steps", "30e3"]
    environ = os.environ | {"MUJOCO_GL": "vulkan"}
    done = subprocess.run(words, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "MUJOCO_GL=vulkan" in done.stderr
    assert "Unset MUJOCO_GL" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()
