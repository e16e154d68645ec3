"""What `robot.yaml` may say: names, groups, devices that are few, posture settings."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from models.resources_yaml import ResourceName
from models.rows import Name, NotNegative, Positive, Real


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ImuPart(_Part):
    """Inertial unit (see `models.Imu`)."""

    link: Name
    position: tuple[Real, Real, Real]
    accelerometer_range: Positive
    accelerometer_noise: NotNegative
    accelerometer_gain_error: NotNegative
    gyro_range: Positive
    gyro_noise: NotNegative
    gyro_gain_error: NotNegative


class RatesPart(_Part):
    """Sensor periods in s (see `models.SensorRates`)."""

    encoder_period: Positive
    current_period: Positive
    imu_period: Positive
    fsr_period: Positive
    temperature_period: Positive
    current_noise: NotNegative
    temperature_step: NotNegative


class BatteryPart(_Part):
    """Supply (see `models.Battery`)."""

    nominal_volt: Positive
    max_volt: Positive
    max_discharge_ampere: Positive
    capacity_watt_hour: Positive


class SpeakerPart(_Part):
    """A loudspeaker (see `models.Speaker`)."""

    name: Name
    link: Name
    sample_rates_hz: tuple[Annotated[int, Field(gt=0)], ...]


class TypicalPosturePart(_Part):
    """What carries the robot in a stored posture, and its stiffness offset."""

    effectors: Annotated[tuple[Name, ...], Field(min_length=1)]
    offset: Annotated[Real, Field(ge=0.0, le=1.0)] | None
    state: ResourceName | None = None
    """The state resource that a robot in this posture is in, if it is one."""


class RobotFile(_Part):
    """The whole file."""

    name: Name
    urdf: Name
    """Path of the URDF, from the folder of this file."""
    base_link: Name
    total_mass: Positive
    """Stated mass in kg; the links must sum to it within 1 g."""
    contact_threshold: Positive
    feet: Annotated[tuple[Name, ...], Field(min_length=1)]
    groups: dict[Name, tuple[Name, ...]]
    """Members are joints, or groups named before."""
    imu: ImuPart
    sensor_rates: RatesPart
    battery: BatteryPart
    speakers: tuple[SpeakerPart, ...] = ()
    typical_postures: dict[Name, TypicalPosturePart]
    bodies: dict[Name, tuple[ResourceName, ...]] = {}
    """Bodies that the robot is made with, and the resources that each lacks."""
