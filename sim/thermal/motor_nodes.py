"""Thermal nodes of the motors, from the two sets of constants of a robot.

`one_node` is identified on a real robot; `two_node` is the same motor with a separate
winding; `bare_motor` is the motor of the data sheet outside the robot.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nao_testbed.models import BadInput, Motor
from nao_testbed.models.values import FloatArray


class Chain(NamedTuple):
    """Thermal nodes of all motors, from the winding outwards."""

    capacity: FloatArray
    """(n_nodes, n_motors) C in J/K."""
    conductance: FloatArray
    """(n_nodes, n_motors) G in W/K to the next node; from the last node to the air."""
    torque_constant: FloatArray
    """(n_motors,) K in N·m/A."""
    joule_constant: FloatArray
    """(n_motors,) c in W/(N·m)²."""
    reference_degc: FloatArray
    """(n_motors,) T_ref in °C, also the default ambient temperature."""


def one_node(motors: Sequence[Motor]) -> Chain:
    """Return one node for each motor, identified on a real robot [xu2012].

    R holds at T_ref, the ambient temperature of the identification; c = R / K². Gear
    and shell are part of the node.
    """
    rows = [motor.one_node for motor in motors]
    torque_constant = np.array([d.torque_constant for d in rows])
    resistance = np.array([d.resistance for d in rows])
    return Chain(
        capacity=np.array([[d.heat_capacity for d in rows]]),
        conductance=np.array([[d.conductance for d in rows]]),
        torque_constant=torque_constant,
        joule_constant=resistance / torque_constant**2,
        reference_degc=np.array([d.ambient_degc for d in rows]),
    )


def two_node(motors: Sequence[Motor]) -> Chain:
    """Return the identified motor with a separate winding, R_wh before the housing.

    Heat, ambient, loss λ to the air and capacity C are those of `one_node` [xu2012];
    R_wh and C_w = τ_winding / R_wh are the estimates of `TwoNodeHeating`. The reported
    temperature is that of the housing, whose response to a power P is

        T / P = 1 / (λ + s (C_w + C_h + C_w λ R_wh) + s² C_w C_h R_wh),
        C_h = C - C_w (1 + λ R_wh),

    so that it equals that of `one_node`, 1 / (λ + s C), to first order in s: the same
    steady state, the same slow response. Changes slower than the winding (10 s in the
    legs) do not distinguish the two; the winding itself is hotter by P R_wh.

    Raises:
        BadInput: a winding has more capacity than the whole motor.
    """
    chain = one_node(motors)
    R_wh = np.array([motor.two_node.resistance_winding_housing for motor in motors])
    tau_w = np.array([motor.two_node.time_constant_winding for motor in motors])
    C_w = tau_w / R_wh
    C_h = chain.capacity[0] - C_w * (1.0 + chain.conductance[0] * R_wh)
    if not (C_h > 0.0).all():
        motor = motors[int(C_h.argmin())]
        raise BadInput(
            f"motor {motor.name}: its winding has {C_w[C_h.argmin()]:.3g} J/K, the "
            f"whole motor {motor.one_node.heat_capacity:.3g} J/K, which must be more. "
            "Correct heating_one_node.csv or heating_two_node.csv."
        )
    return chain._replace(
        capacity=np.stack([C_w, C_h]),
        conductance=np.stack([1.0 / R_wh, chain.conductance[0]]),
    )


REFERENCE_DEGC = 25.0
"""Temperature of the resistances in data sheets, and their ambient, in °C."""


def bare_motor(motors: Sequence[Motor]) -> Chain:
    """Return winding and housing of each motor in free air, from data sheets.

    The model is that of [pr2-motors]. Its loss to the air is derived from the
    continuous rating of a motor outside a robot. In the robot's shell the loss is less
    than a third of that [xu2012], so this chain is far too cool for a NAO.

    With the shaft torque τ / N and k = R / Kt² at 25 °C: c = k / N², K = N Kt. Thermal
    resistances and time constants give C_w = τ_winding / R_wh, C_h = τ_housing / R_ha.
    """
    rows = [motor.two_node for motor in motors]
    ratio = np.array([motor.gear_ratio for motor in motors])  # N
    resistance = np.array(
        [
            [d.resistance_winding_housing for d in rows],
            [d.resistance_housing_ambient for d in rows],
        ]
    )
    time_constant = np.array(
        [
            [d.time_constant_winding for d in rows],
            [d.time_constant_housing for d in rows],
        ]
    )
    return Chain(
        capacity=time_constant / resistance,
        conductance=1.0 / resistance,
        torque_constant=ratio * np.array([motor.torque_constant for motor in motors]),
        joule_constant=np.array([d.joule_constant for d in rows]) / ratio**2,
        reference_degc=np.full(len(rows), REFERENCE_DEGC),
    )
