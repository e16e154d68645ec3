"""Looks around: the head goes where attention says (JD-26).

PAN_TILT of [jdec-urjc, section 4.4] turns the neck towards what ATTENTION, a perceptive
schema that it wakes, finds worth a look.
"""

from dataclasses import dataclass
from math import radians

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.attention import AttentionParameters
from controllers.schemas.library.needs import resources_of_joints
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.smooth_path import SmoothPath
from controllers.schemas.library.times import is_due
from controllers.schemas.schema import ActuationSchema
from models import Robot

HEAD = ("HeadYaw", "HeadPitch")


@dataclass(frozen=True, kw_only=True)
class LookAroundParameters(AttentionParameters):
    """Where to look, and how quickly."""

    speed_deg_s: float = 60.0
    """Top speed of a joint, in degrees/s."""
    stay_s: float = 0.6
    """Time for which it looks at one place, in s."""
    for_s: float = 0.0
    """Time after which it has finished, in s; 0 never."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        super().__post_init__()
        check_between("speed_deg_s", self.speed_deg_s, 1.0, 200.0, "degrees/s")
        check_between("stay_s", self.stay_s, 0.0, 3600.0, "s")
        check_between("for_s", self.for_s, 0.0, 1e6, "s")


class LookAround(ActuationSchema[LookAroundParameters]):
    """Turns the head to the least recently seen place, stays, and goes on."""

    info = SchemaInfo(
        name="look around",
        about="Turns the head to where it has not looked for long.",
        period_s=0.01,
        parameters=LookAroundParameters,
        reads=("attention.yaw", "attention.pitch"),
    )

    @classmethod
    def needs_of(
        cls, parameters: LookAroundParameters, robot: Robot
    ) -> tuple[str, ...]:
        """Return the motors of the head."""
        del parameters
        return resources_of_joints(robot, HEAD)

    def start(self) -> None:
        """Wake attention, and begin where the head is."""
        self._wake_attention()
        self._began_s = self.time_s
        self._paths: tuple[SmoothPath, ...] = ()
        self._leave_s = self.time_s
        self._longest_s = 0.0
        self._is_there = False

    def on_modulated(self) -> None:
        """Hand on to attention what is meant for it, at the next iteration."""
        self._is_modulated = True

    def iterate(self) -> None:
        """Follow the present path; at its end stay, then choose the next one."""
        now = self.parameters
        if now.for_s and is_due(self.time_s - self._began_s, now.for_s):
            self.finish()
            return
        if self._is_modulated:
            self._wake_attention()
        if is_due(self.time_s, self._leave_s):
            self._choose()
        since_s = self.time_s - self._path_s
        if self._is_there:
            return  # the last set-point stays in force
        self._is_there = since_s > self._longest_s
        self.submit_all(
            {
                joint: path.at(since_s)
                for joint, path in zip(HEAD, self._paths, strict=True)
            }
        )

    def _wake_attention(self) -> None:
        now = self.parameters
        self.wake(
            "attention",
            yaw_deg=now.yaw_deg,
            up_deg=now.up_deg,
            down_deg=now.down_deg,
            forget_s=now.forget_s,
            seen_deg=now.seen_deg,
            salient_deg=now.salient_deg,
        )
        self._is_modulated = False

    def _choose(self) -> None:
        """Begin a path to where attention points, at the speed of the slower joint."""
        speed = radians(self.parameters.speed_deg_s)
        goals = (self.read("attention.yaw"), self.read("attention.pitch"))
        target = self.observation.target
        self._paths = tuple(
            SmoothPath(float(target[self.robot.joint_index(joint)]), goal, speed)
            for joint, goal in zip(HEAD, goals, strict=True)
        )
        self._path_s = self.time_s
        self._longest_s = max(path.length_s for path in self._paths)
        self._is_there = False
        self._leave_s = self.time_s + self._longest_s + self.parameters.stay_s
