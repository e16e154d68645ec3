"""Sees that the robot falls, while there is still time to do something.

It falls when its capture point is outside its soles by more than a distance, twice in
a row (`balance`). Simulated, with 135 pushes of 4 to 60 N for 0.2 s in five directions
from Stand, StandInit and Crouch: all 57 falls were seen, 0.22 s or more (median 0.39 s)
before anything but a sole touched the ground, and none was seen where it stayed up.

Only a robot on its feet can fall: lying or sitting it is watched no more. On the way
from one posture to another it is in no state, and watched as it was before, with more
room: sitting down ends with a drop of its own.
"""

from dataclasses import dataclass
from math import degrees

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.balance import Balance
from controllers.schemas.library.ranges import check_between
from controllers.schemas.library.times import is_due
from controllers.schemas.schema import PerceptiveSchema
from controllers.schemas.variables import Variable
from controllers.stiffness.dynamics import GRAVITY


@dataclass(frozen=True, kw_only=True)
class FallWatchParameters:
    """When it is a fall, and when it is over."""

    beyond_m: float = 0.03
    """Distance of the capture point outside the soles from which it is a fall, in m."""
    beyond_on_the_way_m: float = 0.05
    """The same while the robot is on its way from one posture to another, in m: it
    drops on its buttocks when it sits down."""
    carried: float = 0.5
    """Share of the weight that the soles carry at least when it falls, in [0, 1]: less
    is carried by somebody, or by another part of the body. In falls it was 0.63."""
    confirm: int = 2
    """Observations in a row that have to show it."""
    calm_s: float = 1.0
    """Time at rest after which the fall is over, in s."""
    calm_deg_s: float = 20.0
    """Speed of turning below which the robot is at rest, in degrees/s."""
    states: tuple[str, ...] = ("Stand", "Crouch")
    """States in which it is on its feet."""
    group: str = "State"
    """The set of these states."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("beyond_m", self.beyond_m, 0.0, 1.0, "m")
        check_between("beyond_on_the_way_m", self.beyond_on_the_way_m, 0.0, 1.0, "m")
        check_between("carried", self.carried, 0.0, 1.0)
        check_between("confirm", self.confirm, 1, 100)
        check_between("calm_s", self.calm_s, 0.0, 60.0, "s")
        check_between("calm_deg_s", self.calm_deg_s, 0.0, 500.0, "degrees/s")


class FallWatch(PerceptiveSchema[FallWatchParameters]):
    """Says whether the robot falls, and to which side."""

    info = SchemaInfo(
        name="fall watch",
        about="Sees that the robot falls before it touches the ground.",
        period_s=0.01,
        parameters=FallWatchParameters,
        outputs=(
            Variable(
                name="is_falling",
                type=bool,
                about="From the first sign of a fall until the robot is at rest.",
                initial=False,
            ),
            Variable(
                name="heading_rad",
                type=float,
                unit="rad",
                about="Side to which it falls: 0 ahead, left positive.",
                initial=0.0,
            ),
            Variable(
                name="margin_m",
                type=float,
                unit="m",
                about="Of the capture point in the soles; negative outside.",
                initial=0.0,
            ),
        ),
    )

    def start(self) -> None:
        """Begin without a fall."""
        self._balance = Balance(self.robot)
        self._weight = self.robot.total_mass * GRAVITY
        self._is_on_feet = False
        self._is_falling = False
        self._signs = 0
        self._restless_s = self.time_s
        self.write("is_falling", False)

    def perceive(self) -> None:
        """Look at the newest observation."""
        now = self.parameters
        seen = self._balance.step(self.observation)
        self.write("margin_m", seen.capture_margin)
        state = self.active_state(now.group)
        if state is not None:
            self._is_on_feet = state in now.states
        if degrees(seen.tilt_rate) > now.calm_deg_s:
            self._restless_s = self.time_s
        if self._is_falling:
            if is_due(self.time_s - self._restless_s, now.calm_s):
                self._is_falling = False
                self._is_on_feet = state in now.states
                self._signs = 0
                self.write("is_falling", False)
            return
        beyond = now.beyond_on_the_way_m if state is None else now.beyond_m
        is_sign = (
            self._is_on_feet
            and seen.capture_margin < -beyond
            and seen.load_newton >= now.carried * self._weight
        )
        self._signs = self._signs + 1 if is_sign else 0
        if self._signs >= now.confirm:
            self._is_falling = True
            self.write("heading_rad", seen.heading)
            self.write("is_falling", True)
