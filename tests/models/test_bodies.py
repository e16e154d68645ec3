"""Bodies of one robot, and the states of its postures."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nao_testbed.models import Robot, RobotDataError, UnknownName, load_robot


@pytest.mark.requirement("RM-41", "RM-4")
def test_the_torso_body_has_no_legs(nao: Robot) -> None:
    torso = nao.with_body("T14")
    absent = set()
    for node in torso.resources.walk():
        if node.name in torso.absent:
            absent |= {below.name for below in node.walk() if not below.children}
    assert {name for name in nao.motor_names if "Hip" in name} <= absent
    assert len(absent & set(nao.motor_names)) == 11


@pytest.mark.requirement("RM-41")
def test_the_robot_as_loaded_is_complete(nao: Robot) -> None:
    assert nao.absent == ()
    assert nao.with_body("H25").absent == ()


@pytest.mark.requirement("RM-42")
def test_joints_and_resources_do_not_depend_on_the_body(nao: Robot) -> None:
    torso = nao.with_body("T14")
    assert torso.joint_names == nao.joint_names
    assert torso.resources is nao.resources


def test_legs_are_the_joints_between_base_and_feet(nao: Robot, two_leg: Robot) -> None:
    assert set(nao.leg_joints) == set(nao.groups["Legs"])
    assert two_leg.leg_joints == two_leg.joint_names


@pytest.mark.requirement("RM-41")
@pytest.mark.parametrize(
    ("body", "count", "has_legs"),
    [("H25", 0, True), ("H21", 4, True), ("T14", 12, False)],
)
def test_joints_of_absent_motors_are_absent(
    nao: Robot, body: str, count: int, *, has_legs: bool
) -> None:
    """One motor of the legs drives two joints: 11 motors, 12 joints."""
    robot = nao.with_body(body)
    assert len(robot.absent_joints) == count
    assert robot.has_legs is has_legs


def test_an_unknown_body_is_refused_with_the_nearest_one(nao: Robot) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'T14'"):
        nao.with_body("T41")


def test_a_body_without_an_unknown_part_is_rejected_with_line(
    spoil: Callable[[str, str, str], Path],
) -> None:
    folder = spoil("robot.yaml", "typical_postures:", "bodies: {B: [tail]}\nxx:")
    text = (
        (folder / "robot.yaml").read_text("utf-8").replace("xx:", "typical_postures:")
    )
    (folder / "robot.yaml").write_text(text, "utf-8")
    with pytest.raises(RobotDataError, match=r"robot\.yaml:\d+: .*'tail'"):
        load_robot(folder)


@pytest.mark.requirement("RM-51")
def test_postures_have_their_states(nao: Robot) -> None:
    states = {name: posture.state for name, posture in nao.postures.items()}
    assert states["PoseInit"] == states["Stand"] == "Stand"
    assert states["SitRelax"] == "Sit"
    assert (states["LyingBack"], states["LyingBelly"]) == ("Back", "Belly")
    assert states["Gorilla"] is None
