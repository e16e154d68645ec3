"""Going to postures: each intermediate posture is checked before the next motion."""

from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.policies import Lock
from nao_testbed.controllers.schemas import State
from nao_testbed.controllers.schemas.events import SchemaFailed
from nao_testbed.controllers.schemas.library.heat_and_battery import GO_TO_POSTURE
from nao_testbed.models import Robot
from tests.controllers.schemas.library.body import Body


def go(body: Body, **parameters: Any) -> None:
    body.begin("go to posture", parameters=parameters).slot()


def error(body: Body) -> str:
    return body.runtime.view("go to posture").error


def test_robot_is_in_the_posture_at_the_end(robot: Robot) -> None:
    body = Body.of(robot, "Stand")
    go(body, posture="Crouch")
    body.until("go to posture", State.SLEPT, 2.0)
    assert not body.failures()
    goal = robot.posture("Crouch").angles
    np.testing.assert_allclose(body.sensors.target, goal, atol=1e-3)
    assert body.ledger.active_state("State") == "Crouch"


@pytest.mark.requirement("JD-26", "SY-2")
def test_intermediate_postures_are_checked(robot: Robot) -> None:
    body = Body.of(robot, "Stand")
    go(body, posture="Sit")
    body.until("go to posture", State.SLEPT, 4.0)
    labels = [label for _, label in body.started()]
    assert labels[:2] == ["Stand to Crouch, short", "Crouch to Sit, legs"]
    first, second = (tick for tick, _ in body.started()[:2])
    assert second >= first + 60
    assert body.ledger.active_state("State") == "Sit"
    # The second motion moved the legs only: arms and head follow.
    goal = robot.posture("Sit").angles
    np.testing.assert_allclose(body.sensors.target, goal, atol=2e-3)
    assert not body.failures()


def test_posture_that_is_not_reached_ends_the_motion(robot: Robot) -> None:
    body = Body.of(robot, "Stand")
    body.sensors.stuck = {"LKneePitch"}
    go(body, posture="Sit", settle_s=0.5)
    body.until("go to posture", State.SLEPT, 4.0)
    assert "LKneePitch is 126" in error(body)
    assert "'Crouch'; at most 15 are accepted" in error(body)
    assert len(body.started()) == 1


def test_intermediate_posture_may_have_the_previous_state(robot: Robot) -> None:
    body = Body.of(robot, "StandInit").slot(40)
    go(body, posture="Crouch")
    body.until("go to posture", State.SLEPT, 6.0)
    labels = [label for _, label in body.started()]
    assert labels == ["StandInit to Stand, short", "Stand to Crouch, short"]
    assert not body.failures()


def test_blocked_arm_ends_the_motion_too(robot: Robot) -> None:
    body = Body.of(robot, "Stand")
    body.sensors.stuck = {"LElbowRoll"}  # the legs, hence the state, are correct
    go(body, posture="Sit", settle_s=0.5)
    body.until("go to posture", State.SLEPT, 4.0)
    assert "LElbowRoll is 37.6 degrees from 'Crouch'" in error(body)


def test_robot_in_a_wrong_state_ends_the_motion(
    robot: Robot,
) -> None:
    body = Body.of(robot, "Stand")
    go(body, posture="Crouch", settle_s=0.5)
    body.slot(20)
    body.sensors.up = np.array([1.0, 0.0, 0.0])  # lying on its back
    body.until("go to posture", State.SLEPT, 4.0)
    assert "should be in the state 'Crouch'" in error(body)


def test_holder_that_keeps_the_present_state_ends_the_motion(robot: Robot) -> None:
    body = Body.of(robot, "Stand")
    body.hold("somebody", "Stand", policy=Lock())
    go(body, posture="Crouch", patience_s=0.5)
    body.until("go to posture", State.SLEPT, 1.0)
    assert "need the state 'Stand' kept it for 0.5 s" in error(body)
    assert not body.started()
    assert body.ledger.active_state("State") == "Stand"


def test_arms_and_head_move_to_the_posture_of_the_legs(
    robot: Robot,
) -> None:
    body = Body.of(robot, "Stand", turned={"RShoulderPitch": 0.3})
    j = robot.joint_index("RShoulderPitch")
    body.begin("stand", parameters={"speed_deg_s": 60.0})
    body.until("stand", State.SLEPT, 4.0)
    assert body.moved() == {"RShoulderPitch"}
    assert body.angle("RShoulderPitch") == pytest.approx(1.442585, abs=1e-3)
    assert body.fastest()[j] <= np.radians(60.0) * 1.01


def test_leg_angles_far_from_every_posture_are_an_error(robot: Robot) -> None:
    body = Body.of(robot, "LyingBack")
    go(body, posture="Crouch")
    body.until("go to posture", State.SLEPT, 1.0)
    assert "no transition starts at the present leg angles" in error(body)


def test_posture_without_a_transition_is_an_error(robot: Robot) -> None:
    body = Body.of(robot, "Sit")
    go(body, posture="Stand")
    body.until("go to posture", State.SLEPT, 1.0)
    assert "nearest" in error(body) or "no transition" in error(body)
    assert body.told(SchemaFailed)


def test_cool_down_waits_in_its_posture_until_cool(
    robot: Robot,
) -> None:
    body = Body.of(robot, "Crouch")
    body.begin("cool down", parameters={"only_when_hot": False})
    body.sensors.temperature[3] = 72.0
    body.seconds(3.0)
    assert body.state("cool down") is State.WINNER
    assert body.ledger.active_state("State") == "Stand"
    assert body.take("others", "Legs") is not None  # no joint is held while waiting
    body.sensors.temperature[3] = 54.0
    body.until("cool down", State.SLEPT, 0.2)
    assert not body.failures()


def test_cool_down_waits_and_retries_if_its_posture_is_blocked(
    robot: Robot,
) -> None:
    body = Body.of(robot, "Crouch")
    body.hold("hot motor", "LKneePitch", policy=Lock())
    body.begin("cool down", parameters={"only_when_hot": False})
    body.sensors.temperature[3] = 72.0
    body.seconds(7.0)
    assert body.state("cool down") is State.WINNER
    assert (
        "LKneePitch by hot motor"
        in body.runtime.view(f"cool down/{GO_TO_POSTURE}").error
    )
    assert body.runtime.value("cool down", "is_there") is False
    body.ledger.drop("hot motor", body.tick)
    body.seconds(6.0)
    assert body.runtime.value("cool down", "is_there") is True
    assert body.ledger.active_state("State") == "Stand"


def test_cool_down_is_ready_from_hot_until_cool(robot: Robot) -> None:
    body = Body.of(robot, "Stand").begin("cool down")
    heat = [(69.0, False), (70.0, True), (60.0, True), (54.9, False), (69.0, False)]
    for degc, is_ready in heat:
        body.sensors.temperature[:] = 30.0
        body.sensors.temperature[5] = degc
        body.sensors.temperature[6] = np.nan  # a failed sensor is ignored
        body.seconds(0.2)
        assert (body.state("cool down") is State.WINNER) is is_ready, degc
