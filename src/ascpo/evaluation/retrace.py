"""Play a recorded episode again, to the bit, and write down where everything was."""

from dataclasses import dataclass, field

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
    watcher = _Watcher(engine) if isinstance(engine, NativeEngine) else None
    engine.begin_at(SCRIPTED, [record.origin])
    rollout = _play(engine, record, watcher)
    engine.close()
    trajectory = Trajectory(
        record, np.asarray(rollout.reward[:, 0], float), np.asarray(rollout.cost[:, 0], float), watcher and watcher.path
    )
    _check(trajectory, np.asarray(rollout.done[:, 0]))
    return trajectory


def _play(engine: Repeatable, record: Record, watcher: "_Watcher | None") -> Rollout:
    if watcher is None:
        return engine.collect(jnp.zeros(0), record.actions[:, None])
    watcher.begin()
    steps = []
    for action in record.actions:
        steps.append(jax.tree.map(np.asarray, engine.collect(jnp.zeros(0), action[None, None])))
        watcher.look()
    return jax.tree.map(lambda *parts: np.concatenate(parts), *steps)


@dataclass
class _Watcher:
    """Copies what moves."""

    engine: NativeEngine
    qpos: list[np.ndarray] = field(default_factory=list)
    mocap_pos: list[np.ndarray] = field(default_factory=list)
    layouts: list[Layout] = field(default_factory=list)

    def begin(self) -> None:
        self._pose()
        self.look()
        self.engine.after_physics = self._pose

    def look(self) -> None:
        """After an episode's last step the engine shows the next one: there, ghosts are left where they were."""
        memory = self.engine.memory
        now = Layout(*(np.asarray(part[0]) for part in vars(memory.layout).values()))
        over = bool(self.layouts) and int(memory.step[0]) == 0
        self.layouts.append(self.layouts[-1] if over else now)

    def _pose(self) -> None:
        data = self.engine.data(0)
        self.qpos.append(np.array(data.qpos))
        self.mocap_pos.append(np.array(data.mocap_pos))

    @property
    def path(self) -> Path3D:
        return Path3D(self.engine.task, np.array(self.qpos), np.array(self.mocap_pos), tuple(self.layouts))


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
