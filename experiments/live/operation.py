"""What an operator may ask of a live robot, and what the robot tells of itself.

Both travel between processes, so that they are plain data; a value that makes no sense
is refused where it is made, and again by the robot.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from controllers.arbitration.requests import HIGHEST
from controllers.interface.checked import Checked

FloatArray = NDArray[np.float64]
OPERATOR_PRIORITY = 6
"""Above behaviours and the stiffness controller, unless the operator says."""


@dataclass(frozen=True, kw_only=True)
class PushNow(Checked):
    """Push the base at its centre of mass."""

    direction_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="direction")]
    """0 is ahead, 90 to the left; in the world, level."""
    force_n: Annotated[float, Field(ge=0.0, le=100.0, title="force")]
    duration_s: Annotated[float, Field(gt=0.0, le=5.0, title="duration")]


@dataclass(frozen=True, kw_only=True)
class HeatNow(Checked):
    """Give the motor of a joint a temperature."""

    joint: str
    degc: Annotated[float, Field(ge=-20.0, le=150.0, title="temperature")]


@dataclass(frozen=True, kw_only=True)
class ChangeController(Checked):
    """Let another controller decide the stiffness from now on."""

    controller: str


@dataclass(frozen=True, kw_only=True)
class TakeHead(Checked):
    """Reserve the head, or give it back."""

    take: bool
    priority: Annotated[int, Field(ge=0, le=HIGHEST, title="priority")] = (
        OPERATOR_PRIORITY
    )


@dataclass(frozen=True, kw_only=True)
class TurnHead(Checked):
    """Command the head; without its token the gate refuses."""

    yaw_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="yaw")]
    pitch_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="pitch")]


@dataclass(frozen=True, kw_only=True)
class Stop:
    """End the run; its data are kept."""


Action = PushNow | HeatNow | ChangeController | TakeHead | TurnHead


@dataclass(frozen=True, kw_only=True, eq=False)
class Moment:
    """A robot at one time, for who looks."""

    time_s: float
    late_s: float
    """How far it is behind the clock on the wall, in s."""
    controller: str
    q: FloatArray
    """(n_joints,) true angles in rad."""
    position: FloatArray
    """(3,) of the base in the world, in m."""
    quaternion: FloatArray
    """Of the base, x y z w."""
    degc: FloatArray
    """(n_joints,) true temperature of the joints' motors in °C."""
    fsr: FloatArray
    """(n_force_sensors,) in N."""
    sonar: FloatArray
    """(n_sonars,) in m."""
    has_fallen: bool
    head: str
    """Who has the head."""
    said: tuple[str, ...]
    """What became of the operator's wishes, the newest last."""
