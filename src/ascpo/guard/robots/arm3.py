"""Arm3: three rate-controlled hinges bolted to the floor; the end effector reaches for a ball in the air."""

from ascpo.guard.robots.robot import Part, Robot

# Damping (5000) swamps inertia (3e-4), so a joint turns at 0.6 u rad/s at once.
MJCF = """
<mujoco model="Arm3">
  <option timestep="0.002" gravity="0 0 0"/>
  <default>
    <geom condim="6" density="0.01" friction="1 0.005 0.0001"/>
    <joint type="hinge" damping="5000"/>
    <motor gear="3000" ctrlrange="-1 1"/>
    <site size="0.05"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1"/>
    <body name="robot">
      <body name="link_1" pos="0 0 0.3">
        <joint name="joint_1" axis="0 0 1"/>
        <geom name="base" type="sphere" size="0.2"/>
        <site name="link_1"/>
        <body name="link_2">
          <joint name="joint_2" axis="1 0 0"/>
          <geom name="upper_arm" type="capsule" fromto="0 0 0 0 0 1.5" size="0.15"/>
          <site name="link_2" pos="0 0 0.75"/>
          <body name="link_3" pos="0 0 1.5">
            <joint name="joint_3" axis="1 0 0"/>
            <geom name="elbow" type="sphere" size="0.2"/>
            <site name="link_3"/>
            <body name="link_4">
              <geom name="forearm" type="capsule" fromto="0 0 0 0 1 0" size="0.1"/>
              <site name="link_4" pos="0 0.5 0"/>
              <body name="link_5" pos="0 1 0">
                <geom name="end_effector" type="sphere" size="0.15"/>
                <site name="link_5"/>
              </body>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="joint_1" joint="joint_1"/>
    <motor name="joint_2" joint="joint_2"/>
    <motor name="joint_3" joint="joint_3"/>
  </actuator>
</mujoco>
"""

ARM3 = Robot(
    "Arm3",
    MJCF,
    actions=3,
    frames=("link_1", "link_2", "link_3", "link_4", "link_5"),
    tracked="link_5",
    compact_lidars=("link_1", "link_3", "link_5"),
    # The end effector's own ball is not part of the shape: it may touch a region to reach past it.
    parts=(
        Part("link_1", "link_1", 0.20),
        Part("link_2", "link_3", 0.15),
        Part("link_3", "link_3", 0.20),
        Part("link_4", "link_5", 0.10),
    ),
    joints=("joint_1", "joint_2", "joint_3"),
    touch=("link_5",),
    spatial=True,
    anchored=True,
    plain_kinds=True,
    steps_per_second=15e3,
)
