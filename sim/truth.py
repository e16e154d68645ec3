"""What only the simulator knows: the engine's state, and all of it to return to."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.engine import Contact
from sim.heating import HeatingState
from sim.protection import ProtectionState
from sim.speaker import SpeakerState

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The engine's state: for tests and reports, never for controllers."""

    time_s: float
    q: FloatArray
    """(n_joints,) true angles in rad."""
    v: FloatArray
    """(n_joints,) true velocities in rad/s."""
    joint_torque: FloatArray
    """(n_joints,) torque on the link, gear friction taken off, in N·m."""
    motor_torque: FloatArray
    """(n_motors,) joint-side motor torque, gear friction included, in N·m."""
    base_position: FloatArray
    base_quaternion: FloatArray
    """x y z w."""
    base_velocity: FloatArray
    """(6,) linear velocity of the base's centre of mass and angular, world."""
    contacts: tuple[Contact, ...]
    temperature: FloatArray
    """(n_motors,) in °C."""
    has_fallen: bool


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A complete state to return to; made by `SimulatedRobot.snapshot`."""

    engine: int
    tick: int
    heat_done: int
    arrays: tuple[FloatArray, ...]
    sensors: tuple[FloatArray, ...]
    rng: Mapping[str, object]
    heating: HeatingState
    protection: ProtectionState
    speaker: SpeakerState
