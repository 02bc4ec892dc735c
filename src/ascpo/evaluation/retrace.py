"""Play a recorded episode again, to the bit, and write down where everything was."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ascpo.engines.native import NativeEngine
from ascpo.engines.rollout import SCRIPTED, Repeatable, Rollout
from ascpo.evaluation.records import Record
from ascpo.guard.layout import Layout
from ascpo.guard.task import Task
from ascpo.runs.directory import NoRun
from ascpo.runs.environment import Environment, open_engine


@dataclass(frozen=True)
class Path3D:
    """Where everything was in an episode of a suite: first at its start, then after every step."""

    task: Task
    qpos: Float[np.ndarray, "time+1 nq"]
    """Of the robot, in the frame of its start."""
    mocap_pos: Float[np.ndarray, "time+1 pillars 3"]
    """Of the pillars, in the same frame."""
    layouts: tuple[Layout, ...]
    """In the world: where the robot started, and where goal and obstacles are. Ghosts move."""


@dataclass(frozen=True)
class Trajectory:
    """A recorded episode, step by step."""

    record: Record
    reward: Float[np.ndarray, " time"]
    cost: Float[np.ndarray, "time m"]
    path: Path3D | None
    """None for environments that are not of this package."""


def retrace(record: Record, env: Environment | None = None) -> Trajectory:
    """Step by step. `env` is needed if its name alone does not find it."""
    engine = open_engine(record.env if env is None else env, 1, threads=1)
    engine.begin_at(SCRIPTED, [record.origin])
    watcher = _Watcher(engine) if isinstance(engine, NativeEngine) else None
    rollout = _play(engine, record, watcher)
    engine.close()
    trajectory = Trajectory(
        record, np.asarray(rollout.reward[:, 0], float), np.asarray(rollout.cost[:, 0], float), watcher and watcher.path
    )
    _check(trajectory, np.asarray(rollout.done[:, 0]))
    return trajectory


def _play(engine: Repeatable, record: Record, watcher: "_Watcher | None") -> Rollout:
    if watcher is None or not watcher.ghosts:
        return engine.collect(jnp.zeros(0), record.actions[:, None])
    # Where ghosts are is known between two calls alone.
    steps = []
    for action in record.actions:
        steps.append(jax.tree.map(np.asarray, engine.collect(jnp.zeros(0), action[None, None])))
        watcher.look()
    return jax.tree.map(lambda *parts: np.concatenate(parts), *steps)


class _Watcher:
    """Copies what moves, from the start of an episode on."""

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
        """After an episode's last step the engine shows the next one: there, ghosts are left where they were."""
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


def _check(trajectory: Trajectory, done: np.ndarray) -> None:
    record, cost = trajectory.record, trajectory.cost
    again = (float(trajectory.reward.sum()), tuple(cost.max(axis=0, initial=0.0).tolist()))
    if again != (record.reward, record.maximum) or not done[-1] or done[:-1].any():
        raise NoRun(
            f"The episode (seed {record.seed}, number {record.episode}) went another way when it was played again: "
            f"return {again[0]:.6g} instead of {record.reward:.6g}, largest costs {again[1]} instead of "
            f"{record.maximum}. It was recorded on another machine or with other versions, or the environment does not "
            f"repeat itself. Run `ascpo evaluate` again."
        )
