"""Hold a joint at a constant torque, and compute its temperature by hand.

One node [xu2012]: the motor as a whole, C dT/dt = R (τ/K)² - λ (T - Tₑ), so

    T(t) = Tₑ + P/λ (1 - exp(-t λ/C)),      P = R (τ/K)².

Two nodes, of the bare motor in free air (the robot's shell keeps more heat): a winding
that heats up within seconds, in a housing that takes minutes,

    x' = A x + b,   x = (winding, housing) above the air,   x(t) = (eᴬᵗ - I) A⁻¹ b.

The robot's tables hold the constants. The lesson compares the heating model of the
simulation with these formulas, and shows that half the torque causes a quarter of the
temperature rise.
"""

import numpy as np
from scipy.linalg import expm

from nao_testbed.models import Motor, load_robot
from nao_testbed.sim import HeatingCfg, make_heating

TORQUE = 1.2  # N·m


def one_node(motor: Motor, torque: float, time_s: float) -> float:
    """Return the temperature in °C of a motor that starts at ambient temperature."""
    heat = motor.one_node
    power = heat.resistance * (torque / heat.torque_constant) ** 2
    time_constant = heat.heat_capacity / heat.conductance
    rise = power / heat.conductance * (1.0 - np.exp(-time_s / time_constant))
    return float(heat.ambient_degc + rise)


def two_nodes(motor: Motor, torque: float, time_s: float) -> tuple[float, float]:
    """Return winding and housing in °C, in air of 25 °C."""
    heat = motor.two_node
    power = heat.joule_constant * (torque / motor.gear_ratio) ** 2
    G_wh = 1.0 / heat.resistance_winding_housing  # W/K
    G_ha = 1.0 / heat.resistance_housing_ambient
    C_w, C_h = heat.time_constant_winding * G_wh, heat.time_constant_housing * G_ha
    A = np.array([[-G_wh / C_w, G_wh / C_w], [G_wh / C_h, -(G_wh + G_ha) / C_h]])
    b = np.array([power / C_w, 0.0])
    winding, housing = 25.0 + (expm(A * time_s) - np.eye(2)) @ np.linalg.solve(A, b)
    return float(winding), float(housing)


def main() -> None:
    robot = load_robot()
    m = robot.motor_names.index("RKneePitch")
    motor = robot.motors[m]
    hold = TORQUE**2 * np.eye(len(robot.motors))[m]  # mean squares of torques
    one = make_heating(robot, HeatingCfg(model="one-node"))
    half = make_heating(robot, HeatingCfg(model="one-node"))
    two = make_heating(robot, HeatingCfg(model="bare-motor"))
    start = one.temperature

    print(f"{motor.name} held at {TORQUE} N·m, temperatures in °C")
    print(f"{'':<8}{'one node':>18}{'winding':>20}{'housing':>20}{'half torque':>20}")
    print(f"{'min':<8}" + f"{'model':>10}{'hand':>8}  " * 3 + f"{'rise':>14}")
    before_s = 0.0
    for minute in (1, 2, 5, 15, 60):
        time_s = 60.0 * minute
        one.advance(hold, time_s - before_s)
        two.advance(hold, time_s - before_s)
        half.advance(hold / 4.0, time_s - before_s)
        before_s = time_s
        node = one_node(motor, TORQUE, time_s)
        winding, housing = two_nodes(motor, TORQUE, time_s)
        rise, half_rise = (one.temperature - start)[m], (half.temperature - start)[m]
        print(
            f"{minute:<8}{one.temperature[m]:10.2f}{node:8.2f}  "
            f"{two.winding[m]:10.2f}{winding:8.2f}  "
            f"{two.temperature[m]:10.2f}{housing:8.2f}  "
            f"{half_rise / rise:14.2%}"
        )


if __name__ == "__main__":
    main()
