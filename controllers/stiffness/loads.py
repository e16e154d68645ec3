"""Vertical forces of the world that are not contacts (ST-16).

The document lets B hold the vertical component of external disturbances [ES2659053T3
claim 7], and lets them be neglected [claim 8], which is the default here: no sensor of
the robot tells them. A user who knows one, such as a tray in a hand, can state it.
"""

from dataclasses import dataclass
from math import isfinite

from models import BadInput


@dataclass(frozen=True, kw_only=True)
class ExternalLoad:
    """A known vertical force on one point of the body."""

    name: str
    link: str
    """Link that it acts on."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Where it acts, in the link frame, in m."""
    upward_newton: float
    """The force on the robot in N, along the vertical; a carried weight is negative."""

    def __post_init__(self) -> None:
        """Refuse a force or place that is not finite."""
        if not all(map(isfinite, (*self.position, self.upward_newton))):
            raise BadInput(
                f"load {self.name!r}: force {self.upward_newton} N at {self.position}; "
                "give finite numbers."
            )
