"""Programs that move joints as specified, measured on the robot."""

from collections.abc import Sequence
from typing import Any

import pytest

pytestmark = pytest.mark.slow(covers=True)  # a server and programs: processes

ANGLE = 0.02
"""Error in rad; friction and encoder resolution cause less in a free joint."""
SLOT_S = 0.01
"""A set-point takes effect in the slot after its computation."""


def test_timed_motion_arrives_on_time(nao: Any) -> None:
    """Timed by the robot's clock, read before and after each set-point.

    The first changed set-point marks the start, and the last one marks the end, so
    delays of the program do not matter.
    """
    seen, at_end, angle = nao.run("""
        posture.goToPosture("StandInit", 1.0)
        t = "Device/SubDeviceList/HeadYaw/Position/Sensor/Value"
        def clock():
            seconds, microseconds = memory.getTimestamp(t)[1:]
            return seconds + 1e-6 * microseconds
        def look():
            before = clock()
            return [before, motion.getAngles("HeadYaw", False)[0], clock()]
        seen = [look()]
        moving = motion.angleInterpolation("HeadYaw", 0.6, 1.5, True, _async=True)
        while moving.isRunning():
            seen.append(look())
        at_end = motion.getAngles("HeadYaw", False)[0]
        seen.append(look())
        tell([seen, at_end, memory.getData(t)])
    """)
    start = seen[0][1]
    begun = [after for _, command, after in seen if command != start]
    ended = [after for _, command, after in seen if command == seen[-1][1]]
    stood = [before for before, command, _ in seen if command == start]
    moved = [before for before, command, _ in seen if command != seen[-1][1]]
    assert ended[0] - stood[0] >= 1.5 - SLOT_S
    assert moved[-1] - begun[0] <= 1.5 + SLOT_S
    assert at_end == pytest.approx(0.6, abs=1e-6)  # the call returns when it ends
    assert angle == pytest.approx(0.6, abs=ANGLE)


@pytest.mark.parametrize(
    ("names", "angles", "times", "ends"),
    [
        ('"HeadYaw"', "0.3", "0.5", (0.3, None)),
        ('["HeadYaw"]', "[0.1, -0.3]", "[0.3, 0.7]", (-0.3, None)),
        ('"Head"', "[0.2, -0.1]", "0.5", (0.2, -0.1)),
        ('["HeadYaw", "HeadPitch"]', "[0.1, 0.2]", "[0.4, 0.6]", (0.1, 0.2)),
        (
            '["HeadYaw", "HeadPitch"]',
            "[[1.0, 0.4], [0.0]]",
            "[[0.4, 1], [1]]",
            (0.4, 0),
        ),
    ],
)
def test_each_form_of_a_path_is_accepted(
    nao: Any, names: str, angles: str, times: str, ends: Sequence[float | None]
) -> None:
    found = nao.run(f"""
        motion.wakeUp()
        motion.angleInterpolation({names}, {angles}, {times}, True)
        tell(motion.getAngles("Head", True))
    """)
    for angle, wanted in zip(found, ends, strict=True):
        if wanted is not None:
            assert angle == pytest.approx(wanted, abs=ANGLE)


def test_relative_motion_starts_at_the_command(nao: Any) -> None:
    before, after = nao.run("""
        a = motion.getAngles("LShoulderPitch", False)[0]
        motion.angleInterpolation("LShoulderPitch", [-0.2, -0.1], [0.4, 0.8], False)
        tell([a, motion.getAngles("LShoulderPitch", False)[0]])
    """)
    assert after == pytest.approx(before - 0.1, abs=1e-5)


def test_reactive_target_replaces_the_previous_one(nao: Any) -> None:
    one, two = nao.run("""
        motion.setAngles("HeadYaw", 1.0, 0.1)
        first = motion.setAngles("HeadYaw", -0.4, 0.5)
        end = time.time() + 10
        while abs(motion.getAngles("HeadYaw", True)[0] + 0.4) > 0.01:
            assert time.time() < end, motion.getAngles("HeadYaw", True)
        tell([first, motion.getAngles("HeadYaw", True)[0]])
    """)
    assert one is None
    assert two == pytest.approx(-0.4, abs=ANGLE)


def test_impossible_angle_is_clipped_and_executed(nao: Any) -> None:
    found, limit = nao.run("""
        motion.angleInterpolationWithSpeed("HeadPitch", 5.0, 0.3)
        tell([motion.getAngles("HeadPitch", False)[0], 0.514872])
        motion.angleInterpolationWithSpeed("HeadPitch", 0.0, 0.5)
    """)
    assert found == pytest.approx(limit, abs=1e-4)


def test_second_timed_motion_waits_for_the_joint(nao: Any) -> None:
    """The first motion is killed here; in `test_in_process` it ends by itself."""
    n, waits, before, end = nao.run("""
        def tasks(n):
            end = time.time() + 60
            while len(motion.getTaskList()) != n and time.time() < end:
                time.sleep(0.01)
            return motion.getTaskList()
        motion.angleInterpolationWithSpeed("HeadYaw", 0.0, 0.5)
        a = motion.angleInterpolation("HeadYaw", 0.5, 500.0, True, _async=True)
        tasks(1)
        b = motion.angleInterpolation("HeadYaw", -0.5, 1.0, True, _async=True)
        found = tasks(2)
        motion.angleInterpolation("LElbowYaw", -1.2, 2.0, True)  # while b waits
        waits, before = b.isRunning(), motion.getAngles("HeadYaw", False)[0]
        motion.killTask(found[0][1])
        a.value()
        b.value()
        tell([len(found), waits, before, motion.getAngles("HeadYaw", True)[0]])
    """)
    assert n == 2
    assert waits is True
    assert before > 0.0
    assert end == pytest.approx(-0.5, abs=ANGLE)


def test_joint_without_stiffness_does_not_move_or_jump(nao: Any) -> None:
    before, after, back = nao.run("""
        motion.setStiffnesses("LArm", 0)
        time.sleep(0.2)
        a = motion.getAngles("LElbowYaw", True)[0]
        motion.setAngles("LElbowYaw", a + 0.5, 0.5)
        time.sleep(0.3)
        b = motion.getAngles("LElbowYaw", True)[0]
        motion.killTasksUsingResources(["LArm"])
        time.sleep(0.1)
        motion.setStiffnesses("LArm", 1)
        time.sleep(0.2)
        tell([a, b, motion.getAngles("LElbowYaw", True)[0]])
    """)
    assert after == pytest.approx(before, abs=0.1)
    assert back == pytest.approx(after, abs=0.1)


@pytest.mark.slow
def test_postures_and_rest_are_reached(nao: Any) -> None:
    reached, names, rested, awake, stiff = nao.run("""
        reached = [posture.goToPosture(p, 1.0) for p in ("Crouch", "StandInit")]
        name = posture.getPosture()
        sits = posture.goToPosture("Sit", 1.0)
        motion.rest()
        rested = [motion.robotIsWakeUp(), motion.getStiffnesses("LLeg")]
        family = posture.getPostureFamily()
        awake = motion.wakeUp()
        stiff = motion.getStiffnesses("Head")
        tell([reached, [name, family, sits], rested, awake, stiff])
    """)
    assert reached == [True, True]
    assert names == ["StandInit", "Crouching", False]
    assert rested == [False, [0.0] * 6]
    assert awake is True
    assert stiff == [1.0, 1.0]


def test_wrong_arguments_are_refused_with_the_reason(nao: Any) -> None:
    said = nao.run("""
        tell([refused(c) for c in (
            lambda: motion.setAngles("Nose", 0.0, 0.1),
            lambda: motion.setAngles("HeadYaw", float("nan"), 0.1),
            lambda: motion.setAngles(["HeadYaw"], [0.0, 1.0], 0.1),
            lambda: motion.setAngles("HeadYaw", 0.0, 2.0),
            lambda: motion.setAngles("HeadYaw", "left", 0.1),
            lambda: motion.angleInterpolation("HeadYaw", [0.1, 0.2], [1.0, 0.5], True),
            lambda: motion.angleInterpolation([], [], [], True),
            lambda: motion.getAngles("Body"),
            lambda: memory.getData("no such key"),
        )])
    """)
    for text, part in zip(
        said,
        (
            "Nose",
            "nan",
            "2 values for 1",
            "fraction",
            "left",
            "not increasing",
            "no joint",
            "(names, useSensors)",
            "no such key",
        ),
        strict=True,
    ):
        assert text is not None
        assert part in text


def test_killed_task_returns_normally_where_it_was(nao: Any) -> None:
    result, angle, free = nao.run("""
        motion.angleInterpolationWithSpeed("HeadYaw", 0.0, 1.0)
        a = motion.angleInterpolation("HeadYaw", 1.0, 500.0, True, _async=True)
        end = time.time() + 60
        while not motion.getTaskList() and time.time() < end:
            time.sleep(0.01)
        busy = motion.areResourcesAvailable(["Head"])
        name, number, joints = motion.getTaskList()[0]
        killed = motion.killTask(number)
        tell([[a.value(5000), killed, busy], motion.getAngles("HeadYaw", False)[0],
              motion.areResourcesAvailable(["Head"])])
    """)
    assert result == [None, True, False]
    assert angle < 0.9
    assert free is True


def test_bezier_curve_ends_at_its_last_point(nao: Any) -> None:
    assert nao.run("""
        motion.angleInterpolationBezier(["HeadYaw", "HeadPitch"],
            [[0.5, 1.0], [0.8]],
            [[[0.3, [3, -0.1, 0.0], [3, 0.1, 0.0]], [-0.2, [3, -0.1, 0.0]]], [0.1]])
        tell(motion.getAngles("Head", True))
    """) == pytest.approx([-0.2, 0.1], abs=ANGLE)


def test_hand_path_ends_at_its_goal(nao: Any) -> None:
    goal, found, com, mass = nao.run("""
        posture.goToPosture("StandInit", 1.0)
        goal = motion.getPosition("LArm", 0, False)
        goal[0] += 0.03
        goal[2] += 0.04
        motion.positionInterpolations(["LArm"], 0, [[goal]], [7], [[1.0]])
        tell([goal[:3], motion.getPosition("LArm", 0, False)[:3],
              motion.getCOM("Body", 2, True), motion.getMass("Body")])
    """)
    assert found == pytest.approx(goal, abs=1e-3)
    assert mass == pytest.approx(5.305, abs=1e-3)
    assert 0.1 < com[2] < 0.4


def test_limits_and_names_are_those_of_the_robot(nao: Any) -> None:
    names, limits, chains, summary = nao.run("""
        tell([motion.getBodyNames("Body"), motion.getLimits("HeadYaw"),
              motion.getBodyNames("Chains"), motion.getSummary()])
    """)
    assert len(names) == 26
    assert names[8] == "LHipYawPitch"
    assert names[-1] == "RHand"
    assert limits[0][:2] == pytest.approx([-2.08567, 2.08567])
    assert chains == ["Head", "LArm", "LLeg", "RLeg", "RArm"]
    assert "HeadYaw" in summary
