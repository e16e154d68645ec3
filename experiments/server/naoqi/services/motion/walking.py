"""ALMotion: walking methods of a robot that cannot walk.

`moveTo` returns False at once, as for an interrupted walk; `move` and `moveToward`
raise the event of a walk that could not start. The robot is never teleported.
"""

from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import (
    Value,
    in_range,
    known,
    number,
)
from nao_testbed.experiments.server.naoqi.memory.memory_keys import CONSTANTS
from nao_testbed.experiments.server.naoqi.motion.poses import yaw_of
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks, SharedPart
from nao_testbed.experiments.server.naoqi.services.motion.kinematics import Kinematics
from nao_testbed.experiments.server.naoqi.services.motion.postures import Postures
from nao_testbed.experiments.server.naoqi.services.motion.settings import MotionSettings
from nao_testbed.models import BadInput

STEPS = CONSTANTS["settings of walking: default, minimum, maximum"]
"""Default, minimum and maximum, as published, for programs that read the table."""
STEP_COLUMN = {"Default": 0, "Min": 1, "Max": 2}


class Walking(ALService):
    """Methods of ALMotion about walking."""

    _kinematics, _settings = SharedPart(Kinematics), SharedPart(MotionSettings)

    def moveTo(self, *args: Value) -> bool:
        """Return false at once: the robot does not walk; true for distance zero."""
        goal = _goal(args, "moveTo")
        if not any(goal):
            return True
        self._warn("moveTo")
        return False

    def move(self, x: float, y: float, theta: float, moveConfig: Value = None) -> None:
        """Raise the event ALMotion/MoveFailed: no walk starts."""
        del moveConfig
        self._fail_to_walk("move", x, y, theta)

    def moveToward(
        self, x: float, y: float, theta: float, moveConfig: Value = None
    ) -> None:
        """Raise the event ALMotion/MoveFailed: no walk starts."""
        del moveConfig
        for value in (x, y, theta):
            in_range("a fraction of the speed", value, -1.0, 1.0)
        self._fail_to_walk("moveToward", x, y, theta)

    def moveInit(self) -> Blocks:
        """Go to StandInit, and wait."""
        return self._parts.get(Postures).go(self._client.name, "StandInit", 1.0)

    def getRobotPosition(self, useSensors: bool) -> list[float]:
        """Return the position of the robot in the world, x and y in m, yaw in rad."""
        del useSensors
        pose = self._kinematics.base_in_world()
        x, y, _ = pose.translation
        return [float(x), float(y), yaw_of(pose.rotation)]

    def getNextRobotPosition(self) -> list[float]:
        """Return the present position of the robot."""
        return self.getRobotPosition(True)

    def getMoveConfig(self, config: str) -> list[list[Any]]:
        """Return the published table: Max, Min or Default."""
        known("Name", config, tuple(STEP_COLUMN), "this call")
        column = STEP_COLUMN[config]
        return [[name, values[column]] for name, values in STEPS.items()]

    def setMoveArmsEnabled(self, leftArmEnabled: bool, rightArmEnabled: bool) -> None:
        """Store whether arms swing while walking."""
        arms = self._settings.move_arms
        arms["LArm"], arms["RArm"] = leftArmEnabled, rightArmEnabled
        self._client.pretended["ALMotion.setMoveArmsEnabled"] += 1

    def getMoveArmsEnabled(self, chainName: str = "Arms") -> bool:
        """Return the stored switch for swinging arms."""
        arms = self._settings.move_arms
        known("Name", chainName, (*arms, "Arms"), "this call")
        return all(arms.values()) if chainName == "Arms" else arms[chainName]

    def getWalkArmsEnabled(self) -> list[bool]:
        """Return the stored switches of the left and the right arm."""
        return list(self._settings.move_arms.values())

    def getFootSteps(self) -> list[Any]:
        """Return the poses of the feet, x, y and yaw, without future steps."""
        feet = [self._kinematics.foot_in_world(leg) for leg in ("LLeg", "RLeg")]
        return [feet, [], []]

    def setWalkTargetVelocity(
        self, x: float, y: float, theta: float, frequency: float, *more: Value
    ) -> None:
        """Raise the event ALMotion/MoveFailed: no walk starts."""
        del frequency, more
        self._fail_to_walk("setWalkTargetVelocity", x, y, theta)

    # -- internals ---------------------------------------------------------------------

    def _fail_to_walk(self, method: str, *velocity: float) -> None:
        if any(velocity):
            self._warn(method)
            self._parts.memory.raise_event(
                "ALMotion/MoveFailed", ["walking is not simulated", 0, [0.0, 0.0, 0.0]]
            )

    def _warn(self, method: str) -> None:
        self._parts.motion.warn(f"{method}: walking is not simulated")


def _goal(args: tuple[Any, ...], method: str) -> list[float]:
    """Return the last point of a path, from any overload."""
    given = list(args)
    if len(given) in {3, 4} and not isinstance(given[0], list):
        return [number(one) for one in given[:3]]
    if len(given) in {1, 2} and isinstance(given[0], list) and given[0]:
        points = given[0] if isinstance(given[0][0], list) else [given[0]]
        if all(isinstance(point, list) and len(point) == 3 for point in points):
            return [number(one) for one in points[-1]]
    raise BadInput(
        f"{method} takes x, y, theta or a list of such points, and a configuration."
    )
