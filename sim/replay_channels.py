"""What a recording holds for a replay beside the observation's own values."""

from models import Robot
from sim.channels import Channel

OBSERVED = "observed_s"
"""When the observation of a row was read, in s of the run's clock. The row itself bears
the time at the end of its period."""
LIMITS = "limits"
"""What the stiffness controller answered, by joint; NaN where it was not asked."""

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
        Channel(name=OBSERVED, unit="s", stored="float64"),
        Channel(
            name=LIMITS,
            unit="1",
            members=robot.joint_names,
            stored="float64" if exact else "float32",
        ),
    )
