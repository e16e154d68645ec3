"""The rows of a robot folder's tables, one class a table, one field a column.

Units are those of `models.robot`: SI, angles in rad, temperatures in °C. The columns
`source` (keys of REFERENCES.md), `status` and `note` are for the reader of the table.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def number_of(text: str) -> float:
    """Return the number that a text says, in a cell or on a command line.

    Raises:
        ValueError: it says none, or has underscores, which Python alone would take: who
            writes 1_5 more likely means 1.5 than 15.
    """
    if "_" in text:
        raise ValueError(f"{text} has an underscore; write the number without it")
    return float(text)


def _plain(value: object) -> object:
    return number_of(value) if isinstance(value, str) and "_" in value else value


Plain = BeforeValidator(_plain)
Real = Annotated[float, Field(allow_inf_nan=False), Plain]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False), Plain]
NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False), Plain]
LONGEST_S = 86_400.0
"""Of any time that a file gives, in s: a day, as the longest scenario."""
LONGEST_ENTRY_S = 600.0
"""Of a motion, a light pattern or a tone, in s: it is sampled before it begins."""
Seconds = Annotated[float, Field(ge=0.0, le=LONGEST_S, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, Field(gt=0.0, le=LONGEST_S, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, pattern=r"^\S+$")]
Optional = BeforeValidator(lambda text: text if text else None)
Status = Literal["published", "derived", "estimate"]


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
    parent: Annotated[str | None, Optional]
    joint: Annotated[str | None, Optional]
    axis_x: Annotated[Real | None, Optional]
    axis_y: Annotated[Real | None, Optional]
    axis_z: Annotated[Real | None, Optional]
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
    size_x: Annotated[Positive | None, Optional]
    size_y: Annotated[Positive | None, Optional]
    size_z: Annotated[Positive | None, Optional]
    radius: Annotated[Positive | None, Optional]
    length: Annotated[Positive | None, Optional]
    material: Annotated[str | None, Optional]
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
    fsr: Annotated[str | None, Optional]


class LedRow(SourcedRow):
    """`leds.csv` (see `models.LedGroup`)."""

    name: Name
    link: Name
    count: Annotated[int, Field(gt=0), Plain]
    channels: Literal["rgb", "blue", "white"]
    levels: Annotated[int, Field(gt=1), Plain]
    x: Annotated[Real | None, Optional] = None
    y: Annotated[Real | None, Optional] = None
    z: Annotated[Real | None, Optional] = None
    place_source: str = ""
    place_status: Annotated[Status | None, Optional] = None
    """Of x, y and z; `status` is that of the rest."""
