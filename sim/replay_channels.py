"""What a recording holds for a replay beside the observation's own values."""

from models import Robot
from sim.channels import Channel, StoredType

OBSERVED = "observed_s"
"""When the observation of a row was read, in s of the run's clock. The row itself bears
the time at the end of its period."""
LIMITS = "limits"
"""What the stiffness controller answered, by joint; NaN where it was not asked."""
SHIFT = "shift"
"""How far it answered to shift set-points, by joint in rad; NaN where it decided none.
Only in runs whose controller ever did."""

OBSERVED_CHANNELS = (
    "q",
    "v",
    "target",
    "stiffness",
    "current",
    "temperature",
    "gyro",
    "accelerometer",
    "fsr",
)
"""Channels that together make an `Observation`, by the names of its fields."""


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


def _stored(exact: bool) -> StoredType:
    return "float64" if exact else "float32"
