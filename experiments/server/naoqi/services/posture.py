"""ALRobotPosture."""

from nao_testbed.experiments.server.naoqi.motion.engine import check_fraction
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks, ended
from nao_testbed.experiments.server.naoqi.services.motion.postures import (
    FAMILIES,
    NAOQI_POSTURES,
    Postures,
)
from nao_testbed.models import BadInput


class ALRobotPosture(ALService):
    """Motions to postures, and the name of the present one."""

    NAME = "ALRobotPosture"

    def goToPosture(self, postureName: str, speed: float) -> Blocks:
        """Go to a posture, and wait; return true if the robot reached it."""
        return self._go(postureName, speed, straight=False)

    def applyPosture(self, postureName: str, speed: float) -> Blocks:
        """Move directly to the joint angles of a posture, and wait."""
        return self._go(postureName, speed, straight=True)

    def getPosture(self) -> str:
        """Return the present posture, or Unknown."""
        return self._parts.get(Postures).present()

    def getPostureList(self) -> list[str]:
        """Return the known postures."""
        return list(NAOQI_POSTURES)

    def getPostureFamily(self) -> str:
        """Return the family of the present posture."""
        return self._parts.get(Postures).family()

    def getPostureFamilyList(self) -> list[str]:
        """Return the families."""
        return list(FAMILIES)

    def stopMove(self) -> None:
        """Stop the motion to a posture."""
        self._parts.get(Postures).stop()

    def setMaxTryNumber(self, maxTryNumber: int) -> None:
        """Set the number of attempts for a posture."""
        if maxTryNumber < 1:
            raise BadInput(f"maxTryNumber is {maxTryNumber}; give 1 or more.")
        self._parts.get(Postures).most_tries = maxTryNumber

    def _go(self, name: str, speed: float, *, straight: bool) -> Blocks:
        check_fraction(speed)
        postures = self._parts.get(Postures)
        if name not in self._served.robot.postures:
            self._parts.motion.warnings[f"posture {name!r} is unknown"] += 1
            return ended(value=False)
        return postures.go(self._client.name, name, speed, straight=straight)
