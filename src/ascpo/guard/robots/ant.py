"""Ant: a ball on four legs of two hinges each. It starts in the air and can tumble."""

from ascpo.guard.robots.robot import Robot


def _leg(number: int, x: int, y: int, ankle_axis: str, ankle_range: str) -> str:
    half = f"{0.05 * x} {0.05 * y} 0"
    foot = f"{0.1 * x} {0.1 * y} 0"
    return f"""
      <body name="leg_{number}">
        <geom type="capsule" fromto="0 0 0 {half}"/>
        <body name="aux_{number}" pos="{half}">
          <joint name="hip_{number}" axis="0 0 1" range="-30 30"/>
          <geom type="capsule" fromto="0 0 0 {half}"/>
          <body name="ankle_{number}" pos="{half}">
            <joint name="ankle_{number}" axis="{ankle_axis}" range="{ankle_range}"/>
            <geom type="capsule" fromto="0 0 0 {foot}"/>
            <site name="touch_{number}a"/>
            <site name="touch_{number}b" pos="{foot}"/>
          </body>
        </body>
      </body>"""


_MOTORS = "\n".join(
    f'<motor name="{joint}_{leg}" joint="{joint}_{leg}"/>' for leg in (1, 2, 3, 4) for joint in ("hip", "ankle")
)

MJCF = f"""
<mujoco model="Ant">
  <option timestep="0.02"/>
  <default>
    <geom condim="6" density="5" friction="0.75 0.01 0.01" margin="0.01" size="0.02"/>
    <joint type="hinge" damping="1" armature="1"/>
    <motor gear="30" ctrlrange="-1 1"/>
    <site size="0.2"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="3.5 3.5 0.1"/>
    <body name="robot" pos="0 0 0.75">
      <site name="robot"/>
      <freejoint name="root"/>
      <geom name="torso" type="sphere" size="0.06"/>
      {_leg(1, 1, 1, "-1 1 0", "30 70")}
      {_leg(2, -1, 1, "1 1 0", "-70 -30")}
      {_leg(3, -1, -1, "-1 1 0", "-70 -30")}
      {_leg(4, 1, -1, "1 1 0", "30 70")}
    </body>
  </worldbody>
  <actuator>
    {_MOTORS}
  </actuator>
</mujoco>
"""

ANT = Robot(
    "Ant",
    MJCF,
    actions=8,
    joints=tuple(f"{joint}_{leg}" for joint in ("ankle", "hip") for leg in (1, 2, 3, 4)),
    touch=tuple(f"touch_{leg}{end}" for leg in (1, 2, 3, 4) for end in "ab"),
    steps_per_second=3e3,
)
