"""What a body has beside motors: sensors, LEDs, loudspeakers, a battery."""

from dataclasses import dataclass

from models.links import Vector3


@dataclass(frozen=True, kw_only=True)
class ForceSensor:
    """A force-sensing resistor under a sole; measures the normal force only."""

    name: str
    link: str
    position: Vector3
    """In the link frame, in m."""
    range_newton: float
    """Largest force that it reports, in N."""
    step_newton: float
    """Smallest change that it reports, in N."""
    noise_newton: float
    """Standard deviation of its noise, in N."""


@dataclass(frozen=True, kw_only=True)
class Imu:
    """Gyroscope and accelerometer on one link; accelerometer axes parallel to it."""

    link: str
    position: Vector3
    """In the link frame, in m."""
    accelerometer_range: float
    """In m/s²."""
    accelerometer_noise: float
    """Standard deviation in m/s²."""
    accelerometer_gain_error: float
    """Largest relative gain error (the data sheet's precision)."""
    gyro_range: float
    """In rad/s."""
    gyro_noise: float
    """Standard deviation in rad/s."""
    gyro_gain_error: float
    """Largest relative gain error."""


@dataclass(frozen=True, kw_only=True)
class SensorRates:
    """How often each kind of sensor is read anew, in s, and small noises."""

    encoder_period: float
    current_period: float
    imu_period: float
    fsr_period: float
    temperature_period: float
    current_noise: float
    """Standard deviation in A."""
    temperature_step: float
    """Resolution in K."""


@dataclass(frozen=True, kw_only=True)
class LedGroup:
    """LEDs that are set together."""

    name: str
    link: str
    count: int
    channels: str
    """`rgb`, `blue` or `white`."""
    levels: int
    """Brightnesses of a channel, with dark."""
    place: Vector3 | None = None
    """Middle of the LEDs in the link frame, in m; None where nobody knows it."""

    @property
    def n_channels(self) -> int:
        """Brightnesses of one LED that are set: three of `rgb`, else one."""
        return len(self.channels) if self.channels == "rgb" else 1


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """A loudspeaker."""

    name: str
    link: str
    sample_rates_hz: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Battery:
    """The supply that bounds motor speed."""

    nominal_volt: float
    max_volt: float
    max_discharge_ampere: float
    capacity_watt_hour: float
