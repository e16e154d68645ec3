"""Contents of a recording: named vectors, one column with a unit for each element.

The column of member `LKneePitch` of channel `q` is called `q.LKneePitch`; a channel
that is a single number is one column of that name. A robot without force sensors has a
channel `fsr` without columns. Besides the observations, a replay needs their times and
the controller's decisions. `experiments/closed_loop/recording.py` defines the channels
of a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from nao_testbed.controllers.interface.robot_interface import AXES as AXES  # noqa: PLC0414  # handed on
from nao_testbed.controllers.interface.robot_interface import READINGS, Reading, joints
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray

StoredType = Literal["float32", "float64"]

TIME_COLUMN = "time_s"


@dataclass(frozen=True, kw_only=True)
class Channel:
    """Vector that is recorded as a whole."""

    name: str
    """First part of its column names."""
    unit: str
    """Unit such as `rad`, `N·m`, `degC`; `1` for dimensionless values."""
    members: tuple[str, ...] | None = None
    """Names of the elements, possibly none; None for a single number."""
    stored: StoredType = "float32"
    """Type in the file; the seven digits of float32 exceed the precision of every
    sensor."""
    about: str = ""
    """Description in one sentence, for readers of the file."""

    def __post_init__(self) -> None:
        """Check the stored type.

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


class Layout:
    """Positions of the channels' vectors in one row of numbers."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        """Assign positions to the channels, side by side.

        Raises:
            BadInput: there is no column, or two columns have the same name.
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
        """Write one vector per channel into a row; NaN for an absent sensor.

        Args:
            row: (n_columns,) output row.
            values: vectors in the order of the channels.

        Raises:
            BadInput: there are more or fewer values than channels.
        """
        if len(values) != len(self.slices):
            raise BadInput(
                f"{len(values)} values for {len(self.slices)} channels; give one each, "
                f"in this order: {', '.join(c.name for c in self.channels)}."
            )
        for place, value in zip(self.slices, values, strict=True):
            row[place] = value if np.size(value) else np.nan


OBSERVED = Channel(
    name="observed_s",
    unit="s",
    stored="float64",
    about="Time at which the sensor values of this row were read; `time_s` is "
    "the end of the period that followed.",
)
"""Time of the observation, in s of the run's clock."""
EFFORT, LIMITS, SHIFT, CURRENT_LIMIT = "effort", "limits", "shift", "current_limit"
BESIDE: Mapping[str, Reading] = {
    EFFORT: Reading("N·m", joints, "Motor torque minus gear friction."),
    LIMITS: Reading(
        "1",
        joints,
        "Stiffness that the controller returned for these sensor values, "
        "before any reduction; NaN where it was not called.",
    ),
    SHIFT: Reading(
        "rad",
        joints,
        "Shift that the controller returned for these sensor values, added to "
        "the posture's set-points; NaN where it returned none. The target of the next "
        "row contains it, within the limits of its rate and of the joint's range.",
    ),
    CURRENT_LIMIT: Reading(
        "A",
        joints,
        "Current limit of the joint's motor at the end of the period, besides "
        "the stiffness; the motor's range if no lower limit is set.",
    ),
}
"""Data besides the observation: the motors' torque, known to the simulator only, and
the controller's decisions. The last two exist only in runs with shifted set-points or
limited currents."""
_BEFORE_EFFORT = tuple(READINGS).index("target") + 1
RECORDED = (*list(READINGS)[:_BEFORE_EFFORT], EFFORT, *list(READINGS)[_BEFORE_EFFORT:])
"""Channels of every run, in the order of their columns."""


def channel_of(robot: Robot, name: str, *, exact: bool = False) -> Channel:
    """Return the channel of a field of `Observation` or of `BESIDE`.

    Args:
        robot: robot, whose joints, motors and sensors name the columns.
        name: name of `READINGS` or `BESIDE`.
        exact: True: store all digits.
    """
    reading = READINGS[name] if name in READINGS else BESIDE[name]
    return Channel(
        name=name,
        unit=reading.unit,
        members=reading.members(robot),
        stored="float64" if exact else "float32",
        about=reading.about,
    )


def observation_channels(robot: Robot, *, exact: bool = False) -> tuple[Channel, ...]:
    """Return the channels that every run of a robot records, in this order.

    They are the fields of an `Observation`. After the set-points follows `effort`, the
    motors' torque by joint, which controllers do not see.

    Args:
        robot: robot, whose joints, motors and sensors name the columns.
        exact: True: store all digits of the controller's input, so that a replay is
            bit-identical.
    """
    return tuple(
        channel_of(robot, name, exact=exact and name in READINGS) for name in RECORDED
    )


def obstacle_channel(robot: Robot, obstacles: Sequence[str]) -> Channel:
    """Return `obstacle_force`, for a run with obstacles of these names."""
    return Channel(
        name="obstacle_force",
        unit="N",
        members=tuple(
            f"{name}.{link.name}" for name in obstacles for link in robot.links
        ),
        about="Force of a link on an obstacle at the end of the period; in "
        "fast-forward that of the last physics step.",
    )
