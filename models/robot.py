"""What a robot is: plain, frozen data, the same for every floor above.

A robot is read from its folder by `models.load_robot`; nothing here reads files or
moves. Joints keep one order everywhere, that of `joints.csv`; motors keep the order
in which their leading joints appear. Two joints may share one motor (the two hip
yaw-pitch joints of a NAO do).
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from models.devices import Battery, ForceSensor, Imu, LedGroup, SensorRates, Speaker
from models.errors import BadInput, UnknownName
from models.library.library import Library
from models.links import ContactPoint, Joint, Link
from models.motors import Motor
from models.resource_node import DeviceKind, ResourceNode

_T = TypeVar("_T", bound=np.generic)
_NO_RESOURCES = ResourceNode(name="root")


@dataclass(frozen=True, kw_only=True)
class Posture:
    """A stored typical posture (ST-12)."""

    name: str
    angles: NDArray[np.float64]
    """(n_joints,) in rad."""
    effectors: tuple[str, ...]
    """Body parts that carry the robot in it; empty where it is not a typical one."""
    offset: float | None
    """Stiffness offset of the posture (ST-19), or None for the default."""
    status: str
    """`published` or `estimate`."""
    state: str | None = None
    """The state resource that a robot in it is in (RM-51), or None."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Robot:
    """A humanoid as data. Arrays are read-only and in joint (or motor) order."""

    name: str
    folder: Path
    urdf: Path
    base_link: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    motors: tuple[Motor, ...]
    contact_points: tuple[ContactPoint, ...]
    feet: tuple[str, ...]
    """The effectors that are feet."""
    contact_threshold: float
    """Distance to the lowest point within which a point is a contact (730), in m."""
    force_sensors: tuple[ForceSensor, ...]
    imu: Imu
    sensor_rates: SensorRates
    groups: Mapping[str, tuple[str, ...]]
    """Joint groups: Head, LArm, RArm, LLeg, RLeg, Body..."""
    postures: Mapping[str, Posture]
    leds: tuple[LedGroup, ...]
    speakers: tuple[Speaker, ...]
    battery: Battery
    resources: ResourceNode = _NO_RESOURCES
    """What behaviours may reserve: the root of the tree (RM-3)."""
    bodies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Bodies that it is made with, and the resources that each lacks (RM-41)."""
    absent: tuple[str, ...] = ()
    """Resources, leaves or composites, that this body lacks."""
    library: Library = field(default_factory=Library)
    """What it can do by heart."""

    def __repr__(self) -> str:
        """Return a line for tracebacks; the tables would fill a page."""
        return f"Robot({self.name!r} from {str(self.folder)!r})"

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names in joint order."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def motor_names(self) -> tuple[str, ...]:
        """Names in motor order."""
        return tuple(motor.name for motor in self.motors)

    @cached_property
    def motor_of_joint(self) -> NDArray[np.intp]:
        """(n_joints,) index of the motor that drives each joint."""
        index = {name: i for i, name in enumerate(self.motor_names)}
        return _read_only(
            np.array([index[j.motor] for j in self.joints], dtype=np.intp)
        )

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """(n_joints,) lower stops in rad."""
        return _read_only(np.array([joint.lower for joint in self.joints]))

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """(n_joints,) upper stops in rad."""
        return _read_only(np.array([joint.upper for joint in self.joints]))

    @cached_property
    def effort_limit(self) -> NDArray[np.float64]:
        """(n_joints,) torque at stiffness 1 in N·m."""
        return _read_only(np.array([joint.effort_limit for joint in self.joints]))

    @cached_property
    def leg_joints(self) -> tuple[str, ...]:
        """Joints between the base and the feet, in joint order."""
        moved_by = {joint.link: joint for joint in self.joints}
        legs: set[str] = set()
        for point in self.contact_points:
            link = point.link
            while point.effector in self.feet and link in moved_by:
                legs.add(moved_by[link].name)
                link = moved_by[link].parent
        return tuple(name for name in self.joint_names if name in legs)

    @cached_property
    def absent_joints(self) -> tuple[str, ...]:
        """Joints whose motor this body lacks, in joint order."""
        motors = {
            motor
            for top in self.resources.walk()
            if top.name in self.absent
            for node in top.walk()
            if node.device is not None and node.device.kind is DeviceKind.MOTOR
            for motor in node.device.names
        }
        return tuple(joint.name for joint in self.joints if joint.motor in motors)

    @property
    def has_legs(self) -> bool:
        """Whether this body has every joint between its base and its feet."""
        return not set(self.leg_joints) & set(self.absent_joints)

    @property
    def total_mass(self) -> float:
        """Sum of the link masses in kg."""
        return sum(link.mass for link in self.links)

    def joint_index(self, name: str) -> int:
        """Return the place of a joint in every joint array.

        Raises:
            UnknownName: no joint has this name.
        """
        if name not in self.joint_names:
            raise UnknownName("Joint", name, self.joint_names, f"robot {self.name!r}")
        return self.joint_names.index(name)

    def posture(self, name: str) -> Posture:
        """Return a stored posture.

        Raises:
            UnknownName: no posture has this name.
        """
        if name not in self.postures:
            raise UnknownName("Posture", name, self.postures, f"robot {self.name!r}")
        return self.postures[name]

    def with_body(self, name: str) -> "Robot":
        """Return the same robot with a body that lacks some parts (RM-41).

        Joints, links and resources stay as they are, so that behaviours do not depend
        on the body (RM-42): only `absent` says what is missing.

        Raises:
            UnknownName: it is not made with such a body.
        """
        if name not in self.bodies:
            raise UnknownName("Body", name, self.bodies, f"robot {self.name!r}")
        return dataclasses.replace(self, absent=self.bodies[name])

    def with_effort_limits(self, limits: Mapping[str, float]) -> "Robot":
        """Return the same robot with other torques at stiffness 1.

        Args:
            limits: joint name to torque in N·m, positive.

        Raises:
            UnknownName: a joint is not of this robot.
            BadInput: a torque is not positive and finite.
        """
        for name, value in limits.items():
            self.joint_index(name)
            if not (np.isfinite(value) and value > 0.0):
                raise BadInput(
                    f"effort limit of {name} is {value} N·m; give a positive number."
                )
        joints = tuple(
            dataclasses.replace(j, effort_limit=limits.get(j.name, j.effort_limit))
            for j in self.joints
        )
        return dataclasses.replace(self, joints=joints)


def _read_only(array: NDArray[_T]) -> NDArray[_T]:
    array.setflags(write=False)
    return array
