"""Cartesian motions of torso and arms, and rest."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nao_testbed.experiments.server.naoqi.motion.poses import of_six, path_through
from nao_testbed.models import TestbedError
from tests.experiments.server.naoqi.in_process import InProcess

IK_TOLERANCE_M = 0.008
"""Commanded torso: eleven motors keep the twelve axes of both feet approximately."""
TORSO_TOLERANCE_M = 0.016
"""Measured torso: the servos deflect under the shifted weight."""
HAND_TOLERANCE_M = 0.008
"""Measured hand while the torso sways."""


class Nao(InProcess):
    """A robot in StandInit."""

    def begin(self, service: str, method: str, *args: object) -> Any:
        return self.ask(service)(method, *args)

    def do(self, service: str, method: str, *args: object) -> Any:
        """Call a method, and run the robot until the call ends."""
        future = self.begin(service, method, *args)
        for _ in range(2000):
            if future.done():
                return future.result()
            self.run(0.02)
        raise AssertionError(f"{method} did not end in 40 s")

    def motion(self, method: str, *args: object) -> Any:
        return self.begin("ALMotion", method, *args)

    def stand(self) -> None:
        assert self.do("ALRobotPosture", "goToPosture", "StandInit", 0.8)


@pytest.fixture(scope="module")
def shared() -> Iterator[Nao]:
    nao = Nao()
    yield nao
    nao.served.close("done")


@pytest.fixture
def nao(shared: Nao) -> Nao:
    shared.stand()
    return shared


def test_relative_points_of_a_path_are_changes_of_its_start() -> None:
    start = of_six([0.1, 0.0, 0.2, 0.0, 0.0, 0.0])
    changes = [of_six([0.0, y, 0.0, 0.0, 0.0, 0.0]) for y in (0.04, -0.04, 0.0)]
    for size in (6, 16):
        way = path_through(start, changes, [1.0, 2.0, 3.0], size, absolute=False)
        assert [time_s for time_s, _ in way] == [0.0, 1.0, 2.0, 3.0]
        across = [pose.translation[1] for _, pose in way]
        assert across == pytest.approx([0.0, 0.04, -0.04, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize("frame", [1, 2])
def test_torso_moves_equally_in_world_and_robot_frame(nao: Nao, frame: int) -> None:
    goal = nao.motion("getPosition", "Torso", frame, False)
    goal[1] -= 0.05
    nao.do("ALMotion", "positionInterpolations", "Torso", frame, goal, 7, 1.5)
    assert nao.motion("getPosition", "Torso", frame, False)[:3] == pytest.approx(
        goal[:3], abs=IK_TOLERANCE_M
    )
    nao.run(0.5)
    assert nao.motion("getPosition", "Torso", frame, True)[:3] == pytest.approx(
        goal[:3], abs=TORSO_TOLERANCE_M
    )


@pytest.mark.slow
def test_robot_keeps_standing_when_its_torso_is_lowered(nao: Nao) -> None:
    """Its joints arrive together; one after another they would topple it."""
    low = [1, 0, 0, 0.0, 0, 1, 0, 0.0, 0, 0, 1, 0.25]
    nao.motion("setTransforms", "Torso", 2, low, 0.2, 63)
    nao.run(3.0)
    torso = nao.motion("getPosition", "Torso", 2, True)
    assert torso[2] == pytest.approx(0.25, abs=0.005)
    tilt = nao.motion("getTransform", "Torso", 1, True)
    assert abs(tilt[8]) < np.deg2rad(5.0)  # the torso is upright in the world


@pytest.mark.slow
def test_torso_motion_is_limited_by_the_legs(nao: Nao) -> None:
    before = nao.motion("getPosition", "Torso", 2, False)
    goal = [*before[:2], before[2] + 0.2, *before[3:]]
    nao.do("ALMotion", "positionInterpolations", "Torso", 2, goal, 63, 1.5)
    risen = nao.motion("getPosition", "Torso", 2, True)[2] - before[2]
    assert 0.003 < risen < 0.1
    assert "the torso went only part of the way" in nao.motion("getSummary")
    assert nao.begin("ALRobotPosture", "getPostureFamily") == "Standing"


@pytest.mark.slow(covers=True)
def test_unreachable_arm_target_is_approached(nao: Nao) -> None:
    before = nao.motion("getPosition", "LArm", 0, True)[:3]
    goal = [before[0] + 0.25, *before[1:]]  # the arm is 0.22 m long
    nao.do(
        *("ALMotion", "positionInterpolations", "LArm", 0),
        *([*goal, 0.0, 0.0, 0.0], 7, 1.5),
    )
    nao.run(0.3)
    left = np.linalg.norm(
        np.subtract(nao.motion("getPosition", "LArm", 0, True)[:3], goal)
    )
    assert 0.05 < left < 0.2
    assert "a position was reached only approximately" in nao.motion("getSummary")


@pytest.mark.slow
def test_hand_keeps_its_position_while_the_torso_sways(nao: Nao) -> None:
    torso = nao.motion("getPosition", "Torso", 2, False)
    hand = nao.motion("getPosition", "LArm", 2, False)
    aside = [torso[0], torso[1] + 0.03, *torso[2:]]
    future = nao.motion(
        *("positionInterpolations", ["LArm", "Torso"], 2),
        *([[hand], [aside, torso]], [7, 63], [[4.0], [2.0, 4.0]]),
    )
    nao.run(2.0)
    swayed = nao.motion("getPosition", "Torso", 2, True)[1] - torso[1]
    assert swayed == pytest.approx(0.03, abs=TORSO_TOLERANCE_M)
    assert nao.motion("getPosition", "LArm", 2, True)[:3] == pytest.approx(
        hand[:3], abs=HAND_TOLERANCE_M
    )
    nao.run(2.5)
    assert future.done()


@pytest.mark.slow
def test_resting_robot_is_in_crouch_with_hanging_arms(nao: Nao) -> None:
    nao.do("ALMotion", "rest")
    nao.run(2.0)
    assert nao.begin("ALRobotPosture", "getPosture") == "Crouch"
    assert nao.do("ALMotion", "wakeUp")
    assert nao.begin("ALRobotPosture", "getPosture") == "StandInit"


@pytest.mark.parametrize("state", ["Plane", "Free"])
def test_feet_that_would_move_are_refused(nao: Nao, state: str) -> None:
    nao.motion("wbFootState", "Fixed", "Legs")
    with pytest.raises(TestbedError, match="not simulated: a foot"):
        nao.motion("wbFootState", state, "Legs")
