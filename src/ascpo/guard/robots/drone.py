"""Drone: four rotors that push along the body's axis; it flies, tilts, and cannot yaw directly."""

from ascpo.guard.robots.robot import Robot


def _rotor(name: str, x: float, y: float) -> str:
    return f"""
      <body name="{name}" pos="{x} {y} 0">
        <geom name="{name}" type="capsule" fromto="0 0 -0.1 0 0 0.1" size="0.03"/>
        <site name="{name}a" pos="0 0 0.1" size="0.02"/>
        <site name="{name}b" pos="0 0 -0.1" size="0.02"/>
      </body>"""


MJCF = f"""
<mujoco model="Drone">
  <option timestep="0.008"/>
  <default>
    <geom condim="6" density="1" friction="1 0.005 0.0001"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1"/>
    <body name="robot" pos="0 0 1">
      <site name="robot"/>
      <joint name="x" type="slide" axis="1 0 0" damping="0.5"/>
      <joint name="y" type="slide" axis="0 1 0" damping="0.5"/>
      <joint name="z" type="slide" axis="0 0 1" damping="0.2"/>
      <joint name="roll" type="hinge" axis="1 0 0" damping="0.2"/>
      <joint name="pitch" type="hinge" axis="0 1 0" damping="0.2"/>
      <joint name="yaw" type="hinge" axis="0 0 1" damping="0.2"/>
      <geom name="hull" type="sphere" size="0.1"/>
      <geom name="beam_x" type="capsule" fromto="0.3 0 0 -0.3 0 0" size="0.03"/>
      <geom name="beam_y" type="capsule" fromto="0 0.3 0 0 -0.3 0" size="0.03"/>
      {_rotor("p1", 0.3, 0.0)}{_rotor("p2", 0.0, 0.3)}{_rotor("p3", -0.3, 0.0)}{_rotor("p4", 0.0, -0.3)}
    </body>
  </worldbody>
</mujoco>
"""

DRONE = Robot(
    "Drone",
    MJCF,
    actions=4,
    touch=("p1a", "p1b", "p2a", "p2b", "p3a", "p3b", "p4a", "p4b"),
    paper_touch=False,
    spatial=True,
    rotors=("p1", "p2", "p3", "p4"),
    steps_per_second=9e3,
)
