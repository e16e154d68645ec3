"""Offset of step 320: a constant, a table by posture, or a law.

The offset covers unmodelled torques. ES2659053 found 0.25 good for an upright robot and
suggests 0.1 when no foot is on the ground [ES2659053T3 ¶320]; it allows a constant,
values tabulated by posture or context of use, or a variable with an evolution law. Laws
nest: `ApproachOffset(inner=PostureOffset(...))` moves from one tabulated value to the
next without a jump. `read_offset` parses laws from the text after a controller's name,
as in `smart:Crouch=0.1+warm`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, radians
from typing import Annotated, Protocol

import numpy as np
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked, check_value
from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray, Fraction, Positive, number_of

Offset = float | FloatArray
Celsius = Annotated[float, Field(ge=-40.0, le=200.0)]
"""Temperature in °C; the range contains all windings that a NAO's motor survives."""
DEGREE = radians(1.0)
OFFSET_SYNTAX = (
    "VALUE, POSTURE=VALUE, approach[=SECONDS], blocked[=SECONDS], warm[=BEGIN-END]"
)
"""Words accepted by `read_offset`, joined by `+`."""
LAWS = ("approach", "blocked", "warm")
"""Words that name a law."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OffsetContext:
    """Inputs of an offset law."""

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
    """(n_joints,) stiffness that was in force."""


class OffsetLaw(Protocol):
    """Source of the offset at each step."""

    def reset(self, robot: Robot) -> None:
        """Prepare for a run on `robot`.

        Raises:
            BadInput: the law does not fit the robot.
        """

    def step(self, context: OffsetContext) -> Offset:
        """Return the offset: one number, or one per joint, (n_joints,)."""


@dataclass(kw_only=True)
class ConstantOffset(Checked):
    """Constant offset for all joints, with exceptions by joint name."""

    value: Fraction
    by_joint: Mapping[str, float] = field(default_factory=dict)
    """Joint name to its individual offset."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_table(self.by_joint)
        self._offset: Offset = self.value

    def reset(self, robot: Robot) -> None:
        """Arrange the offsets in joint order."""
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
    """Two values of ES2659053: with a foot on the ground, and without."""

    on_ground: Fraction = 0.25
    """[ES2659053T3 ¶320]; as every offset, a share of the robot's own torque limits."""
    airborne: Fraction = 0.1
    """[ES2659053T3 ¶320]"""

    def reset(self, robot: Robot) -> None:
        """Do nothing."""

    def step(self, context: OffsetContext) -> Offset:
        """Return the value for the present foot contact."""
        return self.on_ground if context.is_foot_on_ground else self.airborne


@dataclass(kw_only=True)
class PostureOffset:
    """Table by posture: `table`, then the robot's own values, then another law.

    Joint angles alone do not show that a robot is on its feet. So the value of a
    posture carried by feet holds only while a foot is on the ground. A robot lifted in
    such a posture gets the other law's offset.
    """

    table: Mapping[str, float] = field(default_factory=dict)
    """Posture name to offset; overrides the robot's data."""
    otherwise: OffsetLaw = field(default_factory=FootOffset)
    """Law for postures without a value, and without a close typical posture."""

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
    """Evolution law: the offset approaches that of `inner` as 1 - exp(-t / T)."""

    inner: OffsetLaw = field(default_factory=PostureOffset)
    time_constant_s: Positive = 1.0
    """T in s."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._value: Offset | None = None

    def reset(self, robot: Robot) -> None:
        """Reset to the first value of `inner`."""
        self.inner.reset(robot)
        self._value = None

    def step(self, context: OffsetContext) -> Offset:
        """Return the present offset of the approach."""
        goal = self.inner.step(context)
        if self._value is None:
            self._value = goal
        share = 1.0 - exp(-context.dt_s / self.time_constant_s)
        self._value = self._value + share * (goal - self._value)
        return self._value


@dataclass(kw_only=True)
class WarmJointOffset(Checked):
    """Evolution law: the offset of a joint decreases as its motor warms.

    The factor on the offset of `inner` is 1 up to `begin_degc`, 0 from `end_degc`, and
    linear in between: a hot joint keeps only the torque for equilibrium.
    """

    inner: OffsetLaw = field(default_factory=PostureOffset)
    begin_degc: Celsius = 50.0
    """Start in °C; estimate: well below the 76 °C at which a NAO reduces torque."""
    end_degc: Celsius = 70.0
    """End in °C; estimate: a NAO ends its own torque reduction at 70 °C."""

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
        """Return one offset per joint, (n_joints,)."""
        span = self.end_degc - self.begin_degc
        share = (self.end_degc - context.joint_temperature) / span
        return np.asarray(self.inner.step(context) * np.clip(share, 0.0, 1.0))


@dataclass(kw_only=True)
class BlockedJointOffset(Checked):
    """Evolution law: a joint blocked short of its set-point loses its offset.

    A joint is blocked when its servo has been at its limit for `patience_s`, its
    set-point is fixed, and the error exceeds the error that the limit explains,

        |q* - q| > stiffness · τ_max / k_p + `margin_rad`.

    The offset of `inner` then fades within `fade_s`. The joint keeps the torque for
    equilibrium: an arm carries itself and presses with no further force. The offset
    returns when the joint gets close to its set-point or the set-point changes: each
    new set-point is tried. Leg joints are exempt: they carry the robot.

    Assumption: an obstacle is not distinguished from an unmodelled load; an arm whose
    load exceeds its limit sinks further.
    """

    inner: OffsetLaw = field(default_factory=PostureOffset)
    patience_s: Positive = 2.0
    """Time in s; longer than the lag of a motion, too short for heating."""
    fade_s: Positive = 1.0
    """Time in s; avoids a jerk when the arm releases."""
    margin_rad: Positive = 0.5 * DEGREE
    """Margin in rad: five steps of an encoder. A motion that ends blocked leaves
    set-points only slightly further away."""

    def reset(self, robot: Robot) -> None:
        """Reset `inner` and mark all joints as free."""
        self.inner.reset(robot)
        joints = robot.joints
        self._reach: FloatArray = robot.effort_limit / [joint.kp for joint in joints]
        self._may = np.array([j.name not in robot.leg_joints for j in joints])
        self._blocked_s = np.zeros(len(joints))
        self._target: FloatArray = np.full(len(joints), np.nan)

    def step(self, context: OffsetContext) -> Offset:
        """Return one offset per joint, (n_joints,)."""
        bound = context.stiffness * self._reach + self.margin_rad
        is_short = self._may & (np.abs(context.target - context.q) > bound)
        is_short &= context.target == self._target
        self._target = context.target.copy()
        self._blocked_s = np.where(is_short, self._blocked_s + context.dt_s, 0.0)
        share = 1.0 - (self._blocked_s - self.patience_s) / self.fade_s
        return np.asarray(self.inner.step(context) * np.clip(share, 0.0, 1.0))


def read_offset(words: str) -> OffsetLaw:
    """Parse an offset law from the text after a controller's name.

    Words are joined by `+`, in any order:

    - `0.2`: this offset in every posture (`ConstantOffset`);
    - `Crouch=0.1`: this offset in one posture, the robot's in others (`PostureOffset`);
    - `approach`, `approach=2`: first-order transition with this time constant in s
      (`ApproachOffset`);
    - `warm`, `warm=50-70`: offset reduced to 0 between these motor temperatures in °C
      (`WarmJointOffset`);
    - `blocked`, `blocked=2`: no offset on a joint blocked for this time in s
      (`BlockedJointOffset`).

    The blocked and warm laws act on the output of the approach.

    Raises:
        BadInput: a word is unknown, repeated or out of its range.
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
            f"offset {words!r} has {text!r} where a number is expected; "
            f"give {OFFSET_SYNTAX}, joined by '+', as in 'Crouch=0.1+warm'."
        ) from None


def _check_table(table: Mapping[str, float]) -> None:
    for name, value in table.items():
        check_value(f"offset of {name}", value, Fraction)
