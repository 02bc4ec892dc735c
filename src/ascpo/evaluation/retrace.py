"""Repeat a recorded episode, and record the positions of all objects.

The same kind of machine repeats it bit for bit. Another kind rounds differently: the same actions in the same scene may
lead along a slightly different path. Such an episode is shown with a note.
"""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Bool, Float

from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import EpisodePlayer, Rollout
from ascpo.engines.native.engine import NativeEngine
from ascpo.evaluation.records import Record
from ascpo.guard.layout import Layout
from ascpo.guard.task import Task
from ascpo.runs.directory import NoRun
from ascpo.runs.environment import Environment, is_suite, open_engine
from ascpo.runs.machine import may_round_otherwise
from ascpo.runs.trust import trusted

_ROUNDING = 1e-3
"""Tolerances below which differences are not visible."""


@dataclass(frozen=True)
class Path3D:
    """Positions in an episode of a suite: at the start, then after every step."""

    task: Task
    qpos: Float[np.ndarray, "states nq"]
    """Positions of the robot's joints, in the frame of its start."""
    mocap_pos: Float[np.ndarray, "states pillars 3"]
    """Positions of the pillars, in the same frame."""
    layouts: tuple[Layout, ...]
    """The robot's start, the goal and the obstacles, in the world's frame. Ghosts are obstacles that move."""


@dataclass(frozen=True)
class Trajectory:
    """A recorded episode, step by step."""

    record: Record
    reward: Float[np.ndarray, " time"]
    cost: Float[np.ndarray, "time m"]
    path: Path3D | None
    """None for your own environments."""
    note: str = ""
    """How the episode differs from its record. Empty if it does not."""


def retrace(record: Record, env: Environment | None = None, *, trust_env: bool = False) -> Trajectory:
    """Repeat the episode. An environment outside this package needs `env` or `trust_env`."""
    env = trusted(record.env, env, trust_env=trust_env)
    engine = open_engine(env, 1, threads=1 if is_suite(env) else 0, limits=record.limits)
    engine.start_at(ScriptedActor(), [record.origin])
    camera = _Camera(engine) if isinstance(engine, NativeEngine) else None
    rollout = _play(engine, record, camera)
    engine.close()
    trajectory = Trajectory(
        record,
        np.asarray(rollout.reward[:, 0], float),
        np.asarray(rollout.cost[:, 0], float),
        camera.path if camera else None,
    )
    return _checked(trajectory, np.asarray(rollout.done[:, 0]))


def _play(engine: EpisodePlayer, record: Record, camera: "_Camera | None") -> Rollout:
    if camera is None or not camera.ghosts:
        return _collect(engine, record.actions)
    # The positions of ghosts can only be read between two calls.
    steps = []
    for action in record.actions:
        steps.append(_collect(engine, action[None]))
        camera.look()
    return jax.tree.map(lambda *parts: np.concatenate(parts), *steps)


def _collect(engine: EpisodePlayer, actions: Float[np.ndarray, "time act"]) -> Rollout:
    (rollout,) = engine.collect([np.zeros((1, 0), np.float32)], [actions[None, :, None]])
    return jax.tree.map(lambda x: np.asarray(x)[0], rollout)


class _Camera:
    """Copies the positions of everything that moves, from the start of an episode on."""

    def __init__(self, engine: NativeEngine) -> None:
        self._engine = engine
        self._qpos, self._mocap_pos = engine.live("qpos"), engine.live("mocap_pos")
        self._poses: list[tuple[np.ndarray, np.ndarray]] = []
        self._layouts: list[Layout] = []
        self.ghosts = engine.task.suite.moves
        self._copy()
        self.look()
        engine.after_physics = self._copy

    def look(self) -> None:
        """Copy the positions. After the last step the scene has been reset, so the ghosts keep their last positions."""
        memory = self._engine.memory
        now = Layout(*(np.asarray(part[0]) for part in vars(memory.layout).values()))
        over = bool(self._layouts) and int(memory.step[0]) == 0
        self._layouts.append(self._layouts[-1] if over else now)

    def _copy(self) -> None:
        self._poses.append((self._qpos[0].copy(), self._mocap_pos[0].reshape(-1, 3).copy()))

    @property
    def path(self) -> Path3D:
        qpos, mocap_pos = map(np.array, zip(*self._poses, strict=True))
        layouts = self._layouts if self.ghosts else self._layouts * len(self._poses)
        return Path3D(self._engine.task, qpos, mocap_pos, tuple(layouts))


def _checked(trajectory: Trajectory, done: Bool[np.ndarray, " time"]) -> Trajectory:
    """Refuse a trajectory that differs from its record, unless another kind of machine recorded it."""
    record, cost = trajectory.record, trajectory.cost
    # Added one by one, as in the record: NumPy's `sum` adds in another order and may round differently.
    reward = np.cumsum([0.0, *trajectory.reward])[-1]
    again = (float(reward), tuple(cost.max(axis=0, initial=0.0).tolist()))
    # An episode of your own environment may have been ended by --max-episode-steps, which is not known here.
    goes_on = trajectory.path is not None and not done[-1]
    if again == (record.reward, record.maximum) and not goes_on and not done[:-1].any():
        return trajectory
    if trajectory.path is not None and may_round_otherwise(record.machine):
        return _noted(trajectory, done)
    raise NoRun(
        f"The episode (seed {record.seed}, number {record.episode}) does not repeat: return {again[0]:.6g} instead "
        f"of {record.reward:.6g}, largest costs {again[1]} instead of {record.maximum}. It was recorded on another "
        f"machine or with other versions, or its seed and actions do not determine the environment. Run "
        f"`ascpo evaluate` again."
    )


def _noted(trajectory: Trajectory, done: Bool[np.ndarray, " time"]) -> Trajectory:
    """The trajectory up to the end of its episode, with a note about how it differs from its record."""
    record, path = trajectory.record, trajectory.path
    steps = int(np.argmax(done)) + 1 if done.any() else len(done)
    reward, cost = trajectory.reward[:steps], trajectory.cost[:steps]
    if path is not None:
        states = slice(steps + 1)
        path = Path3D(path.task, path.qpos[states], path.mocap_pos[states], path.layouts[states])
    again, figures = (reward.sum(), *cost.max(axis=0, initial=0.0)), (record.reward, *record.maximum)
    if np.allclose(again, figures, rtol=_ROUNDING, atol=_ROUNDING) and steps == len(record) and done[-1]:
        return trajectory
    note = (
        f"Another kind of machine recorded this episode. The same actions lead along another path here: return "
        f"{again[0]:.4g} instead of {figures[0]:.4g}, largest cost {max(again[1:]):.4g} instead of "
        f"{max(figures[1:]):.4g}, {steps} steps of {len(record)}."
    )
    return Trajectory(record, reward, cost, path, note)
