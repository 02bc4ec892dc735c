"""Swimmer: three links on the floor, driven by two hinges; it moves by friction alone."""

from ascpo.guard.robots.robot import Robot

# The links float 0.01 m above the floor for ever. With a margin of exactly 0.01 rounding would decide which
# contacts exist; a margin a little larger keeps all six, in single and double precision alike.
MJCF = """
<mujoco model="Swimmer">
  <option timestep="0.02"/>
  <default>
    <geom condim="6" density="1000" friction="0.75 0.01 0.01"/>
    <joint armature="0.1"/>
    <default class="link">
      <geom type="capsule" size="0.02" margin="0.0101"/>
      <joint type="hinge" axis="0 0 1" range="-100 100"/>
      <site size="0.1"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1"/>
    <body name="robot" pos="0 0 0.03">
      <site name="robot"/>
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="yaw" type="hinge" axis="0 0 1"/>
      <geom name="link_1" class="link" fromto="0.3 0 0 0.15 0 0"/>
      <site name="point1" class="link" pos="0.3 0 0"/>
      <site name="point2" class="link" pos="0.15 0 0"/>
      <body name="mid" pos="0.15 0 0">
        <joint name="motor1" class="link"/>
        <geom name="link_2" class="link" fromto="0 0 0 -0.15 0 0"/>
        <site name="point3" class="link" pos="-0.15 0 0"/>
        <body name="back" pos="-0.15 0 0">
          <joint name="motor2" class="link"/>
          <geom name="link_3" class="link" fromto="0 0 0 -0.15 0 0"/>
          <site name="point4" class="link" pos="-0.15 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="motor1" joint="motor1" gear="20" ctrlrange="-1 1"/>
    <motor name="motor2" joint="motor2" gear="20" ctrlrange="-1 1"/>
  </actuator>
</mujoco>
"""

SWIMMER = Robot(
    "Swimmer",
    MJCF,
    actions=2,
    joints=("motor1", "motor2"),
    touch=("point1", "point2", "point3", "point4"),
    steps_per_second=4e3,
)
