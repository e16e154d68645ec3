"""Goes to a posture that costs little, and waits until the motors are cool.

Which posture that is was simulated, ten seconds at rest on level ground, losses by the
one-node numbers; the stiffness controller makes no difference but in lying:

    Stand 0.30 W, PoseInit 1.1, StandInit 1.3, Crouch 2.0, SitRelax 2.5, Sit 2.7,
    StandZero 3.6, LyingBack 5.5, LyingBelly 4.6

So it is Stand: the knees rest on their stops and the legs are straight, and no motor
would ever pass 42 °C. Sitting, the stored postures hold up arms and legs, whose motors
would go to 76 °C and more. A robot with a misaligned ankle may do better elsewhere.
"""

from dataclasses import dataclass

import numpy as np

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.times import is_due
from controllers.schemas.schema import ActuationSchema
from controllers.schemas.variables import Variable
from controllers.schemas.waking import Waking
from models import Robot

GO = "go to posture"
RETRY_S = 10.0
"""Time between two tries to get there, in s."""


@dataclass(frozen=True, kw_only=True)
class CoolDownParameters:
    """From when to when, and how."""

    posture: str = "Stand"
    """Name of a stored posture."""
    from_degc: float = 70.0
    """Temperature of the hottest motor from which it is ready, in °C."""
    until_degc: float = 55.0
    """Temperature below which it is cool, in °C."""
    only_when_hot: bool = True
    """True: ready while it is hot, and not any more when it is cool, for a parent that
    lets it compete. False: ready at once, and done when it is cool, for a sequence."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range or out of order.

        Raises:
            BadInput: one of them.
        """
        check_between("from_degc", self.from_degc, 0.0, 200.0, "°C")
        check_between("until_degc", self.until_degc, 0.0, self.from_degc, "°C")


class CoolDown(ActuationSchema[CoolDownParameters]):
    """Wakes `go to posture`, then waits; the joints are free while it does.

    Where it cannot get there, since a hot motor has been taken away, say, it waits all
    the same, and tries again now and then.
    """

    info = SchemaInfo(
        name="cool down",
        about="Goes to a posture that costs little, until the motors are cool.",
        period_s=0.1,
        parameters=CoolDownParameters,
        outputs=(
            Variable(
                name="degc",
                type=float,
                unit="°C",
                about="Of the hottest motor, at the last check.",
                initial=0.0,
            ),
            Variable(
                name="is_there",
                type=bool,
                about="Whether it has reached its posture.",
                initial=False,
            ),
        ),
    )

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: CoolDownParameters, robot: Robot
    ) -> None:
        """Refuse a posture that the robot has not.

        Raises:
            UnknownName: it has none of this name.
        """
        del waking
        robot.posture(parameters.posture)

    _is_hot = False
    _again_s = 0.0

    def ready(self) -> bool:
        """Whether the robot is hot, and has not become cool since."""
        now, hottest = self.parameters, self._hottest()
        self.write("degc", hottest)
        self._is_hot = hottest >= (now.until_degc if self._is_hot else now.from_degc)
        return self._is_hot or not now.only_when_hot

    def start(self) -> None:
        """Go to the posture."""
        self.write("is_there", False)
        self.wake(GO, posture=self.parameters.posture)
        self._again_s = self.time_s + RETRY_S

    def iterate(self) -> None:
        """Wait until it is cool."""
        going = self.child(GO)
        if going.is_done:
            self.write("is_there", True)
            self.sleep(GO)
        elif going.error and is_due(self.time_s, self._again_s):
            self.wake(GO, posture=self.parameters.posture)
            self._again_s = self.time_s + RETRY_S
        now = self.parameters
        if not now.only_when_hot and self._hottest() < now.until_degc:
            self.finish()

    def _hottest(self) -> float:
        """Return the highest temperature in °C; sensors that fail are left out."""
        seen = self.observation.temperature
        return float(np.max(seen, where=np.isfinite(seen), initial=-273.15))
