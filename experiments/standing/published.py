"""The outcomes that the document publishes (figures 4a to 5b), as data (ST-24).

Two identical robots stand in PoseInit for about 15 minutes, without and with the
method. Only end temperatures of two joints and the sums of the rises of the five
joints of each leg are given; start temperatures are not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.presets import load_preset

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

PRESET, POSTURE, MINUTES = "document", "PoseInit", 15.0
"""Our setting that stands for the document's robots; what they held, and how long."""

LIFETIME_FACTOR = 4.0
"""How much longer the most loaded joint lasts before the shut-down, about."""

MOST_DIFFERENCES = 2
"""Named in one line; the others are counted."""
_SETTINGS: Mapping[str, tuple[str, object, str]] = {
    "robot": ("the robot", "nao", "nao"),
    "robot_folder": ("the robot's folder", None, "that of the testbed"),
    "slope_deg": ("the slope in degrees", 0.0, "0"),
    "servo": ("the servo", "torque", "torque"),
    "gear_friction": ("the factor on gear friction", 1.0, "1"),
    "heating": ("the heating", "one-node", "one-node"),
    "copper": ("the winding's copper", False, "False"),
    "ambient_degc": ("the ambient temperature", None, "the motors' own"),
    "other_start_degc": ("the start of other joints in °C", 30.0, "30"),
    "protection": ("the protection", "none", "none"),
    "control_period_s": ("the control period in s", 0.02, "0.02"),
}
"""Setting of a heat experiment: its name, what the preset was found with, in words."""


def differences(
    posture: str,
    minutes: float,
    misalignment_deg: Mapping[str, float],
    settings: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return where an experiment is not the one whose outcomes are published.

    That is the preset `document` and nothing else: whatever changes the heat takes the
    meaning from a distance to the published numbers.

    Args:
        posture: that the robots held.
        minutes: simulated time.
        misalignment_deg: joint to degrees.
        settings: of `HeatResult.settings`; a key that is missing is not judged.

    Returns:
        A clause for each difference; empty for the published experiment.
    """
    preset = load_preset(PRESET)
    found = [
        f"the posture is {posture}, not {POSTURE}" if posture != POSTURE else "",
        f"it takes {minutes:g} min, not {MINUTES:g}" if minutes != MINUTES else "",
    ]
    if any(misalignment_deg.values()):
        wanted = preset.misalignment_deg
        words = "the misalignment of {} in degrees"
        found.append(_of_joints(words, misalignment_deg, wanted, 0.0))
    else:
        found.append("no joint is misaligned")
    if (starts := settings.get("start_degc")) is not None:
        words, other = "the start of {} in °C", preset.other_start_degc
        found.append(_of_joints(words, starts, preset.start_degc, other))
    if (limits := settings.get("effort_limits_nm")) is not None:
        words, wanted = "the torque of {} at stiffness 1 in N·m", preset.effort_limits
        limits = {name: limits.get(name) for name in wanted}
        found.append(_of_joints(words, limits, wanted, None))
    found += [
        f"{what} is {settings[key]}, not {words}"
        for key, (what, expected, words) in _SETTINGS.items()
        if key in settings and settings[key] != expected
    ]
    return tuple(clause for clause in found if clause)


def differences_line(found: Sequence[str]) -> str:
    """Return differences as one sentence of bounded length."""
    shown = list(found[:MOST_DIFFERENCES])
    if more := len(found) - len(shown):
        shown.append(f"{more} more difference{'s' * (more > 1)}")
    return f"Not set beside the published numbers: {', '.join(shown)}."


def _of_joints(
    what: str,
    ours: Mapping[str, float | None],
    wanted: Mapping[str, float],
    other: float | None,
) -> str:
    """Return a clause on the joints whose values differ; empty where none does."""
    apart = [
        name
        for name in {**wanted, **ours}
        if ours.get(name, other) != wanted.get(name, other)
    ]
    if not apart:
        return ""
    first = apart[0]
    is_now = ours.get(first, other)
    more = f" (and {len(apart) - 1} more)" if len(apart) > 1 else ""
    return (
        f"{what.format(first)} is {'its own' if is_now is None else f'{is_now:g}'}, "
        f"not {wanted.get(first, other):g}{more}"
    )
