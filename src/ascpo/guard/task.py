"""The task: reach the goal without violations. Its pure functions of one environment are batched by the engines.

The simulator runs every episode from the same pose, at the origin with heading 0, because gravity, floor and robot do
not depend on position and heading. The task transforms the sensors to the world of the layout, and pillars to the frame
of the simulator.
"""

import operator
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Bool, Float, Int

from ascpo.guard import costs, ghosts, goal
from ascpo.guard.geometry import apply, apply_inverse, compose, rotation, turn
from ascpo.guard.layout import AnyArray, Layout, Rules
from ascpo.guard.model import Reading, SensorPlan, Start, make_model, start_of
from ascpo.guard.observation import Observer
from ascpo.guard.suites import Suite

DIVERGED_REWARD = -10.0
"""Reward of a step in which the simulation diverged."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Memory:
    """The task's state between steps."""

    layout: Layout
    """The present scene, in which ghosts may have moved."""
    distance: Float[AnyArray, "*env"]
    """dₜ: the distance from the goal after the last step."""
    step: Int[AnyArray, "*env"]
    observation: Float[AnyArray, "*env obs"]
    """The observation after the last step, or after the reset."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Outcome:
    """The result of a step. Its observation is that before any reset."""

    observation: Float[AnyArray, "*env obs"]
    reward: Float[AnyArray, "*env"]
    costs: Float[AnyArray, "*env m"]
    margins: Float[AnyArray, "*env m"]
    """The depth of the robot in the nearest obstacle of each kind: signed lengths, negative in safe states."""
    terminated: Bool[AnyArray, "*env"]
    truncated: Bool[AnyArray, "*env"]
    goal_met: Bool[AnyArray, "*env"]
    diverged: Bool[AnyArray, "*env"]
    """Whether the simulation diverged. Then the observation is the last finite one, and every cost is a violation."""

    @property
    def done(self) -> Bool[AnyArray, "*env"]:
        """The episode is over."""
        return operator.or_(self.terminated, self.truncated)


@dataclass(frozen=True)
class Task:
    """A suite with its options."""

    suite: Suite
    observer: Observer
    overlap: costs.Overlap = "closest"
    max_episode_steps: int | None = 1000

    @cached_property
    def model(self) -> mujoco.MjModel:
        return make_model(self.suite)

    @cached_property
    def plan(self) -> SensorPlan:
        return SensorPlan(self.suite)

    @cached_property
    def start(self) -> Start:
        return start_of(self.model, self.plan)

    @cached_property
    def rules(self) -> Rules:
        frames = self.start.sensors[self.plan.offsets["position"]].reshape(-1, 3)
        return Rules(self.suite, tuple((float(x), float(y), float(z)) for x, y, z in frames))

    def begin(self, layout: Layout) -> Memory:
        """A fresh episode in a layout."""
        reading = self.plan.read(jnp.asarray(self.start.sensors))
        position, R = self._in_world(layout, reading)
        observation = self.observer.observe(reading, position, R, layout.goal, layout.obstacles)
        return Memory(layout, self._distance(layout, position), jnp.zeros((), jnp.int32), observation)

    def advance(self, memory: Memory, sensors: Float[Array, " sensors"]) -> tuple[Memory, Outcome]:
        """The task after a step, from the simulator's sensors. If one is not finite, the simulation has diverged."""
        diverged = ~jnp.all(jnp.isfinite(sensors))
        # NaN of a diverged simulation would spread, so its sensors are replaced by those of the start.
        reading = self.plan.read(jnp.where(diverged, self.start.sensors, sensors))
        layout = self._drifted(memory.layout, reading)
        position, R = self._in_world(layout, reading)
        distance = self._distance(layout, position)
        reward, reached = goal.reward(memory.distance, distance)
        observation = self.observer.observe(reading, position, R, layout.goal, layout.obstacles)
        step = memory.step + 1
        outcome = Outcome(
            observation=jnp.where(diverged, memory.observation, observation),
            reward=jnp.where(diverged, DIVERGED_REWARD, reward),
            costs=jnp.where(diverged, costs.DIVERGED, self._costs(layout, reading, position)),
            margins=jnp.where(diverged, costs.DIVERGED, self._margins(layout, position)),
            terminated=diverged | reached,
            truncated=jnp.zeros((), bool) if self.max_episode_steps is None else step >= self.max_episode_steps,
            goal_met=reached & ~diverged,
            diverged=diverged,
        )
        return Memory(layout, distance, step, outcome.observation), outcome

    def pillars_from_start(self, layout: Layout) -> Float[Array, "pillars 3"]:
        """The positions of the pillars in the simulator, in the frame of the robot's start."""
        rows = [layout.obstacles[rows] for kind, rows in self.suite.slices() if kind.shape == "post"]
        posts = jnp.concatenate(rows) if rows else jnp.zeros((0, 3))
        return apply_inverse(turn(layout.heading), posts - _at_floor(layout.robot))

    def _in_world(
        self, layout: Layout, reading: Reading
    ) -> tuple[Float[Array, "frames 3"], Float[Array, "frames 3 3"]]:
        """Positions and rotations of the robot's frames in the world."""
        heading = turn(layout.heading)
        R = jax.vmap(lambda q: compose(heading, rotation(q)))(reading.attitude)
        return apply(heading, reading.position) + _at_floor(layout.robot), R

    def _distance(self, layout: Layout, position: Float[Array, "frames 3"]) -> Float[Array, ""]:
        robot = self.suite.robot
        return goal.distance(layout.goal, position[robot.tracked_frame], spatial=robot.spatial)

    def _drifted(self, layout: Layout, reading: Reading) -> Layout:
        """The layout after the ghosts have followed the robot through the substeps."""
        if not self.suite.moves:
            return layout
        path = apply(turn(layout.heading), reading.path) + _at_floor(layout.robot)
        # Ghosts react to the robot's position at the start of the previous substep, in the first to its present one.
        seen = jnp.concatenate([path[:1], path[:-1]])
        obstacles = layout.obstacles
        for kind, rows in self.suite.slices():
            if kind.moves:
                obstacles = obstacles.at[rows].set(ghosts.drift(obstacles[rows], seen, kind))
        return Layout(layout.robot, layout.heading, layout.goal, obstacles)

    def _costs(self, layout: Layout, reading: Reading, position: Float[Array, "frames 3"]) -> Float[Array, " m"]:
        found = jnp.stack(
            [
                costs.contact_cost(reading.contact)
                if kind.shape == "post"
                else costs.region_cost(kind, self.suite.robot, position, layout.obstacles[rows], self.overlap)
                for kind, rows in self.suite.slices()
            ]
        )
        return jnp.where(found > 0.0, 1.0, 0.0) if self.suite.indicator else found

    def _margins(self, layout: Layout, position: Float[Array, "frames 3"]) -> Float[Array, " m"]:
        robot, obstacles = self.suite.robot, layout.obstacles
        return jnp.stack([costs.margin(kind, robot, position, obstacles[rows]) for kind, rows in self.suite.slices()])


def _at_floor(place: Float[Array, "2"]) -> Float[Array, "3"]:
    return jnp.concatenate([place, jnp.zeros(1)])
