"""The form of a sweep file: what is swept, over what, how often."""

from typing import Annotated

from pydantic import Field

from experiments.scenarios.form.base import Name, Part, Prose, Real
from experiments.scenarios.form.events import Newton
from experiments.sweep.form.keep import KeepForm
from experiments.sweep.form.values import Number, Text
from models.rows import PositiveSeconds, Seconds

Joints = dict[Name, Number]
"""Joint, or group of joints such as Legs or LArm, to values. A list for a group is one
grid, with the same value for all its joints; a distribution is drawn for each joint."""
Positive = Annotated[Real, Field(gt=0.0)]
AtLeastOne = Annotated[int, Field(ge=1)]


class PushForm(Part):
    """A constant force on the centre of mass of a link, for a while."""

    at_s: Seconds = 6.0
    """When it begins, in s."""
    duration_s: PositiveSeconds = 0.2
    """In s."""
    force_n: Annotated[list[Newton], Field(min_length=3, max_length=3)]
    """In N, in the world: x ahead of the robot, y to its left, z up."""
    link: Name | None = None
    """Absent: the base, the torso of a NAO."""


class FastForwardForm(Part):
    """When to leave the physics alone; see `experiments.standing.fast_forward`."""

    full: bool = False
    """Step the physics all the time."""
    block_s: PositiveSeconds | None = None
    """Length of a block of physics, in s."""
    blocks: AtLeastOne | None = None
    """Blocks in a row that must agree."""
    bound: Positive | None = None
    """Largest spread of a motor's mean squared torque over these blocks, in N²m²."""
    relative_bound: Annotated[Real, Field(ge=0.0)] | None = None
    """And as a fraction of its mean, whichever is larger."""
    shift_bound: Positive | None = None
    """Largest change over these blocks of a set-point that is shifted, in rad."""
    not_before_s: Seconds | None = None
    """Time for taking the posture and settling, in s."""
    first_jump_s: PositiveSeconds | None = None
    """Longest time without physics at first, in s."""
    growth: Annotated[Real, Field(ge=1.0)] | None = None
    """Factor on it each time that the physics in between was as steady as before."""
    longest_jump_s: PositiveSeconds | None = None
    """Up to this, in s."""


class SweepFile(Part):
    """A sweep: every grid point for every robot that is drawn."""

    name: Name
    """By which it is spoken of."""
    about: Prose | None = None
    """What it is for."""
    robot: Name | None = None
    """Folder of the robot, from this file's folder; absent: the NAO."""
    robots: AtLeastOne = 1
    """How many robots are drawn from the distributions."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of all draws, and of all sensor noise."""
    preset: Name | None = None
    """A named setting that lies below what this file says, such as document."""
    controller: Text
    """As `--controllers` takes them: fixed, smart, constant:0.6."""
    minutes: Number | None = None
    """Simulated time of a trial; absent: the preset's, or 15."""
    posture: Text | None = None
    """Stored posture to hold; absent: the preset's, or PoseInit, or the first one."""
    slope_deg: Number = 0.0
    """The ground rises by this angle ahead of the robot, in degrees."""
    friction: Number = 0.7
    """Coulomb coefficient of soles on the ground."""
    misalignment_deg: Joints = Field(default_factory=dict)
    """Calibration error of joints in degrees: true angle minus measured angle."""
    start_degc: Joints = Field(default_factory=dict)
    """Temperature of joints' motors at the start, in °C."""
    other_start_degc: Number | None = None
    """Of all other motors, in °C; absent: the preset's, or 30."""
    effort_limit_nm: Joints = Field(default_factory=dict)
    """Torque of joints at stiffness 1, in N·m; absent: the preset's or the robot's."""
    gear_friction: Number = 1.0
    """Factor on every joint's gear friction."""
    ambient_degc: Number | None = None
    """Temperature of the air, in °C; absent: the motors' own."""
    heating: Text = "one-node"
    """Heating model: one-node or two-node."""
    protection: Text = "none"
    """What a temperature does to the stiffness: none, nao or document."""
    servo: Text = "torque"
    """torque, or pybullet for the engine's own motors."""
    control_period: Number = 0.02
    """Cycle of the controllers, in s."""
    pushes: list[PushForm] = Field(default_factory=list)
    """What disturbs every robot."""
    keep: KeepForm | None = None
    """Which robots run with all controllers; absent: all."""
    fast_forward: FastForwardForm = Field(default_factory=FastForwardForm)
    """When to leave the physics alone; absent: as in `nao-testbed heat`."""
