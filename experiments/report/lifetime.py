"""How long a robot lasts until a motor is too hot, as a number and in words."""

import math

from experiments.standing.results import ArmResult

NOTHING = "–"
"""Where there is nothing to tell."""


def lifetime_s(arm: ArmResult) -> float:
    """Return when the first joint reaches 80 °C, or the robot is shut down, in s.

    Run on with the last torques if need be; inf for never. NaN where the robot fell or
    failed before: those torques foretell nothing.
    """
    failed = arm.failure is not None
    times = [
        arm.shut_down_s,
        *(
            joint.time_to_80_degc_s if failed else joint.forecast_80_degc_s
            for joint in arm.joints.values()
        ),
    ]
    never = math.nan if failed else math.inf
    return min((time for time in times if time is not None), default=never)


def lifetime_text(arm: ArmResult) -> str:
    """Say when the first joint reaches 80 °C."""
    time_s = lifetime_s(arm)
    if math.isnan(time_s):
        return "ended before"
    if math.isinf(time_s):
        return "never"
    minutes = f"{time_s / 60.0:.1f} min"
    if time_s == arm.shut_down_s:
        return f"{minutes} (shut down)"
    reached = any(joint.time_to_80_degc_s is not None for joint in arm.joints.values())
    return minutes + ("" if reached else " (forecast)")


def in_the_end_text(arm: ArmResult) -> str:
    """Say which joint would be the hottest if the robot stood on for ever."""
    name = max(arm.joints, key=lambda joint: arm.joints[joint].steady_degc)
    steady = arm.joints[name].steady_degc
    return f"{name} {steady:.0f} °C" if math.isfinite(steady) else f"{name} burns"


def lifetime_ratio_text(arm: ArmResult, reference: ArmResult) -> str:
    """Say how many times longer an arm lasts than the reference."""
    time_s, reference_s = lifetime_s(arm), lifetime_s(reference)
    if not math.isfinite(reference_s) or math.isnan(time_s):
        return NOTHING
    return "never" if math.isinf(time_s) else f"{time_s / max(reference_s, 1e-9):.1f} ×"
