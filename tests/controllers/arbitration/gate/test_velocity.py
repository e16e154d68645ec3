"""Velocity set-points pass the gate with their angle, for one slot."""

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.tokens import Refusal
from nao_testbed.controllers.interface.robot_interface import Command, MotorTarget
from nao_testbed.models import BadInput
from tests.controllers.arbitration.gate_setup import World

pytestmark = pytest.mark.requirement("ST-29")
HEAD = MotorTarget(angle=0.1, velocity=2.0)


def last(world: World) -> Command:
    return world.robot.commands[-1]


def velocities(world: World) -> dict[str, float]:
    """Return the velocities of the last command that are not 0, by joint."""
    found = last(world).velocity
    names = world.robot.robot.joint_names
    return (
        {}
        if found is None
        else {n: v for n, v in zip(names, found, strict=True) if v != 0.0}
    )


def test_velocity_reaches_the_robot_with_its_angle_for_one_slot(world: World) -> None:
    token = world.take("look", "HeadYaw")
    assert world.gate.submit(token, "HeadYaw", HEAD) is None
    assert world.flush() == ()
    yaw = world.robot.robot.joint_index("HeadYaw")
    assert world.robot.target[yaw] == 0.1
    assert velocities(world) == {"HeadYaw": 2.0}
    world.flush()  # no commands
    assert last(world).target is not None
    assert velocities(world) == {}
    n = len(world.robot.commands)
    world.flush()
    assert len(world.robot.commands) == n, "written once"


def test_other_joints_of_the_slot_have_no_velocity(world: World) -> None:
    head, arm = world.take("look", "HeadYaw"), world.take("wave", "LElbowRoll")
    world.gate.submit(head, "HeadYaw", HEAD)
    world.gate.submit(arm, "LElbowRoll", -0.5)
    world.flush()
    assert velocities(world) == {"HeadYaw": 2.0}
    world.gate.submit(arm, "LElbowRoll", -0.6)
    world.flush()
    assert velocities(world) == {}


def test_joints_of_one_motor_have_one_velocity(world: World) -> None:
    token = world.take("turn", "LHipYawPitch")
    target = MotorTarget(angle=-0.2, velocity=-1.0)
    world.gate.submit(token, "LHipYawPitch", target)
    world.flush()
    assert velocities(world) == {"LHipYawPitch": -1.0, "RHipYawPitch": -1.0}


def test_token_lost_before_the_slot_leaves_zero_velocity(world: World) -> None:
    token = world.take("look", "HeadYaw")
    world.gate.submit(token, "HeadYaw", HEAD)
    world.flush()
    world.gate.submit(token, "HeadYaw", MotorTarget(angle=0.2, velocity=3.0))
    world.ledger.release(token, world.ledger.tick)
    assert world.flush() == (Refusal.RELEASED,)
    assert velocities(world) == {}
    yaw = world.robot.robot.joint_index("HeadYaw")
    assert world.robot.target[yaw] != 0.2


def test_velocity_needs_the_token_of_the_motor(world: World) -> None:
    for token in (None, world.take("wave", "LElbowRoll")):
        for refused in (
            world.gate.submit(token, "HeadYaw", HEAD),
            world.gate.submit_all(token, {"HeadYaw": HEAD}),
            world.gate.submit_together([(token, {"HeadYaw": HEAD})]).refused,
        ):
            assert refused is not None
    world.flush()
    assert not world.robot.commands


@pytest.mark.parametrize("value", [np.nan, np.inf, -9.0, "fast", None, [1.0, 2.0]])
def test_velocity_out_of_range_is_rejected_on_submission(
    world: World, value: object
) -> None:
    token = world.take("look", "HeadYaw")
    target = MotorTarget(angle=0.1, velocity=value)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"velocity of HeadYaw is .*-8.26.* to 8.26"):
        world.gate.submit(token, "HeadYaw", target)
    world.flush()
    assert not world.robot.commands


def test_angle_out_of_range_is_rejected_with_a_velocity_too(
    world: World,
) -> None:
    token = world.take("look", "HeadYaw")
    with pytest.raises(BadInput, match="set-point of HeadYaw is 9 rad"):
        world.gate.submit(token, "HeadYaw", MotorTarget(angle=9.0, velocity=0.0))


def test_stiffness_accepts_no_velocity(world: World) -> None:
    token = world.take("limits", "Stiffness")
    with pytest.raises(BadInput, match="stiffness is MotorTarget"):
        world.gate.submit(token, "Stiffness", HEAD)
