"""What to do when MuJoCo cannot be imported: it opens the OpenGL of MUJOCO_GL at once, and training needs none."""

import os
import traceback

from ascpo.errors import OPENGL_PACKAGES

_MODULE = "mujoco.rendering.classic.gl_context"


def opengl_advice(error: BaseException) -> str | None:
    """A sentence, if MuJoCo's import failed because of OpenGL."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    if not any(frame.f_globals.get("__name__") == _MODULE for frame in frames):
        return None
    return (
        f"MuJoCo cannot be imported with MUJOCO_GL={os.environ.get('MUJOCO_GL', '')} ({error}). "
        "Unset MUJOCO_GL: only pictures and videos need OpenGL. "
        f"For them, {OPENGL_PACKAGES} installs one that needs no screen."
    )
