"""Obstacles for the robot: boxes such as walls, table tops, blocks.

A box of size (s_x, s_y, s_z) has its centre at p in the frame of the robot's start and
is turned by its yaw about the z axis of that frame. The start frame has its origin on
the ground below the robot's base, x forward, y to the left, z along the ground's
normal. A box never moves. It may overlap the ground or another box.

Assumptions: rigid boxes; Coulomb friction with one coefficient.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import starmap
from typing import Annotated, Self

from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked, check_value
from nao_testbed.models import BadInput
from nao_testbed.models.values import number_of

Size = Annotated[float, Field(ge=1e-3, le=10.0, title="an obstacle's size in m")]
Place = Annotated[float, Field(ge=-10.0, le=10.0, title="an obstacle's position in m")]
Vector3 = tuple[float, float, float]

EXAMPLE = "0.3,0.6,0.02@0.25,0,0.3"
"""A table top of 30 x 60 x 2 cm, 25 cm in front of the robot and 30 cm high."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ -]*")


@dataclass(frozen=True, kw_only=True)
class Obstacle(Checked):
    """Box that does not move."""

    name: str
    """Name in records and messages."""
    size: Vector3
    """Edges along its own x, y and z, in m."""
    position: Vector3
    """Centre in the frame of the robot's start, in m."""
    yaw_deg: Annotated[float, Field(ge=-360.0, le=360.0, title="an obstacle's yaw")] = (
        0.0
    )
    """Rotation to the left, seen from above, in degrees."""
    friction: Annotated[
        float, Field(ge=0.0, le=5.0, title="an obstacle's friction")
    ] = 0.3
    """Coulomb coefficient of links on it (estimate: plastic on wood)."""

    @classmethod
    def at(cls, name: str, box: str) -> Self:
        """Parse a box from `SX,SY,SZ@X,Y,Z` or `SX,SY,SZ@X,Y,Z,YAW`.

        Raises:
            BadInput: the text has another form, or a value is out of range.
        """
        size, _, place = box.partition("@")
        try:
            s_x, s_y, s_z = (number_of(part) for part in size.split(","))
            x, y, z, *yaw = (number_of(part) for part in place.split(","))
            (yaw_deg,) = yaw or (0.0,)
        except ValueError as error:
            raise BadInput(
                f"obstacle {name!r} is {box!r}; give SX,SY,SZ@X,Y,Z[,YAW]: edge "
                f"lengths and centre in m, yaw in degrees, such as {EXAMPLE}."
            ) from error
        return cls(name=name, size=(s_x, s_y, s_z), position=(x, y, z), yaw_deg=yaw_deg)

    def __post_init__(self) -> None:
        """Check name, size and place.

        Raises:
            BadInput: a value is out of range.
        """
        super().__post_init__()
        if not _NAME.fullmatch(self.name):
            raise BadInput(
                f"an obstacle is named {self.name!r}; give letters, digits, spaces, "
                "'-' and '_', such as table."
            )
        for edge in self.size:
            check_value("size", edge, Size)
        for x in self.position:
            check_value("place", x, Place)

    @property
    def box(self) -> str:
        """Box as text in the form of `at`."""
        place = (*self.position, self.yaw_deg) if self.yaw_deg else self.position
        return "@".join(",".join(f"{x:g}" for x in xs) for xs in (self.size, place))


def obstacles_of(boxes: Mapping[str, str]) -> tuple[Obstacle, ...]:
    """Return obstacles from a mapping of name to box text in the form of `Obstacle.at`.

    Raises:
        BadInput: a box cannot be used.
    """
    return tuple(starmap(Obstacle.at, boxes.items()))
