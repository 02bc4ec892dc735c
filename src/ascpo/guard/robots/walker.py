"""Walker: two legs under a bar that is held upright; it walks, turns against a weak spring, and cannot fall."""

from ascpo.guard.robots.robot import Robot, motors

_GEARS = {"hip_x": 10, "hip_z": 10, "hip_y": 30, "leg": 30, "foot": 40}


def _leg(side: str, y: float, outward: int) -> str:
    return f"""
      <body name="{side}_thigh" pos="0 {y} 0">
        <joint name="{side}_hip_x" class="hip" axis="{outward} 0 0" range="-25 5"/>
        <joint name="{side}_hip_z" class="hip" axis="0 0 {outward}" range="-30 35"/>
        <joint name="{side}_hip_y" class="hip" axis="0 1 0" range="-100 10"/>
        <geom name="{side}_thigh" fromto="0 0 0 0 0 -0.2"/>
        <body name="{side}_leg" pos="0 0 -0.3">
          <joint name="{side}_leg" axis="0 -1 0" pos="0 0 0.1" range="-100 0"/>
          <geom name="{side}_leg" fromto="0 0 0.1 0 0 -0.1" size="0.02"/>
          <body name="{side}_foot">
            <joint name="{side}_foot" axis="0 -1 0" pos="0 0 -0.1" range="-45 20"/>
            <geom name="{side}_foot" fromto="0 0 -0.1 0.05 0 -0.1" friction="2 0.1 0.1"/>
            <site name="touch_{side}" pos="0.05 0 -0.1" size="0.05"/>
          </body>
        </body>
      </body>"""


# The root's second slide comes after its yaw and turns with it; at a yaw of 90 degrees the two slides are
# parallel and the mass matrix is singular (docs/robots.md).
MJCF = f"""
<mujoco model="Walker">
  <option timestep="0.005"/>
  <default>
    <geom condim="6" density="500" friction="0.9 0.1 0.1" type="capsule" size="0.03"/>
    <joint type="hinge" damping="20" armature="1"/>
    <motor ctrlrange="-1 1"/>
    <default class="hip">
      <joint damping="5" armature="0.01" stiffness="10"/>
    </default>
    <default class="root">
      <joint armature="0"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1" friction="0.7 0.1 0.1"/>
    <body name="robot" pos="0 0 0.43">
      <site name="robot"/>
      <joint name="x" class="root" type="slide" axis="1 0 0" damping="5"/>
      <joint name="yaw" class="root" axis="0 0 1" damping="1" stiffness="0.1"/>
      <joint name="y" class="root" type="slide" axis="0 1 0" damping="5"/>
      <geom name="torso" fromto="0 0.1 0 0 -0.1 0"/>
      {_leg("right", 0.1, 1)}
      {_leg("left", -0.1, -1)}
    </body>
  </worldbody>
  <actuator>
    {motors("right", _GEARS)}
    {motors("left", _GEARS)}
  </actuator>
</mujoco>
"""

WALKER = Robot(
    "Walker",
    MJCF,
    actions=10,
    joints=tuple(
        f"{side}_{joint}" for side in ("left", "right") for joint in ("foot", "hip_x", "hip_y", "hip_z", "leg")
    ),
    touch=("touch_left", "touch_right"),
    steps_per_second=7e3,
)
