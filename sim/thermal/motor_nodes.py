"""The thermal nodes of the motors, by the two sets of constants that a robot has."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from models import Motor

FloatArray = NDArray[np.float64]


class Chain(NamedTuple):
    """The thermal nodes of all motors, from the winding outwards."""

    capacity: FloatArray
    """(n_nodes, n_motors) C in J/K."""
    conductance: FloatArray
    """(n_nodes, n_motors) G in W/K to the next node, of the last one to the air."""
    torque_constant: FloatArray
    """(n_motors,) K in N·m/A."""
    joule_constant: FloatArray
    """(n_motors,) c in W/(N·m)²."""
    reference_degc: FloatArray
    """(n_motors,) T_ref in °C, also the ambient temperature where none is given."""


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


REFERENCE_DEGC = 25.0
"""Temperature at which resistances of data sheets hold, and their ambient."""


def two_node(motors: Sequence[Motor]) -> Chain:
    """Return winding and housing of each motor [pr2-motors].

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
