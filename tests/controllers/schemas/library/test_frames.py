"""`frames` plays set-points frame by frame while it holds its resources."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.policies import Lock, PauseOnDemand
from nao_testbed.controllers.schemas import State
from nao_testbed.models import BadInput, Robot
from tests.controllers.schemas.library.body import Body

FRAMES = 8
YAW = tuple(0.02 * (k + 1) for k in range(FRAMES))
PITCH = tuple(-0.01 * (k + 1) for k in range(FRAMES))
NOD = {"angles": {"HeadYaw": YAW, "HeadPitch": PITCH}, "frames_per_second": 20.0}
"""One frame in five slots."""


def nodding(body: Body, **more: Any) -> Body:
    needs: dict[str, Any] = {"needs": ("HeadYaw",), "optional": ("HeadPitch",)}
    return body.begin("frames", parameters=NOD, **{**needs, **more})


def shown(body: Body, joint: str) -> list[float]:
    """Return the set-points of a joint after each slot in which they changed."""
    j = body.robot.joint_index(joint)
    start = float(body.robot.posture("Stand").angles[j])
    column = [start, *(float(row[j]) for row in body.written)]
    return [b for a, b in pairwise(column) if a != b]


@pytest.mark.requirement("RM-66")
def test_each_frame_is_the_set_point_for_its_duration(robot: Robot) -> None:
    body = nodding(Body.of(robot))
    body.slot(5 * FRAMES + 10)
    j = robot.joint_index("HeadYaw")
    column = np.array([row[j] for row in body.written])
    first = int(np.argmax(column == YAW[0]))
    assert column[first : first + 5 * FRAMES].tolist() == [
        a for a in YAW for _ in range(5)
    ]
    assert shown(body, "HeadPitch") == list(PITCH)
    assert body.state("frames") is State.SLEPT
    assert not body.failures()


@pytest.mark.requirement("RM-66")
def test_default_rate_is_15_frames_per_second(robot: Robot) -> None:
    body = Body.of(robot)
    body.begin("frames", parameters={"angles": {"HeadYaw": YAW}})
    body.until("frames", State.SLEPT, 1.0)
    assert shown(body, "HeadYaw") == list(YAW)
    assert body.tick == pytest.approx(100.0 * FRAMES / 15.0, abs=4)


@pytest.mark.requirement("RM-66", "RM-37")
def test_paused_timeline_resumes_at_its_frame(robot: Robot) -> None:
    body = nodding(Body.of(robot), policy=PauseOnDemand())
    body.slot(14)
    before = shown(body, "HeadYaw")
    body.hold("taker", "HeadYaw", priority=0)
    body.slot(50)
    assert shown(body, "HeadYaw") == before == list(YAW[: len(before)])
    body.ledger.drop("taker", body.tick)
    body.until("frames", State.SLEPT, 1.0)
    assert shown(body, "HeadYaw") == list(YAW)
    assert not body.failures()


@pytest.mark.requirement("RM-66", "RM-48")
def test_optional_motor_that_is_held_does_not_move(robot: Robot) -> None:
    body = Body.of(robot)
    body.hold("walk", "HeadPitch")
    nodding(body)
    body.slot(5 * FRAMES + 10)
    assert shown(body, "HeadYaw") == list(YAW)
    assert shown(body, "HeadPitch") == []


@pytest.mark.requirement("RM-66", "RM-35")
def test_stopped_timeline_moves_nothing_and_restarts(robot: Robot) -> None:
    body = nodding(Body.of(robot))
    body.slot(14)
    before = shown(body, "HeadYaw")
    body.runtime.sleep("frames", body.tick)
    body.slot(30)
    assert shown(body, "HeadYaw") == before
    body.runtime.wake("frames", body.tick)
    body.until("frames", State.SLEPT, 1.0)
    assert shown(body, "HeadYaw") == [*before, *YAW]


@pytest.mark.requirement("RM-66")
def test_timeline_with_a_lock_keeps_its_motors_to_the_end(robot: Robot) -> None:
    body = nodding(Body.of(robot), policy=Lock())
    body.slot(14)
    assert body.take("taker", "HeadYaw") is None
    body.until("frames", State.SLEPT, 1.0)
    assert shown(body, "HeadYaw") == list(YAW)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, "no frames"),
        ({"angles": {"HeadYaw": YAW, "HeadPitch": PITCH[:2]}}, "has 2 angles"),
        ({"angles": {"HeadYow": YAW}}, "HeadYow"),
        ({"angles": {"HeadYaw": YAW}, "frames_per_second": 0.0}, "frames_per_second"),
    ],
)
def test_invalid_frames_are_rejected(
    robot: Robot, parameters: dict[str, object], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        Body.of(robot).begin("frames", parameters=parameters)
