"""What a recording holds: named vectors, each element one column with a unit.

The column of member `LKneePitch` of channel `q` is called `q.LKneePitch`; a channel of
a single number is one column of its own name. A robot without force sensors has the
channel `fsr` too, without a column. Beside the observation's own values a replay needs
when each was read, and what the controller decided on it. Which channels a run has says
`experiments/closed_loop/recording.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from controllers.interface.robot_interface import AXES as AXES  # noqa: PLC0414  # handed on
from controllers.interface.robot_interface import READINGS
from models import BadInput, Robot

FloatArray = NDArray[np.float64]
StoredType = Literal["float32", "float64"]

TIME_COLUMN = "time_s"
EFFORT = "effort"
"""Torque of the motors on each joint in N·m, which the simulator knows."""
_BEFORE_EFFORT = tuple(READINGS).index("target") + 1
RECORDED = (*list(READINGS)[:_BEFORE_EFFORT], EFFORT, *list(READINGS)[_BEFORE_EFFORT:])
"""Channels of every run, in the order of their columns."""


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A vector that is recorded as a whole."""

    name: str
    """First part of its columns' names."""
    unit: str
    """Such as `rad`, `N·m`, `degC`; `1` for what has none."""
    members: tuple[str, ...] | None = None
    """Names of the elements, which may be none; None for a single number."""
    stored: StoredType = "float32"
    """Type in the file: seven digits are more than any sensor has."""
    about: str = ""
    """A sentence on what it is, for who opens the file."""

    def __post_init__(self) -> None:
        """Refuse what a file cannot hold.

        Raises:
            BadInput: the type is unknown.
        """
        if self.stored not in get_args(StoredType):
            raise BadInput(
                f"channel {self.name!r} is stored as {self.stored!r}; choose float32 "
                f"or float64."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns."""
        if self.members is None:
            return (self.name,)
        return tuple(f"{self.name}.{member}" for member in self.members)


def observation_channels(robot: Robot, *, exact: bool = False) -> tuple[Channel, ...]:
    """Return the channels that every run of a robot records, in this order.

    They are the fields of an `Observation`, and behind the set-points `effort`, the
    motors' torque by joint, which no controller sees.

    Args:
        robot: whose joints, motors and sensors name the columns.
        exact: keep what a controller sees with all its digits, so that a replay gives
            it the same numbers bit for bit.
    """
    effort = Channel(
        name=EFFORT,
        unit="N·m",
        members=robot.joint_names,
        about="Torque of the motors, friction of gears taken off.",
    )
    seen = {
        name: Channel(
            name=name,
            unit=reading.unit,
            members=reading.members(robot),
            stored=_stored(exact),
            about=reading.about,
        )
        for name, reading in READINGS.items()
    }
    return tuple(effort if name == EFFORT else seen[name] for name in RECORDED)


class Layout:
    """Where the vectors of some channels lie in one row of numbers."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        """Lay the channels side by side.

        Raises:
            BadInput: there is none, or two columns have the same name.
        """
        self.channels = tuple(channels)
        self.columns = tuple(name for c in self.channels for name in c.columns)
        seen = {TIME_COLUMN}
        for name in self.columns:
            if name in seen:
                raise BadInput(
                    f"column {name!r} is recorded twice; give every channel and member "
                    f"its own name ({TIME_COLUMN!r} is taken by the time)."
                )
            seen.add(name)
        if not self.columns:
            raise BadInput("a recording without columns; give at least one channel.")
        ends = np.cumsum([len(c.columns) for c in self.channels]).tolist()
        starts = [0, *ends[:-1]]
        self.slices = tuple(slice(a, b) for a, b in zip(starts, ends, strict=True))
        self.units = {name: c.unit for c in self.channels for name in c.columns}
        self.stored = tuple(c.stored for c in self.channels for _ in c.columns)

    def fill(self, row: FloatArray, values: Sequence[FloatArray | float]) -> None:
        """Write one vector a channel into a row.

        Args:
            row: (n_columns,) written to.
            values: in the order of the channels.

        Raises:
            BadInput: there are more or fewer values than channels.
        """
        if len(values) != len(self.slices):
            raise BadInput(
                f"{len(values)} values for {len(self.slices)} channels; give one each, "
                f"in this order: {', '.join(c.name for c in self.channels)}."
            )
        for place, value in zip(self.slices, values, strict=True):
            row[place] = value


OBSERVED = "observed_s"
"""When the observation of a row was read, in s of the run's clock. The row itself bears
the time at the end of its period."""
LIMITS = "limits"
"""What the stiffness controller answered, by joint; NaN where it was not asked."""
SHIFT = "shift"
"""How far it answered to shift set-points, by joint in rad; NaN where it decided none.
Only in runs whose controller ever did."""


def replay_channels(robot: Robot, *, exact: bool) -> tuple[Channel, ...]:
    """Return `observed_s` and `limits`.

    Args:
        robot: whose joints name the columns.
        exact: keep every digit of the limits.
    """
    return (
        Channel(
            name=OBSERVED,
            unit="s",
            stored="float64",
            about="When the sensor values of this row were read; the row bears the end "
            "of the period that followed.",
        ),
        Channel(
            name=LIMITS,
            unit="1",
            members=robot.joint_names,
            stored=_stored(exact),
            about="Stiffness that the controller decided on these sensor values, "
            "before anything cut it; NaN where it was not asked.",
        ),
    )


def shift_channel(robot: Robot, *, exact: bool) -> Channel:
    """Return `shift`, for a run whose controller shifts set-points.

    Args:
        robot: whose joints name the columns.
        exact: keep every digit.
    """
    return Channel(
        name=SHIFT,
        unit="rad",
        members=robot.joint_names,
        stored=_stored(exact),
        about="Shift that the controller decided on these sensor values, to be put on "
        "top of the posture's set-points; NaN where it decided none. The target of the "
        "next row holds it, as far as nothing bounds its rate or the joint's range.",
    )


def current_limit_channel(robot: Robot) -> Channel:
    """Return `current_limit`, for a run in which a current was limited.

    Args:
        robot: whose joints name the columns.
    """
    return Channel(
        name="current_limit",
        unit="A",
        members=robot.joint_names,
        about="Largest current of the joint's motor in force at the end of the period, "
        "beside the stiffness; the motor's range where nothing less is.",
    )


def obstacle_channel(robot: Robot, obstacles: Sequence[str]) -> Channel:
    """Return `obstacle_force`, for a run with obstacles.

    Args:
        robot: whose links meet them.
        obstacles: their names.
    """
    return Channel(
        name="obstacle_force",
        unit="N",
        members=tuple(
            f"{name}.{link.name}" for name in obstacles for link in robot.links
        ),
        about="Force with which a link presses against an obstacle, at the end of the "
        "period; in fast-forward that of the last physics.",
    )


def _stored(exact: bool) -> StoredType:
    return "float64" if exact else "float32"
