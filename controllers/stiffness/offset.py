"""The offset of step 320: a constant, a table by posture, or a law.

It stands for what the model leaves out. ES2659053 found 0.25 good for an upright
robot and suggests 0.1 when no foot is on the ground [ES2659053T3 ¶320]; it allows a
constant, values tabulated by posture or context of use, or a variable with an
evolution law. Laws nest: `ApproachOffset(inner=PostureOffset(...))` moves from one
tabulated value to the next without a jump. `read_offset` makes them of the words that
follow a controller's name, as in `smart:Crouch=0.1+warm`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, radians
from typing import Annotated, Protocol

import numpy as np
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked, Fraction, check_value
from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray, Positive, number_of

Offset = float | FloatArray
Celsius = Annotated[float, Field(ge=-40.0, le=200.0)]
"""In °C; a winding that a NAO's motor survives lies well within."""
DEGREE = radians(1.0)
OFFSET_WORDS = (
    "VALUE, POSTURE=VALUE, approach[=SECONDS], blocked[=SECONDS], warm[=BEGIN-END]"
)
"""What `read_offset` accepts, joined by `+`."""
LAWS = ("approach", "blocked", "warm")
"""Words that are laws."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OffsetContext:
    """What an offset may depend on."""

    dt_s: float
    """Time since the last step, in s; 0 at the first."""
    posture: Posture | None
    """The closest typical posture, if there is one."""
    is_foot_on_ground: bool
    joint_temperature: FloatArray
    """(n_joints,) reported temperature of the motor of each joint, in °C."""
    target: FloatArray
    """(n_joints,) set-points, in rad."""
    q: FloatArray
    """(n_joints,) measured angles, in rad."""
    stiffness: FloatArray
    """(n_joints,) that was in force."""


class OffsetLaw(Protocol):
    """Gives the offset at each step."""

    def reset(self, robot: Robot) -> None:
        """Prepare for a run on `robot`.

        Raises:
            BadInput: the law does not fit the robot.
        """

    def step(self, context: OffsetContext) -> Offset:
        """Return the offset: one number, or one a joint, (n_joints,)."""


@dataclass(kw_only=True)
class ConstantOffset(Checked):
    """The same offset always, for all joints or one a joint by name."""

    value: Fraction
    by_joint: Mapping[str, float] = field(default_factory=dict)
    """Joints with an offset of their own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_table(self.by_joint)
        self._offset: Offset = self.value

    def reset(self, robot: Robot) -> None:
        """Put the offsets in joint order."""
        if not self.by_joint:
            return
        offset = np.full(len(robot.joints), self.value)
        for name, value in self.by_joint.items():
            offset[robot.joint_index(name)] = value
        self._offset = offset

    def step(self, context: OffsetContext) -> Offset:  # noqa: ARG002 - a law's signature
        """Return the constant."""
        return self._offset


@dataclass(frozen=True, kw_only=True)
class FootOffset(Checked):
    """The two values of ES2659053: with a foot on the ground, and without."""

    on_ground: Fraction = 0.25
    """[ES2659053T3 ¶320]"""
    airborne: Fraction = 0.1
    """[ES2659053T3 ¶320]"""

    def reset(self, robot: Robot) -> None:
        """Nothing to prepare."""

    def step(self, context: OffsetContext) -> Offset:
        """Return the one that holds."""
        return self.on_ground if context.is_foot_on_ground else self.airborne


@dataclass(kw_only=True)
class PostureOffset:
    """A table by posture: given here, else the robot's own, else another law.

    Joint angles alone do not say that a robot stands: a posture that is carried by feet
    holds only while a foot is on the ground, so that a robot lifted in an upright
    posture gets the other law's offset.
    """

    table: Mapping[str, float] = field(default_factory=dict)
    """Posture name to offset; goes before the robot's data."""
    otherwise: OffsetLaw = field(default_factory=FootOffset)
    """For postures without a value, and where no typical posture is close."""

    def __post_init__(self) -> None:
        _check_table(self.table)

    def reset(self, robot: Robot) -> None:
        """Check that the postures of the table exist."""
        for name in self.table:
            robot.posture(name)
        self._carried_by_feet = {
            name
            for name, posture in robot.postures.items()
            if set(posture.effectors) & set(robot.feet)
        }
        self.otherwise.reset(robot)

    def step(self, context: OffsetContext) -> Offset:
        """Return the offset of the posture."""
        otherwise = self.otherwise.step(context)
        posture = context.posture
        if posture is None:
            return otherwise
        if posture.name in self._carried_by_feet and not context.is_foot_on_ground:
            return otherwise
        tabulated = self.table.get(posture.name, posture.offset)
        return otherwise if tabulated is None else tabulated


@dataclass(kw_only=True)
class ApproachOffset(Checked):
    """An evolution law: the offset goes to that of `inner` as 1 - exp(-t / T)."""

    inner: OffsetLaw = field(default_factory=PostureOffset)
    time_constant_s: Positive = 1.0
    """T in s."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._value: Offset | None = None

    def reset(self, robot: Robot) -> None:
        """Start at the first value of `inner`."""
        self.inner.reset(robot)
        self._value = None

    def step(self, context: OffsetContext) -> Offset:
        """Return the offset on its way."""
        goal = self.inner.step(context)
        if self._value is None:
            self._value = goal
        share = 1.0 - exp(-context.dt_s / self.time_constant_s)
        self._value = self._value + share * (goal - self._value)
        return self._value


@dataclass(kw_only=True)
class WarmJointOffset(Checked):
    """An evolution law: a joint gives up its offset as it warms.

    The offset of `inner` is multiplied by 1 up to `begin_degc`, by 0 from `end_degc`,
    and linearly in between: a hot joint keeps only what equilibrium needs.
    """

    inner: OffsetLaw = field(default_factory=PostureOffset)
    begin_degc: Celsius = 50.0
    """In °C; estimate: well below the 76 °C at which a NAO reduces torque by itself."""
    end_degc: Celsius = 70.0
    """In °C; estimate: a NAO releases that reduction at 70 °C."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.begin_degc < self.end_degc:
            raise BadInput(
                f"begin_degc = {self.begin_degc} °C, end_degc = {self.end_degc} °C; "
                "give begin below end."
            )

    def reset(self, robot: Robot) -> None:
        """Prepare `inner`."""
        self.inner.reset(robot)

    def step(self, context: OffsetContext) -> Offset:
        """Return one offset a joint, (n_joints,)."""
        span = self.end_degc - self.begin_degc
        share = (self.end_degc - context.joint_temperature) / span
        return np.asarray(self.inner.step(context) * np.clip(share, 0.0, 1.0))


@dataclass(kw_only=True)
class BlockedJointOffset(Checked):
    """An evolution law: a joint that something keeps from its set-point gives way.

    A joint whose servo has been at its limit, and short of its set-point by more than
    that explains,

        |q* - q| > stiffness · τ_max / k_p + `margin_rad`,

    for `patience_s` on end, while its set-point stands still, gives up the offset of
    `inner` in `fade_s`: it keeps what equilibrium needs, so that an arm carries itself
    and presses with nothing more. It has the offset again as soon as it is near its
    set-point, or that moves: each new one is tried. Leg joints never give way: the
    robot stands on them.

    Assumption: what blocks is not told from a load that the model does not know of; an
    arm whose load is more than its limit bears sinks further.
    """

    inner: OffsetLaw = field(default_factory=PostureOffset)
    patience_s: Positive = 2.0
    """In s; longer than a motion lags behind its set-points, too short to heat."""
    fade_s: Positive = 1.0
    """In s; no jerk of the arm that lets go."""
    margin_rad: Positive = 0.5 * DEGREE
    """In rad; five steps of an encoder. A motion that ends where it was blocked leaves
    set-points little further away than that."""

    def reset(self, robot: Robot) -> None:
        """No joint is blocked."""
        self.inner.reset(robot)
        joints = robot.joints
        self._reach: FloatArray = robot.effort_limit / [joint.kp for joint in joints]
        self._may = np.array([j.name not in robot.leg_joints for j in joints])
        self._blocked_s = np.zeros(len(joints))
        self._target: FloatArray = np.full(len(joints), np.nan)

    def step(self, context: OffsetContext) -> Offset:
        """Return one offset a joint, (n_joints,)."""
        bound = context.stiffness * self._reach + self.margin_rad
        is_short = self._may & (np.abs(context.target - context.q) > bound)
        is_short &= context.target == self._target
        self._target = context.target.copy()
        self._blocked_s = np.where(is_short, self._blocked_s + context.dt_s, 0.0)
        share = 1.0 - (self._blocked_s - self.patience_s) / self.fade_s
        return np.asarray(self.inner.step(context) * np.clip(share, 0.0, 1.0))


def read_offset(words: str) -> OffsetLaw:
    """Read an offset law as a person writes it behind a controller's name.

    Words are joined by `+`, in any order:

    - `0.2`: this offset in every posture (`ConstantOffset`);
    - `Crouch=0.1`: this one in a posture, the robot's own elsewhere (`PostureOffset`);
    - `approach`, `approach=2`: from one to the next with this time constant in s
      (`ApproachOffset`);
    - `warm`, `warm=50-70`: none on a joint whose motor is warm, between these
      temperatures in °C (`WarmJointOffset`);
    - `blocked`, `blocked=2`: none on a joint that was kept from its set-point for so
      many s (`BlockedJointOffset`).

    What blocks a joint, and its warmth, act on what the approach gives.

    Raises:
        BadInput: a word is none of these, comes twice, or is out of its range.
    """
    given: dict[str, str | None] = {}
    for word in words.split("+"):
        name, equals, text = word.strip().partition("=")
        if name in given:
            raise BadInput(f"offset {words!r} has {name!r} twice; give it once.")
        given[name] = text if equals else None
    laws = {name: given.pop(name) for name in LAWS if name in given}
    table = {name: _number(words, text) for name, text in given.items() if text}
    values = [_number(words, name) for name, text in given.items() if not text]
    if len(values) > 1 or (values and table):
        raise BadInput(
            f"offset {words!r} has {', '.join(given)}; give one value for all "
            "postures, or POSTURE=VALUE for some."
        )
    law: OffsetLaw = PostureOffset(table=table)
    if values:
        law = ConstantOffset(value=values[0])
    if "approach" in laws:
        seconds = laws["approach"]
        time = 1.0 if seconds is None else _number(words, seconds)
        law = ApproachOffset(inner=law, time_constant_s=time)
    if "blocked" in laws:
        seconds = laws["blocked"]
        patience = 2.0 if seconds is None else _number(words, seconds)
        law = BlockedJointOffset(inner=law, patience_s=patience)
    if "warm" not in laws:
        return law
    if (span := laws["warm"]) is None:
        return WarmJointOffset(inner=law)
    begin, _, end = span.partition("-")
    return WarmJointOffset(
        inner=law, begin_degc=_number(words, begin), end_degc=_number(words, end)
    )


def _number(words: str, text: str) -> float:
    try:
        return number_of(text)
    except ValueError:
        raise BadInput(
            f"offset {words!r} has {text!r} where a number is due; "
            f"give {OFFSET_WORDS}, joined by '+', as in 'Crouch=0.1+warm'."
        ) from None


def _check_table(table: Mapping[str, float]) -> None:
    for name, value in table.items():
        check_value(f"offset of {name}", value, Fraction)
