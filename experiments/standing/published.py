"""The outcomes that the document publishes (figures 4a to 5b), as data (ST-24).

Two identical robots stand in PoseInit for about 15 minutes, without and with the
method. Only end temperatures of two joints and the sums of the rises of the five
joints of each leg are given; start temperatures are not.
"""

from dataclasses import dataclass

LEG_JOINTS = ("HipRoll", "HipPitch", "KneePitch", "AnkleRoll", "AnklePitch")
"""The joints of a leg that the document draws; prefixed by L or R."""

SHUT_DOWN_DEGC = 80.0
"""Temperature of a joint at which the robot is shut down."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """One column of the document's outcomes."""

    end_degc: dict[str, float]
    """Joint to temperature at the end, in °C."""
    left_leg_rise_k: float
    """Sum of the five rises of the left leg, in K."""
    right_leg_rise_k: float
    """Sum of the five rises of the right leg, in K."""


PUBLISHED = {
    "fixed": Published(
        end_degc={"RHipPitch": 60.0, "LAnklePitch": 80.0},
        left_leg_rise_k=109.0,
        right_leg_rise_k=50.0,
    ),
    "smart": Published(
        end_degc={"RHipPitch": 42.0, "LAnklePitch": 48.0},
        left_leg_rise_k=42.0,
        right_leg_rise_k=28.0,
    ),
}
"""By the name of our controller: `fixed` is without, `smart` with the method."""

POSTURE, MINUTES = "PoseInit", 15.0
"""What the document's robots held, and about how long."""

LIFETIME_FACTOR = 4.0
"""How much longer the most loaded joint lasts before the shut-down, about."""


def is_published_setting(posture: str, minutes: float) -> bool:
    """Is this the posture that the document's robots held, and about as long?

    Then what an experiment ends with can be set beside what is published.
    """
    return posture == POSTURE and abs(minutes - MINUTES) <= 1.0


def is_comparison_asked(posture: str, minutes: float, preset: str | None) -> bool:
    """Shall an experiment be set beside the published numbers?

    Where it is that of the document, or has a preset that was fitted to it.
    """
    return preset is not None or is_published_setting(posture, minutes)
