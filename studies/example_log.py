"""Generator of the synthetic CSV in `notebooks/data`.

    python -m studies.example_log --out FILE

The CSV shows a knee that is loaded, rests, and is loaded again for an hour, computed
with the two-node model of winding and housing, which the one-node model cannot fit
exactly. The temperature sensor is noisy and rounds to degrees. As with real loggers,
there is one pause, some values are missing, two rows are swapped, and one row is
duplicated.
"""

import numpy as np

from nao_testbed.models import Robot
from nao_testbed.sim.thermal import HeatingCfg, make_heating
from studies.commands import run_study

JOINT = "LKneePitch"
STEP_S = 5.0
START_DEGC = 29.0
"""Initial motor temperature in °C; the air has 25 °C."""
LOAD_NM = ((900.0, 1.7), (1500.0, 0.5), (2100.0, 1.9), (2700.0, 0.3), (3600.0, 1.4))
"""Phases of the load: torque in N·m until a time in s."""
SWAY_NM = 0.15
"""Amplitude of a slow variation of this torque in N·m, with a period of 47 s."""
NOISE_K, NOISE_A = 0.3, 0.005
"""Standard deviations of the temperature sensor and the current sensor."""
PAUSE_S = (1310.0, 1400.0)
"""Start and end of the pause of the logger, in s."""
LOST_ROWS = (40, 41, 155, 333, 334, 335, 520)
"""Rows with missing temperatures."""
SWAPPED_ROW, DOUBLED_ROW = 210, 402


def example_log(robot: Robot, seed: int = 5) -> str:
    """Return the text of the CSV.

    Args:
        robot: robot with the joint `LKneePitch`.
        seed: seed of the noise.
    """
    rng = np.random.default_rng(seed)
    heating = make_heating(robot, HeatingCfg(model="bare-motor"))
    motor = robot.motor_names.index(JOINT)
    heating.reset(START_DEGC)
    torque = np.zeros(len(robot.motors))
    rows = []
    for time_s in np.arange(0.0, LOAD_NM[-1][0] + 0.5 * STEP_S, STEP_S):
        load = next(nm for until_s, nm in LOAD_NM if time_s <= until_s)
        before = torque[motor]
        torque[motor] = load + SWAY_NM * np.sin(2.0 * np.pi * time_s / 47.0)
        if time_s > 0.0:
            square = np.zeros_like(torque)
            square[motor] = 0.5 * (before**2 + torque[motor] ** 2)
            heating.advance(square, STEP_S)
        degc = np.rint(heating.temperature[motor] + rng.normal(0.0, NOISE_K))
        current = heating.currents(torque)[motor] + rng.normal(0.0, NOISE_A)
        rows.append((time_s, degc, current))
    return _as_loggers_write(rows)


def _as_loggers_write(rows: list[tuple[float, float, float]]) -> str:
    """Return rows as CSV with typical faults of a real log."""
    lines = [
        f"{time_s:.1f},{'' if k in LOST_ROWS else f'{degc:.0f}'},{current:.4f}"
        for k, (time_s, degc, current) in enumerate(rows)
        if not PAUSE_S[0] < time_s < PAUSE_S[1]
    ]
    k = SWAPPED_ROW
    lines[k], lines[k + 1] = lines[k + 1], lines[k]
    lines.insert(DOUBLED_ROW, lines[DOUBLED_ROW])
    head = (
        "# Made by studies.example_log, not measured:",
        f"# the two-node model of {JOINT} in air of 25 °C, noise and steps of 1 °C.",
        "time_s,temperature_degc,current_a",
    )
    return "\n".join([*head, *lines]) + "\n"


if __name__ == "__main__":
    run_study("example-log")
