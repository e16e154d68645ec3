"""Roles of a robot's parts: the names that features use, kept in its `robot.yaml`.

Every role is optional. A feature whose role is missing raises `MissingRole`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from pydantic import ConfigDict

from nao_testbed.models.errors import BadInput
from nao_testbed.models.values import Fraction, Name, Real, ResourceName

PostureRole = Literal["default", "upright", "crouch", "sit"]
POSTURE_ROLES: tuple[str, ...] = get_args(PostureRole)
Side = Literal["left", "right"]
Heading = Literal["ahead", "backwards", "sideways"]
JointAngles = Mapping[Name, Real]
"""Joint to angle."""


class StrictPart:
    """Base of the parts of `robot.yaml`; unknown keys are rejected."""

    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class HeadJoints(StrictPart):
    """Joints that turn the head."""

    pan: Name
    """Positive to the left."""
    tilt: Name
    """Positive downwards."""

    @property
    def joints(self) -> tuple[str, str]:
        """Pan and tilt."""
        return (self.pan, self.tilt)


@dataclass(frozen=True, kw_only=True)
class Thresholds(StrictPart):
    """The robot's own thermal protection: three statuses above normal."""

    onset_degc: tuple[Real, Real, Real]
    """Temperatures in °C at which the statuses start."""
    release_degc: tuple[Real, Real, Real]
    """Temperatures in °C below which the statuses end."""
    factor: tuple[Fraction, Fraction, Fraction]
    """Share of the commanded stiffness at each status."""

    def __post_init__(self) -> None:
        onset, release, factor = self.onset_degc, self.release_degc, self.factor
        if (
            list(onset) != sorted(onset)
            or list(release) != sorted(release)
            or any(low >= high for low, high in zip(release, onset, strict=True))
            or list(factor) != sorted(factor, reverse=True)
        ):
            raise ValueError(
                "onset_degc and release_degc must rise with the status, each release "
                "be below its onset, and factor fall"
            )


@dataclass(frozen=True, kw_only=True)
class Roles(StrictPart):
    """Parts and postures of a robot by their use."""

    postures: Mapping[PostureRole, Name] = field(default_factory=dict)
    """Stored postures: `default` of experiments, `upright`, `crouch` and `sit`."""
    head: HeadJoints | None = None
    legs: Mapping[Side, tuple[Name, ...]] = field(default_factory=dict)
    """Joints whose temperature rises are summed in results, by leg."""
    idle_joints: tuple[Name, ...] = ()
    """Joints that do not distinguish postures, such as those of hands and wrists."""
    loads: tuple[Name, ...] = ()
    """Links that a person may load; empty: the base."""
    grips: tuple[Name, ...] = ()
    """Links by which a person leads the robot by the hand."""
    breathing_deg: Mapping[Literal["arms", "legs"], JointAngles] = field(
        default_factory=dict
    )
    """Amplitude of each joint during breathing, in degrees."""
    falling: Mapping[Heading, JointAngles] = field(default_factory=dict)
    """Direction of a fall to the angles of arms and head in rad."""
    saving: Mapping[ResourceName, Fraction] = field(default_factory=dict)
    """Resource to its largest stiffness in the energy-saving mode."""


EXAMPLES: Mapping[str, str] = {
    "head": "head: {pan: JOINT, tilt: JOINT}",
    "grips": "grips: [LINK, LINK]",
    "breathing_deg": "breathing_deg: {arms: {JOINT: DEGREES}}",
    "falling": "falling: {ahead: {JOINT: RAD}, backwards: {}, sideways: {}}",
    "saving": "saving: {RESOURCE: 0.75}",
} | {f"postures.{name}": f"postures: {{{name}: POSTURE}}" for name in POSTURE_ROLES}
"""Role to an example of its entry."""


class MissingRole(BadInput):
    """Error: a feature needs a role that the robot lacks."""

    def __init__(self, robot: str, role: str, feature: str) -> None:
        """Compose the message: robot, role, feature, and the entry to add."""
        super().__init__(
            f"{feature} needs the role {role!r}, which robot {robot!r} lacks; add "
            f"`{EXAMPLES[role]}` under `roles` in its robot.yaml."
        )
