"""Presets: misalignments, limits and starts of an experiment, kept as data.

A preset file says what it was fitted to and the command that found it.
"""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from experiments.shipped import Shipped
from models.files.yaml_forms import read_yaml

PRESETS = Shipped(kind="preset", folder=Path(__file__).parent)

Degrees = Annotated[float, Field(ge=-4.0, le=4.0, allow_inf_nan=False)]
Celsius = Annotated[float, Field(ge=25.0, le=45.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


class Preset(BaseModel):
    """What a preset file says."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    """What it reproduces, and what was assumed."""
    fitted_to: str
    """The only numbers that the search saw."""
    found_by: str
    """The command that found it."""
    posture: str
    minutes: Positive
    effort_limits: dict[str, Positive]
    """Joint to torque at stiffness 1, in N·m."""
    misalignment_deg: dict[str, Degrees]
    """Joint to calibration error, in degrees."""
    start_degc: dict[str, Celsius]
    """Joint to start temperature, in °C: an assumption, not a published value."""
    other_start_degc: Celsius
    """Start temperature of all other joints, in °C."""


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets that come with the testbed."""
    return PRESETS.names()


def load_preset(name: str) -> Preset:
    """Read a preset by its name.

    Raises:
        UnknownName: there is none of this name.
        RobotDataError: the file is wrong; the message says file and line.
    """
    return read_yaml(PRESETS.named(name), Preset).value
