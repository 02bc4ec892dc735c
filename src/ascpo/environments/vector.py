"""Many environments at once: `gymnasium.make_vec("ascpo/Point-8-Hazard-v0", num_envs=30)`."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ascpo.engines.gymnasium.naming import Info
from ascpo.engines.native.environments import NativeEnvironments
from ascpo.environments.spaces import OfTask, action_space, checked_actions, info_of, make_task, observation_space
from ascpo.guard.costs import Overlap
from ascpo.guard.observation import Preset
from ascpo.guard.scene import read_scene


class GuardVectorEnv(OfTask, gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """The environments of `GuardEnv`, stepped together on all cores. Environment i has the seed `seed + i`.

    Finished episodes are reset in the same step (`AutoresetMode.SAME_STEP`): the returned observation is that of the
    new episode, and `info["final_obs"]` keeps the last one of the finished episode. Reward, costs and `goal_met` always
    belong to the step that was taken.
    """

    metadata: Info = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int,
        suite: str,
        observations: Preset = "paper",
        overlap: Overlap = "closest",
        max_episode_steps: int | None = 1000,
        num_threads: int = 0,
        render_mode: None = None,
    ) -> None:
        if render_mode is not None:
            raise ValueError("Vectorised environments cannot render. Use gymnasium.make for a single one.")
        self.task = make_task(suite, observations, overlap, max_episode_steps)
        self._envs = NativeEnvironments(self.task, num_envs, num_threads)
        self.num_envs = num_envs
        self.single_observation_space = observation_space(self.task)
        self.single_action_space = action_space(self.task)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._started = False

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """Start an episode in every environment: of given seeds, of the last ones, or in the scene of `options`."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        scene = read_scene(self.task, options) if options else None
        seeds = self._seeds(seed)
        everywhere = np.ones(self.num_envs, bool)
        observation = self._envs.next_episode(everywhere) if seeds is None else self._envs.reset(seeds)
        self._started = True
        return observation if scene is None else self._envs.place(scene), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        actions = checked_actions(actions, self.action_space.shape or ())
        if not self._started:
            raise RuntimeError("No episode has started. Call reset() first.")
        step = self._envs.step(actions)
        outcome = step.outcome
        info: Info = dict(info_of(self.task, outcome))
        info |= dict.fromkeys((f"_{name}" for name in info), np.ones(self.num_envs, bool))
        if outcome.done.any():
            info |= self._final(outcome.done, outcome.observation, info)
        for divergence in step.divergences:
            self._add_info(info, {"error": str(divergence)}, divergence.env)
        reward = outcome.reward.astype(np.float64)
        return step.observation.copy(), reward, outcome.terminated.copy(), outcome.truncated.copy(), info

    def _seeds(self, seed: int | list[int | None] | None) -> np.ndarray | None:
        """One seed per environment, or None to keep the present ones."""
        if isinstance(seed, int):
            return (seed + np.arange(self.num_envs)) % 2**32
        if seed is None and self._started:
            return None
        given = [None] * self.num_envs if seed is None else list(seed)
        if len(given) != self.num_envs:
            raise ValueError(f"{len(given)} seeds for {self.num_envs} environments. Give one for each, or one number.")
        return np.array([self.np_random.integers(2**32) if one is None else one % 2**32 for one in given])

    def _final(self, mask: np.ndarray, observations: np.ndarray, info: Info) -> Info:
        """Gymnasium's entries for environments whose episode has just ended."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(mask):
            final_obs[i] = observations[i].copy()
        beside = {key: mask.reshape(-1, *(1,) * (value.ndim - 1)) for key, value in info.items() if key[0] != "_"}
        # Zeros of the same type: the opposite of a flag must not be a number.
        final_info = {key: np.where(ended, info[key], info[key].dtype.type(0)) for key, ended in beside.items()}
        final_info |= {f"_{key}": mask for key in tuple(final_info)}
        return {"final_obs": final_obs, "_final_obs": mask, "final_info": final_info, "_final_info": mask}
