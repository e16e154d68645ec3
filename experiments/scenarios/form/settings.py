"""Settings of a scenario file: the world, what is wrong with the robot, the rules."""

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from experiments.scenarios.form.base import Celsius, Name, Part, Real
from models.rows import PositiveSeconds, Seconds
from sim.servo import MOST_FRICTION

UnitName = Literal["motion", "light", "sound"]
UNITS: tuple[UnitName, ...] = get_args(UnitName)
Bus = Annotated[list[UnitName], Field(min_length=1)]


class WorldForm(Part):
    """The ground, and gravity."""

    friction: Annotated[Real, Field(ge=0.0, le=5.0)] = 0.7
    """Coulomb coefficient of soles on the ground."""
    slope_deg: Annotated[Real, Field(ge=-30.0, le=30.0)] = 0.0
    """Rises by this angle towards +x, in degrees."""
    gravity: Annotated[Real, Field(ge=0.0, le=50.0)] = 9.81
    """In m/s²."""
    solver_residual: Annotated[Real, Field(ge=0.0, le=1e-3)] = 1e-5
    """Squared residual at which the contact solver stops: quicker than the 1e-7 of the
    heat experiment, and no different to the eye."""


class SimulationForm(Part):
    """What is wrong with this robot, and how it heats up."""

    misalignment_deg: dict[Name, Real] = Field(default_factory=dict)
    """Joint to calibration error in degrees: true angle minus measured angle."""
    start_degc: dict[Name, Celsius] = Field(default_factory=dict)
    """Joint to temperature of its motor at the start, in °C."""
    other_start_degc: Celsius = 30.0
    """Of all other motors, in °C."""
    protection: Literal["none", "nao", "document"] = "none"
    """What a temperature does to the stiffness."""
    heating: Literal["one-node", "two-node"] = "one-node"
    """Heating model."""
    ambient_degc: Annotated[Real, Field(ge=-40.0, le=80.0)] | None = None
    """Of the air, in °C; absent: the motors' own."""
    gear_friction: Annotated[Real, Field(ge=0.0, le=MOST_FRICTION)] = 1.0
    """Factor on every joint's gear friction."""


class ReservationsForm(Part):
    """How the ledger settles conflicts."""

    preemption: Literal["off", "by_priority"] = "off"
    """Whether a strictly higher priority takes what a holder keeps."""
    retry_s: PositiveSeconds = 0.5
    """Period at which holders are told again of those who wait, in s."""
    overtake_s: Seconds = 5.0
    """How long a waiting request may be passed by equals, in s."""


class TransmitterForm(Part):
    """How outputs are put on buses."""

    buses: Annotated[dict[Name, Bus], Field(min_length=1)] = Field(
        default_factory=lambda: {"main": list(UNITS)}
    )
    """Bus to the units that it serves; each unit has one bus."""
    mode: Literal["watching", "elected"] = "watching"
    """Whether each bus watches the points, or one elected unit tests them."""
    enable: Literal["expected", "at end", "early"] = "expected"
    """When synchronous outputs are asked for during an initial motion: so that they
    arrive at its end; only at its end; or earlier than expected, by `early_s`."""
    early_s: Seconds | None = None
    """With `enable: early`, in s."""
    ttl_s: PositiveSeconds = 10.0
    """A group that is not complete by then is deleted, in s."""
    conversion_s: dict[UnitName, Seconds] = Field(default_factory=dict)
    """Unit to what its converter takes, in s: known beforehand."""
    late_s: dict[UnitName, Seconds] = Field(default_factory=dict)
    """Unit to what its converter takes beyond that, in s: nobody expects it."""

    @model_validator(mode="after")
    def _early_has_a_time(self) -> "TransmitterForm":
        if (self.enable == "early") != (self.early_s is not None):
            raise ValueError("early_s goes with enable: early, and only with it")
        return self
