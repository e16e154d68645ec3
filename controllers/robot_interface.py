"""The seam between controllers and a robot, simulated or real (ST-22).

`Observation` is what the shared memory of the robot holds; `Command` is what its
device manager accepts; a `Controller` turns the one into torque limits and, if it is of
those that may, small shifts of the set-points. Ground truth (the engine's state) is no
part of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from controllers.effectors import LedSetting, SoundChunk
from models import Robot

__all__ = [
    "DEVICE_SLOT_S",
    "Command",
    "Controller",
    "FloatArray",
    "LedSetting",
    "Limits",
    "Observation",
    "RobotInterface",
    "SoundChunk",
    "TellsSignals",
]

FloatArray = NDArray[np.float64]

DEVICE_SLOT_S = 0.01
"""Period of a NAO's device manager in s [naoqi-dcm]: commands go out once in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What the sensors say, and what was last commanded.

    Arrays are fresh copies: a controller may keep them. It must not write into them,
    since who records the run reads the same.
    """

    time_s: float
    """Time since the start, in s."""
    q: FloatArray
    """(n_joints,) joint angles as the encoders read them, in rad."""
    v: FloatArray
    """(n_joints,) joint velocities derived from the encoders, in rad/s."""
    target: FloatArray
    """(n_joints,) position set-points in force, in rad: what others ask for, with the
    shift on top that the controller decided last (`Limits.shift`)."""
    stiffness: FloatArray
    """(n_joints,) stiffness in force, in [0, 1]."""
    current: FloatArray
    """(n_motors,) motor currents, in A, signed as the torque."""
    temperature: FloatArray
    """(n_motors,) reported temperatures, in °C."""
    gyro: FloatArray
    """(3,) angular velocity in the IMU frame, in rad/s."""
    accelerometer: FloatArray
    """(3,) specific force in the IMU frame, in m/s²; +g upward at rest."""
    fsr: FloatArray
    """(n_force_sensors,) normal forces, in N."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a controller decides: limits, and for some a shift of the set-points.

    Which posture is held is never its matter.
    """

    stiffness: FloatArray
    """(n_joints,) fraction of the effort limit that a joint may use, in [0, 1]."""
    shift: FloatArray | None = None
    """(n_joints,) added to the set-points of the posture, in rad; None: no shift."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """What a robot accepts; None leaves the present value."""

    target: FloatArray | None = None
    """(n_joints,) position set-points, in rad."""
    stiffness: FloatArray | None = None
    """(n_joints,) in [0, 1]."""
    leds: Mapping[str, LedSetting] | None = None
    """LED group to what it fades to; groups that are not named go on as they were."""
    sound: SoundChunk | None = None
    """What all loudspeakers play from now on; None: nothing new, so silence once the
    last chunk has been played."""


class RobotInterface(Protocol):
    """A robot that can be read, commanded and stepped."""

    @property
    def robot(self) -> Robot:
        """The description that the arrays follow."""

    def read(self) -> Observation:
        """Return the newest sensor values."""

    def write(self, command: Command) -> None:
        """Put set-points and stiffness in force from the next tick on.

        LEDs begin to fade, and a sound begins to be heard, at once.

        Raises:
            BadInput: a value is not finite, or a stiffness is outside [0, 1]; an LED
                group is unknown or of another shape; a sound has a rate that the
                loudspeakers do not play, or begins while the last one is being heard.
        """

    def step(self, ticks: int) -> None:
        """Let `ticks` periods of the servo (1 ms) pass."""

    def close(self) -> None:
        """Release what the robot holds; may be called twice."""


class Controller(Protocol):
    """Turns observations into torque limits and shifts, every 20 ms."""

    name: str

    def reset(self, robot: Robot) -> None:
        """Prepare for a run on `robot`; called before the first `step`."""

    def step(self, observation: Observation) -> Limits:
        """Return the limits that hold until the next call."""


@runtime_checkable
class TellsSignals(Protocol):
    """A controller that says numbers of itself, for recorders and screens."""

    signal_names: tuple[str, ...]
    """Each with its unit, such as `loss_w`."""

    @property
    def signals(self) -> tuple[float, ...]:
        """One a name, as of the last step; NaN where it cannot tell."""
