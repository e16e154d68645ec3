"""What the files of a robot folder may say: tables, `robot.yaml`, `resources.yaml`.

One class a table or file, one field a column or key. Units are those of `models.robot`:
SI, angles in rad, temperatures in °C. The columns `source` (keys of REFERENCES.md),
`status` and `note` are for the reader of a table. `resources.yaml` lists parts by name,
so the file stays flat however deep the tree is; the motors of the robot are leaves by
themselves.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from models.resources import ResourceKind
from models.values import (
    Name,
    NoneIfEmpty,
    NotNegative,
    Plain,
    Positive,
    Real,
    ResourceName,
    Status,
)


class Row(BaseModel):
    """Any row: unknown columns are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SourcedRow(Row):
    """A row that says where its numbers come from."""

    source: str
    status: Status
    note: str = ""


class LinkRow(SourcedRow):
    """`links.csv`: a body, the joint it hangs on, and its inertia about its CoM.

    Axes of the inertia are those of the link. The base has no parent, joint or axis.
    """

    name: Name
    parent: Annotated[str | None, NoneIfEmpty]
    joint: Annotated[str | None, NoneIfEmpty]
    axis_x: Annotated[Real | None, NoneIfEmpty]
    axis_y: Annotated[Real | None, NoneIfEmpty]
    axis_z: Annotated[Real | None, NoneIfEmpty]
    origin_x: Real
    origin_y: Real
    origin_z: Real
    mass: Positive
    com_x: Real
    com_y: Real
    com_z: Real
    ixx: Positive
    iyy: Positive
    izz: Positive
    ixy: Real
    ixz: Real
    iyz: Real


class ShapeRow(Row):
    """`shapes.csv`: a primitive that a link shows, collides with, or both."""

    link: Name
    role: Literal["visual", "collision", "both"]
    shape: Literal["box", "sphere", "cylinder"]
    x: Real
    y: Real
    z: Real
    roll: Real
    pitch: Real
    yaw: Real
    size_x: Annotated[Positive | None, NoneIfEmpty]
    size_y: Annotated[Positive | None, NoneIfEmpty]
    size_z: Annotated[Positive | None, NoneIfEmpty]
    radius: Annotated[Positive | None, NoneIfEmpty]
    length: Annotated[Positive | None, NoneIfEmpty]
    material: Annotated[str | None, NoneIfEmpty]
    mirror: Literal["yes", "no"]
    """Whether the right side gets its mirror image."""


class MaterialRow(Row):
    """`materials.csv`: a colour."""

    name: Name
    red: NotNegative
    green: NotNegative
    blue: NotNegative


class JointRow(SourcedRow):
    """`joints.csv`: limits, and what the servo needs (see `models.Joint`)."""

    name: Name
    motor: Name
    lower: Real
    upper: Real
    max_velocity: Positive
    effort_limit: Positive
    kp: Positive
    kd: NotNegative
    friction: NotNegative
    presliding_stiffness: Positive
    servo_step: NotNegative
    encoder_step: NotNegative
    servo_status: Status
    """Of kp to servo_step; `status` is that of the limits."""


class MotorRow(SourcedRow):
    """`motors.csv`: one motor, named after its leading joint."""

    name: Name
    type: Name
    gear_ratio: Positive
    one_node: Name
    """Row of `heating_one_node.csv`."""


class MotorTypeRow(SourcedRow):
    """`motor_types.csv`: a catalogue motor (see `models.Motor`)."""

    type: Name
    stall_torque: Positive
    no_load_speed: Positive
    torque_constant: Positive
    terminal_resistance: Positive
    rotor_inertia: Positive


class OneNodeRow(SourcedRow):
    """`heating_one_node.csv` (see `models.OneNodeHeating`)."""

    group: Name
    torque_constant: Positive
    resistance: Positive
    conductance: Positive
    heat_capacity: Positive
    ambient_degc: Real


class TwoNodeRow(SourcedRow):
    """`heating_two_node.csv`, by motor type (see `models.TwoNodeHeating`)."""

    type: Name
    joule_constant: Positive
    resistance_winding_housing: Positive
    resistance_housing_ambient: Positive
    time_constant_winding: Positive
    time_constant_housing: Positive
    max_winding_degc: Positive


class ForceSensorRow(SourcedRow):
    """`force_sensors.csv` (see `models.ForceSensor`)."""

    name: Name
    link: Name
    x: Real
    y: Real
    z: Real
    range_newton: Positive
    step_newton: NotNegative
    noise_newton: NotNegative


class ContactRow(SourcedRow):
    """`contacts.csv` (see `models.ContactPoint`)."""

    name: Name
    link: Name
    x: Real
    y: Real
    z: Real
    effector: Name
    fsr: Annotated[str | None, NoneIfEmpty]


class LedRow(SourcedRow):
    """`leds.csv` (see `models.LedGroup`)."""

    name: Name
    link: Name
    count: Annotated[int, Field(gt=0), Plain]
    channels: Literal["rgb", "blue", "white"]
    levels: Annotated[int, Field(gt=1), Plain]
    x: Annotated[Real | None, NoneIfEmpty] = None
    y: Annotated[Real | None, NoneIfEmpty] = None
    z: Annotated[Real | None, NoneIfEmpty] = None
    place_source: str = ""
    place_status: Annotated[Status | None, NoneIfEmpty] = None
    """Of x, y and z; `status` is that of the rest."""


Parts = Annotated[tuple[ResourceName, ...], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InstancePart(_Part):
    """A composite whose parts are those of a class, each behind a prefix."""

    class_name: Annotated[ResourceName, Field(alias="class")]
    prefix: str


class LeafPart(_Part):
    """A leaf that is no motor; with one device, or none."""

    kind: ResourceKind = ResourceKind.EXCLUSIVE
    leds: tuple[Name, ...] = ()
    """LED groups of the robot that it sets."""
    speakers: tuple[Name, ...] = ()
    """Loudspeakers of the robot that it drives."""
    stiffness: tuple[Name, ...] = ()
    """Joint groups or joints whose torque limits it sets."""


class ResourceFile(_Part):
    """The whole file."""

    root: ResourceName
    """The composite that all else is under."""
    classes: dict[ResourceName, Parts] = {}
    """Parts without their prefix."""
    composites: dict[ResourceName, Parts]
    instances: dict[ResourceName, InstancePart] = {}
    leaves: dict[ResourceName, LeafPart] = {}


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
