"""Point: a ball with a nose that pushes itself forward and turns. It slides on the floor without friction."""

from ascpo.guard.robots.robot import Robot

MJCF = """
<mujoco model="Point">
  <option timestep="0.002"/>
  <default>
    <geom condim="6" density="1" friction="1 0.005 0.0001"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1"/>
    <body name="robot" pos="0 0 0.1">
      <site name="robot" size="0.032"/>
      <joint name="x" type="slide" axis="1 0 0" damping="0.01"/>
      <joint name="y" type="slide" axis="0 1 0" damping="0.01"/>
      <joint name="yaw" type="hinge" axis="0 0 1" damping="0.005"/>
      <geom name="ball" type="sphere" size="0.1" friction="1 0.01 0.01"/>
      <geom name="nose" type="box" size="0.05 0.05 0.05" pos="0.1 0 0"/>
    </body>
  </worldbody>
  <actuator>
    <!-- Both saturate at a raw force of 0.05: forward thrust is bang-bang for |u| > 0.05. -->
    <motor name="forward" site="robot" gear="0.3 0 0 0 0 0" ctrlrange="-1 1" forcerange="-0.05 0.05"/>
    <velocity name="turn" joint="yaw" kv="1" gear="0.3" ctrlrange="-1 1" forcerange="-0.05 0.05"/>
  </actuator>
</mujoco>
"""

# The ball stands on the floor at distance 0 with margin 0, and nothing moves it down: the contact is never active.
POINT = Robot("Point", MJCF, actions=2, can_touch=False, steps_per_second=15e3)
