"""What a trial leaves in the JUnit file of a test session."""

from experiments.regression.trial import Trial

Value = float | str | bool
"""What survives the way from a worker of pytest-xdist."""


def properties_of(trial: Trial) -> dict[str, Value]:
    """Return name to value; `none` where something is not known."""
    result = trial.result
    ticks = trial.ticks
    numbers: dict[str, float | None] = {
        "simulated_s": result.sim_s,
        "legs_joule_loss_j": result.legs_joule_loss_j,
        "legs_power_w": result.legs_power_w,
        "least_power_w": result.least_power_w,
        "least_with_gears_w": result.least_with_gears_w,
        "largest_shift_deg": result.largest_shift_deg,
        "settled_s": result.settled_s,
        "tick_median_ms": 1e3 * ticks.typical_s if ticks else None,
        "tick_p95_cpu_ms": 1e3 * ticks.slow_s if ticks else None,
        "tick_worst_ms": 1e3 * ticks.worst_s if ticks else None,
    }
    found: dict[str, Value] = {"fell": result.fell}
    if trial.breach is not None:
        found["breach"] = trial.breach
    if result.joints:
        hottest = max(result.joints, key=lambda name: result.joints[name].end_degc)
        found["hottest"] = hottest
        numbers["hottest_degc"] = result.joints[hottest].end_degc
    found |= {
        name: "none" if value is None else round(value, 6)
        for name, value in numbers.items()
    }
    return {f"{trial.controller}.{name}": value for name, value in found.items()}
