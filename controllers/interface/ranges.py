"""Accepted values of a robot's setting.

Importing this module loads neither numpy nor pydantic, which the help of a command does
not need.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from annotated_types import GroupedMetadata


class Accepts(GroupedMetadata):
    """Annotation of accepted values, as pydantic's `Field`, which is built at use."""

    title = None
    """Name in messages: that of the field."""

    def __init__(self, **limits: Any) -> None:
        """Store the arguments of `Field`."""
        self._limits = limits

    def __iter__(self) -> Iterator[Any]:
        """Yield the metadata for pydantic."""
        return iter(self.metadata)

    @property
    def metadata(self) -> list[Any]:
        """Metadata, as of pydantic's `FieldInfo`."""
        from pydantic import Field  # noqa: PLC0415  # heavy

        found: list[Any] = Field(**self._limits).metadata
        return found


PLAIN_SIGN = r"[^\s\x00-\x1f\x7f]"
NAME_PATTERN = rf"^{PLAIN_SIGN}([^\x00-\x1f\x7f]*{PLAIN_SIGN})?$"
Name = Annotated[str, Accepts(min_length=1, pattern=NAME_PATTERN)]
"""Name in a file that may contain spaces inside, such as `look around`, but no control
characters."""

FiniteFloat = Annotated[float, Accepts(allow_inf_nan=False)]
GroundFriction = Annotated[float, Accepts(ge=0.0, le=5.0, allow_inf_nan=False)]
"""Coulomb coefficient of soles on the ground."""
EngineName = Literal["pybullet", "mujoco"]
"""Name of the physics engine."""

Delay = Annotated[float, Accepts(ge=0.0, le=1.0, allow_inf_nan=False)]
"""Of sensor values or decisions, in s."""
SlopeDegrees = Annotated[float, Accepts(ge=-30.0, le=30.0, allow_inf_nan=False)]
"""Rise of the ground towards +x, in degrees."""
Gravity = Annotated[float, Accepts(ge=0.0, le=50.0, allow_inf_nan=False)]
"""Gravity in m/s²; Jupiter has 25."""
SolverResidual = Annotated[float, Accepts(ge=0.0, le=1e-3, allow_inf_nan=False)]
"""Squared residual at which the contact solver stops."""
MAX_FRICTION = 1e9
"""Largest factor on gear friction; the gears are then stuck."""
FrictionScale = Annotated[float, Accepts(ge=0.0, le=MAX_FRICTION, allow_inf_nan=False)]
"""Factor on the gear friction of every joint."""
GearPlay = Annotated[float, Accepts(ge=0.0, le=5.0, allow_inf_nan=False)]
"""Play of every joint, from stop to stop in degrees; robots need repair at 5."""
AirCelsius = Annotated[float, Accepts(ge=-40.0, le=80.0, allow_inf_nan=False)]
Celsius = Annotated[float, Accepts(ge=-20.0, le=150.0, allow_inf_nan=False)]
"""Temperature of a motor, in °C."""
