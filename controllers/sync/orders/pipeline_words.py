"""The few words of the pipeline before the transmitter."""

from enum import StrEnum


class NotOrdered(StrEnum):
    """Why the command controller does nothing of an order."""

    NO_TOKEN = "NO_TOKEN"
    """A unit has no token, or one that does not cover all its leaves now."""
    NO_DEVICE = "NO_DEVICE"
    """The robot has no loudspeaker."""
    POSTURE_UNKNOWN = "POSTURE_UNKNOWN"
    """A way to a posture is needed, and nobody knows in which one the robot is."""
    NO_WAY = "NO_WAY"
    """No transitions lead to the posture in which the motion begins, or which is
    ordered."""
