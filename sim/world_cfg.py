"""The world around the robot: ground, gravity, solver, window."""

import os
from dataclasses import dataclass

import numpy as np

from models import BadInput

SHORTEST_STEP_S = 1e-5
"""Of the physics: a hundredth of ours; at less a second of a robot takes an hour."""


@dataclass(frozen=True, kw_only=True)
class WorldCfg:
    """What the engine is told before it starts."""

    physics_dt: float = 1e-3
    """Physics and servo period in s."""
    gravity: float = 9.81
    """In m/s²."""
    slope_deg: float = 0.0
    """Ground rises by this angle towards +x (uphill ahead of the robot)."""
    friction: float = 0.7
    """Coulomb coefficient of soles on the ground (estimate: rubber, hard floor)."""
    solver_iterations: int = 50
    """Sweeps of the contact solver at most; PyBullet's default."""
    solver_residual: float = 1e-7
    """Squared residual at which the contact solver stops before that; PyBullet's
    default. With 1e-5 a tick of a standing robot costs a tenth less; its legs' torques,
    with an ankle 2 degrees off, stay the same to 1 in 4000 over two minutes."""
    gui: bool = False
    """Open PyBullet's window."""

    def __post_init__(self) -> None:
        """Refuse what the engine would take in silence."""
        if not SHORTEST_STEP_S <= self.physics_dt <= 0.01:
            raise BadInput(
                f"physics_dt is {self.physics_dt} s; give a value in "
                f"[{SHORTEST_STEP_S:g}, 0.01] s."
            )
        if not (np.isfinite(self.slope_deg) and abs(self.slope_deg) <= 30.0):
            raise BadInput(
                f"slope is {self.slope_deg} degrees; give a value in [-30, 30]."
            )
        if not (np.isfinite(self.friction) and 0.0 <= self.friction <= 5.0):
            raise BadInput(
                f"ground friction is {self.friction}; give a value in [0, 5]."
            )
        if not (np.isfinite(self.gravity) and self.gravity >= 0.0):
            raise BadInput(
                f"gravity is {self.gravity} m/s²; give a number >= 0, such as 9.81."
            )
        if not 0.0 <= self.solver_residual <= 1e-3:
            raise BadInput(
                f"solver_residual is {self.solver_residual}; give 0 (all sweeps) to "
                "1e-3, such as 1e-7."
            )
        if self.solver_iterations < 1:
            raise BadInput(
                f"solver_iterations is {self.solver_iterations}; give 1 or more."
            )


def check_display() -> None:
    """Look whether PyBullet's window could open; it ends the process where not.

    Raises:
        BadInput: there is no display.
    """
    if not os.environ.get("DISPLAY"):
        raise BadInput(
            "--gui needs a display and DISPLAY is not set; run without --gui."
        )
