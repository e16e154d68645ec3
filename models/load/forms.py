"""Forms of the files of a robot folder: tables, `robot.yaml`, `resources.yaml`.

Each table or file has one class, each column or key one field. Units are those of
`models.robot`: SI, angles in rad, temperatures in °C. The columns `source` (keys of
REFERENCES.md), `status` and `note` are for the reader of a table. `resources.yaml`
lists parts by name, so the file is flat for a tree of any depth; the robot's motors are
implicit leaves.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.robot import (
    Battery,
    Imu,
    JointNumbers,
    MotorType,
    OneNodeHeating,
    SensorRates,
    Sonar,
    Speaker,
    Thermal,
    TouchSensor,
    TwoNodeHeating,
    Vector3,
    VideoCamera,
)
from nao_testbed.models.roles import Roles, Thresholds
from nao_testbed.models.values import (
    Name,
    NoneIfEmpty,
    NotNegative,
    Plain,
    Positive,
    Real,
    ResourceName,
    Status,
)


class CsvRow(BaseModel):
    """Base of rows: unknown columns are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class SourcedRow(CsvRow):
    """Row with the source of its numbers."""

    source: str
    status: Status
    note: str = ""


class LinkRow(SourcedRow):
    """`links.csv`: a body, its parent joint, and its inertia about its CoM.

    Axes of the inertia are those of the link. The base has no parent, joint or axis.
    The origin is that of the joint frame in the parent link, in m and rad.
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
    origin_roll: Real = 0.0
    origin_pitch: Real = 0.0
    origin_yaw: Real = 0.0


class ShapeRow(CsvRow):
    """`shapes.csv`: a primitive of a link for display, collision, or both."""

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
    """`yes`: the right side gets the mirror image."""


class MaterialRow(CsvRow):
    """`materials.csv`: a colour."""

    name: Name
    red: NotNegative
    green: NotNegative
    blue: NotNegative


@dataclass(frozen=True, kw_only=True)
class Sourced:
    """Source and status of the numbers in a row."""

    source: str
    status: Status
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class JointRow(Sourced, JointNumbers):
    """`joints.csv`: a joint and its servo."""

    servo_status: Status
    """Status of kp to servo_step; `status` is that of the limits."""


class MotorRow(SourcedRow):
    """`motors.csv`: one motor, named after its leading joint."""

    name: Name
    type: Name
    gear_ratio: Positive
    one_node: Name
    """Row of `heating_one_node.csv`."""
    joints: str = ""
    """Of a motor that shares its joints with others: its torque as a sum of theirs,
    `0.5 ankle_pitch -0.5 ankle_roll`."""


@dataclass(frozen=True, kw_only=True)
class MotorTypeRow(Sourced, MotorType):
    """`motor_types.csv`."""


@dataclass(frozen=True, kw_only=True)
class OneNodeRow(Sourced, OneNodeHeating):
    """`heating_one_node.csv`."""

    group: Name


@dataclass(frozen=True, kw_only=True)
class TwoNodeRow(Sourced, TwoNodeHeating):
    """`heating_two_node.csv`."""

    type: Name


class PlacedRow(SourcedRow):
    """Row of an object at a position on a link."""

    name: Name
    link: Name
    x: Real
    y: Real
    z: Real

    @property
    def position(self) -> Vector3:
        """Position in the link frame, in m."""
        return (self.x, self.y, self.z)


class ForceSensorRow(PlacedRow):
    """`force_sensors.csv` (see `models.ForceSensor`)."""

    range_newton: Positive
    step_newton: NotNegative
    noise_newton: NotNegative


class ContactRow(PlacedRow):
    """`contacts.csv` (see `models.ContactPoint`)."""

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
    """Status of x, y and z; `status` is that of the rest."""

    @property
    def place(self) -> Vector3 | None:
        """Position in the link frame, in m."""
        if self.x is None or self.y is None or self.z is None:
            return None
        return (self.x, self.y, self.z)


Parts = Annotated[tuple[ResourceName, ...], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class InstancePart(_Part):
    """Composite with the parts of a class, whose names get a prefix."""

    class_name: Annotated[ResourceName, Field(alias="class")]
    prefix: str


class LeafPart(_Part):
    """Leaf that is not a motor, with one device or none."""

    kind: ResourceKind = ResourceKind.EXCLUSIVE
    leds: tuple[Name, ...] = ()
    """LED groups that it sets."""
    speakers: tuple[Name, ...] = ()
    """Loudspeakers that it drives."""
    stiffness: tuple[Name, ...] = ()
    """Joint groups or joints with torque limits that it sets."""


class ResourceFile(_Part):
    """Whole file `resources.yaml`."""

    root: ResourceName
    """Composite at the top of the tree."""
    classes: dict[ResourceName, Parts] = {}
    """Class name to the names of its parts, to which an instance adds its prefix."""
    composites: dict[ResourceName, Parts]
    instances: dict[ResourceName, InstancePart] = {}
    leaves: dict[ResourceName, LeafPart] = {}


class TypicalPosturePart(_Part):
    """Supporting effectors of a stored posture, and its stiffness offset."""

    effectors: Annotated[tuple[Name, ...], Field(min_length=1)]
    offset: Annotated[Real, Field(ge=0.0, le=1.0)] | None
    state: ResourceName | None = None
    """State resource of a robot in this posture, if any."""


class RobotFile(_Part):
    """Whole file `robot.yaml`."""

    name: Name
    urdf: Name
    """Path of the URDF, relative to the folder of this file."""
    base_link: Name
    total_mass: Positive
    """Stated mass in kg; the links must sum to it within 1 g."""
    contact_threshold: Positive
    feet: Annotated[tuple[Name, ...], Field(min_length=1)]
    groups: dict[Name, tuple[Name, ...]]
    """Group name to its members: joints, or groups defined before."""
    imu: Imu
    sensor_rates: SensorRates
    battery: Battery
    speakers: tuple[Speaker, ...] = ()
    sonars: tuple[Sonar, ...] = ()
    cameras: tuple[VideoCamera, ...] = ()
    touch_sensors: dict[Name, TouchSensor] = {}
    typical_postures: dict[Name, TypicalPosturePart]
    bodies: dict[Name, tuple[ResourceName, ...]] = {}
    """Body types of the robot, each with the resources that it lacks."""
    thermal: Thermal = "published"
    roles: Roles = Roles()
    protection: Thresholds | None = None


PartT = TypeVar("PartT")


def part_of(kind: type[PartT], row: object, **more: object) -> PartT:
    """Return a part of the robot from a row with the same field names, and `more`."""
    names = [field.name for field in fields(kind) if field.name not in more]  # type: ignore[arg-type]
    return kind(**{name: getattr(row, name) for name in names}, **more)
