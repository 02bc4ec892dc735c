"""Humanoid: a body held upright on two driven legs, with a passive waist and passive arms."""

from ascpo.guard.robots.robot import Robot, motors

_GEARS = {"hip_x": 20, "hip_z": 20, "hip_y": 40, "knee": 15}


def _leg(side: str, y: float, axis: int, knee_stiffness: int) -> str:
    return f"""
          <body name="{side}_thigh" pos="0 {y} -0.04">
            <joint name="{side}_hip_x" class="hip" axis="{axis} 0 0" range="-25 5"/>
            <joint name="{side}_hip_z" class="hip" axis="0 0 {axis}" range="-60 35"/>
            <joint name="{side}_hip_y" class="hip" axis="0 1 0" range="-110 20" stiffness="20"/>
            <geom name="{side}_thigh" fromto="0 0 0 0 {-0.1 * y} -0.34" size="0.06"/>
            <body name="{side}_shin" pos="0 {-0.1 * y} -0.403">
              <joint name="{side}_knee" axis="0 -1 0" pos="0 0 0.02" range="-160 -2" armature="0.006"
                     stiffness="{knee_stiffness}"/>
              <geom name="{side}_shin" fromto="0 0 0 0 0 -0.3" size="0.049"/>
              <body name="{side}_foot" pos="0 0 -0.45">
                <geom name="{side}_foot" type="sphere" pos="0 0 0.1" size="0.075"/>
                <site name="touch_{side}" pos="0 0 0.1" size="0.1"/>
              </body>
            </body>
          </body>"""


def _arm(side: str, out: int, shoulder_range: str, elbow_axis: str) -> str:
    """`out` is the sign of y on this side: right -1, left +1."""
    return f"""
      <body name="{side}_upper_arm" pos="0 {0.17 * out} 0.06">
        <joint name="{side}_shoulder1" axis="2 {-out} 1" range="{shoulder_range}" armature="0.0068" stiffness="1"/>
        <joint name="{side}_shoulder2" axis="0 {out} 1" range="{shoulder_range}" armature="0.0051" stiffness="1"/>
        <geom name="{side}_upper_arm" fromto="0 0 0 0.16 {0.16 * out} -0.16" size="0.04"/>
        <body name="{side}_lower_arm" pos="0.18 {0.18 * out} -0.18">
          <joint name="{side}_elbow" axis="{elbow_axis}" range="-90 50" armature="0.0028"/>
          <geom name="{side}_lower_arm" fromto="0.01 {-0.01 * out} 0.01 0.17 {-0.17 * out} 0.17" size="0.031"/>
          <geom name="{side}_hand" type="sphere" pos="0.18 {-0.18 * out} 0.18" size="0.04"/>
        </body>
      </body>"""


# The root's second slide comes after its yaw and turns with it; at a yaw of 90 degrees the two slides are
# parallel and the mass matrix is singular (docs/robots.md).
MJCF = f"""
<mujoco model="Humanoid">
  <option timestep="0.003" integrator="RK4"/>
  <default>
    <geom condim="6" density="1000" friction="1 0.005 0.0001" type="capsule"/>
    <joint type="hinge" damping="1"/>
    <motor ctrlrange="-1 1"/>
    <default class="hip">
      <joint damping="5" armature="0.01" stiffness="10"/>
    </default>
    <default class="abdomen">
      <joint damping="5" armature="0.02" stiffness="10"/>
    </default>
    <default class="root">
      <joint damping="0"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1"/>
    <body name="robot" pos="0 0 1.28">
      <site name="robot"/>
      <joint name="x" class="root" type="slide" axis="1 0 0"/>
      <joint name="yaw" class="root" axis="0 0 1" armature="10" stiffness="5"/>
      <joint name="y" class="root" type="slide" axis="0 1 0"/>
      <geom name="chest" fromto="0 -0.07 0 0 0.07 0" size="0.07"/>
      <geom name="head" type="sphere" pos="0 0 0.19" size="0.09"/>
      <geom name="upper_waist" fromto="-0.01 -0.06 -0.12 -0.01 0.06 -0.12" size="0.06"/>
      <body name="lower_waist" pos="-0.01 0 -0.26" quat="1 0 -0.002 0">
        <joint name="abdomen_z" class="abdomen" axis="0 0 1" pos="0 0 0.065" stiffness="1"/>
        <joint name="abdomen_y" class="abdomen" axis="0 1 0" pos="0 0 0.065" range="-75 30"/>
        <geom name="lower_waist" fromto="0 -0.06 0 0 0.06 0" size="0.06"/>
        <body name="pelvis" pos="0 0 -0.165" quat="1 0 -0.002 0">
          <joint name="abdomen_x" class="abdomen" axis="1 0 0" pos="0 0 0.1" range="-35 35"/>
          <geom name="pelvis" fromto="-0.02 -0.07 0 -0.02 0.07 0" size="0.09"/>
          {_leg("right", -0.1, 1, knee_stiffness=0)}
          {_leg("left", 0.1, -1, knee_stiffness=1)}
        </body>
      </body>
      {_arm("right", -1, "-85 60", "0 -1 1")}
      {_arm("left", 1, "-60 85", "0 -1 -1")}
    </body>
  </worldbody>
  <actuator>
    {motors("right", _GEARS)}
    {motors("left", _GEARS)}
  </actuator>
</mujoco>
"""

_LEGS = tuple(f"{side}_{joint}" for side in ("left", "right") for joint in ("hip_x", "hip_y", "hip_z", "knee"))
_ARMS = tuple(f"{side}_{joint}" for side in ("left", "right") for joint in ("elbow", "shoulder1", "shoulder2"))
_WAIST = ("abdomen_x", "abdomen_y", "abdomen_z")

HUMANOID = Robot(
    "Humanoid",
    MJCF,
    actions=8,
    joints=tuple(sorted(_WAIST + _LEGS + _ARMS)),
    compact_joints=_LEGS,
    touch=("touch_left", "touch_right"),
    steps_per_second=1.2e3,
)
