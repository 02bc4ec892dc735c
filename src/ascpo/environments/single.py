"""One environment: `gymnasium.make("ascpo/Point-8-Hazard-v0")`."""

from functools import cached_property
from numbers import Integral

import gymnasium
import jax
import numpy as np

from ascpo.engines.gymnasium.naming import Info
from ascpo.engines.native.environments import NativeEnvironments
from ascpo.environments.forking import refuse_forked
from ascpo.environments.render import Painter
from ascpo.environments.spaces import OfTask, action_space, checked_actions, info_of, make_task, observation_space
from ascpo.guard.costs import Overlap
from ascpo.guard.layout import Layout
from ascpo.guard.observation import Preset
from ascpo.guard.scene import read_scene


class GuardEnv(OfTask, gymnasium.Env[np.ndarray, np.ndarray]):
    """A robot among obstacles on its way to a goal.

    `info` has `cost` (all constraints together), `costs` (for each constraint in `cost_names`), each as `cost_<name>`,
    `margins` (how far the state is beyond the border of each cost, negative while it is safe), `goal_met`, and
    `diverged`, with an `error` that says where the simulation diverged.

    Episodes end at the goal. The time limit is Gymnasium's: `gymnasium.make` adds it.
    """

    metadata: Info = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        suite: str,
        observations: Preset = "paper",
        overlap: Overlap = "closest",
        render_mode: str | None = None,
        width: int = 480,
        height: int = 480,
    ) -> None:
        self.task = make_task(suite, observations, overlap, max_episode_steps=None)
        self.observation_space = observation_space(self.task)
        self.action_space = action_space(self.task)
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode={render_mode!r} is not known. Use 'rgb_array', or None for no pictures.")
        for name, pixels in (("width", width), ("height", height)):
            if not (isinstance(pixels, Integral) and pixels > 0):
                raise ValueError(f"{name}={pixels!r} must be a whole number of pixels, at least 1.")
        self.render_mode = render_mode
        self._size = width, height
        self._painter: Painter | None = None
        self._started, self._over, self._violated = False, True, False
        self._already_next = False
        """Whether the engine has already started the next episode at the end of the last one."""

    @cached_property
    def _envs(self) -> NativeEnvironments:
        """Created on first use, because JAX must not start before processes of this environment are forked."""
        refuse_forked()
        return NativeEnvironments(self.task, num_envs=1, num_threads=1)

    @property
    def layout(self) -> Layout:
        """The present scene: the robot's start and heading, goal, obstacles."""
        return jax.tree.map(lambda part: np.asarray(part[0]), self._envs.memory.layout)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[np.ndarray, Info]:
        """Start an episode: the first of a seed, the next one of the last seed, or in a scene given by `options`."""
        super().reset(seed=seed)
        scene = read_scene(self.task, options) if options else None
        envs = self._envs
        if seed is not None or not self._started:
            fresh = seed if seed is not None else int(self.np_random.integers(2**32))
            observation = envs.reset(np.array([fresh % 2**32]))
        elif self._already_next:
            observation = envs.memory.observation.copy()
        else:
            observation = envs.next_episode(np.ones(1, bool))
        if scene is not None:
            observation = envs.place(scene)
        self._started, self._over, self._already_next, self._violated = True, False, False, False
        return observation[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, Info]:
        actions = checked_actions(action, self.action_space.shape or ())[None]
        if self._over:
            raise RuntimeError("The episode is over, or has not started. Call reset() first.")
        step = self._envs.step(actions)
        outcome = step.outcome
        terminated = bool(outcome.terminated[0])
        self._over = self._already_next = terminated
        self._violated = bool((outcome.costs > 0).any())
        info = {name: value[0] for name, value in info_of(self.task, outcome).items()}
        if step.divergences:
            info["error"] = str(step.divergences[0])
        return outcome.observation[0].copy(), float(outcome.reward[0]), terminated, False, info

    def render(self) -> np.ndarray | None:
        """An image from above, tinted red in states with a cost."""
        if self.render_mode is None:
            gymnasium.logger.warn("This environment does not render: make it with render_mode='rgb_array'.")
            return None
        if self._painter is None:
            # Imported late, because other libraries crash if they are imported after OpenGL has started.
            self._painter = Painter(self.task, *self._size)
        return self._painter.paint(self._envs.data(0), self.layout, violated=self._violated)

    def close(self) -> None:
        if self._painter is not None:
            self._painter.close()
            self._painter = None
