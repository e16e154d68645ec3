"""What a posture search found, or why it found nothing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.cooling.least_loss import LeastLoss
from models import TestbedError

FloatArray = NDArray[np.float64]


class NoPostureFound(TestbedError):
    """No posture in reach keeps all that it must.

    `missed` holds the constraints that the nearest one misses, in words.
    """

    def __init__(self, posture: str, missed: tuple[str, ...]) -> None:
        """Name the wanted posture and what cannot be kept."""
        self.posture = posture
        self.missed = missed
        super().__init__(
            f"no posture near {posture!r} keeps all that it must; nearest to it is one "
            f"that misses: {'; '.join(missed)}. Search farther, ask for smaller "
            "margins, or keep fewer joints."
        )


@dataclass(frozen=True, kw_only=True)
class PostureBalance:
    """What a posture costs and how safely it stands."""

    angles: FloatArray
    """(n_joints,) in rad."""
    least: LeastLoss
    """Contact forces of least joule loss, and the torques with them."""
    com_margin_m: float
    """How far the centre of mass is inside its support."""
    joint_margin_rad: float
    """Of the moved joint that is closest to its stop."""
    at_stop: tuple[str, ...]
    """Joints of the legs, or moved ones, so close to a stop that it may bear a part of
    their load; a search counts on motors alone."""
    torque_share: float
    """Largest torque of a motor over its limit."""
    clearance_m: float | None
    """Distance of the two watched links that are closest; None: none is near."""
    missed: tuple[str, ...]
    """Constraints that it does not keep, in words."""


@dataclass(frozen=True, kw_only=True)
class FoundPosture:
    """The result of a search."""

    wanted: PostureBalance
    found: PostureBalance
    moved: tuple[str, ...]
    """What could move: motors, or pairs of them that mirror each other."""
    motor_loss: FloatArray
    """(n_motors,) c in W/(N·m)² of the motors that count, else 0."""
    starts: int
    """Starting points from which a posture was found that keeps everything."""
