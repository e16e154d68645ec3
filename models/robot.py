"""Description of a robot: links, joints, motors, sensors and devices as frozen data.

All packages share it. `models.load_robot` reads a robot from its folder;
`models.values` defines the accepted values of its files. This module neither reads
files nor moves anything. Joints keep one order everywhere, that of `joints.csv`; servos
and motors keep the order of their leading joints.

**Servos and motors.** A servo takes a set-point and a stiffness. It moves one joint, or
two that one shaft couples (the hip yaw-pitch joints of a NAO). Most servos have one
motor. Some robots drive k joints by k motors together: two motors of a G1 turn pitch
and roll of an ankle. Set-points, gains and stiffness are those of joints; torques,
currents, friction and heat are those of motors. With the speeds ω of the gears' outputs
and the joint speeds v, the constant matrix G gives (virtual work)

    v = G ω,        τ_m = Gᵀ τ.

On most robots motors drive such joints by rods, and G varies with the angles; a
constant G is computed at the middle of the joint ranges.
"""

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from nao_testbed.models.errors import BadInput, UnknownName
from nao_testbed.models.library import Library
from nao_testbed.models.resources import DeviceKind, ResourceNode
from nao_testbed.models.roles import (
    POSTURE_ROLES,
    MissingRole,
    PostureRole,
    Roles,
    Side,
    StrictPart,
    Thresholds,
)
from nao_testbed.models.values import Name, NotNegative, Positive, Real

Vector3 = tuple[float, float, float]
Thermal = Literal["published", "identified", "estimate"]


def are_watts_guesses(thermal: object) -> bool:
    """Return True if only ratios of powers are meaningful.

    Args:
        thermal: origin of the motor constants (`Robot.thermal`); None: as published.
    """
    return thermal == "estimate"


@dataclass(frozen=True, kw_only=True)
class Link:
    """Rigid body."""

    name: str
    mass: float
    """Mass in kg."""
    com: Vector3
    """Centre of mass in the link frame, in m."""


@dataclass(frozen=True, kw_only=True)
class JointNumbers:
    """Columns of `joints.csv`: limits of a joint, and parameters of its servo."""

    name: Name
    motor: Name
    """Leading joint of its servo: its own name, or that of the joint it follows."""
    lower: Real
    """Lower mechanical stop in rad."""
    upper: Real
    """Upper mechanical stop in rad."""
    max_velocity: Positive
    """Largest velocity in rad/s."""
    effort_limit: Positive
    """Torque in N·m that the joint may give at stiffness 1."""
    kp: Positive
    """Position gain of the servo in N·m/rad."""
    kd: NotNegative
    """Velocity gain of the servo in N·m·s/rad."""
    friction: NotNegative
    """Coulomb friction of gear and brushes, joint side, in N·m."""
    presliding_stiffness: Positive
    """Stiffness of the stuck gear in N·m/rad: friction rises over friction / this."""
    servo_step: NotNegative
    """Angle step in rad of the servo (step of the motor-side encoder / gear ratio)."""
    encoder_step: NotNegative
    """Angle step in rad of the joint-side encoder, used in observations."""


@dataclass(frozen=True, kw_only=True)
class Joint(JointNumbers):
    """Revolute degree of freedom."""

    parent: str
    """Link that holds the joint."""
    link: str
    """Link that the joint moves."""


@dataclass(frozen=True, kw_only=True)
class ContactPoint:
    """Point of the body that may touch the ground."""

    name: str
    link: str
    position: Vector3
    """Position in the link frame, in m."""
    effector: str
    """Body part of the point: LFoot, RFoot, LButtock, Back, Head, LElbow..."""
    fsr: str | None
    """Force sensor at this point; None: contact is detected by distance only."""


@dataclass(frozen=True, kw_only=True)
class OneNodeHeating:
    """Model C dT/dt = R i² - λ (T - Tₑ), i = τ / K, identified on the joint side."""

    torque_constant: Positive
    """K, joint torque over current, in N·m/A."""
    resistance: Positive
    """R in Ω, at the ambient temperature of the identification."""
    conductance: Positive
    """λ to the ambient, in W/K."""
    heat_capacity: Positive
    """C in J/K."""
    ambient_degc: Real
    """Tₑ in °C."""


@dataclass(frozen=True, kw_only=True)
class TwoNodeHeating:
    """Winding in a housing in still air; P = k τm² at 25 °C on the motor shaft."""

    joule_constant: Positive
    """k = R / Kt² in W/(N·m)², on the motor shaft."""
    resistance_winding_housing: Positive
    """Thermal resistance winding to housing in K/W."""
    resistance_housing_ambient: Positive
    """Thermal resistance housing to ambient in K/W."""
    time_constant_winding: Positive
    """Winding heat capacity times its resistance to the housing, in s."""
    time_constant_housing: Positive
    """Housing heat capacity times its resistance to the ambient, in s."""
    max_winding_degc: Positive
    """Largest winding temperature in °C."""


@dataclass(frozen=True, kw_only=True)
class MotorType:
    """Columns of `motor_types.csv`: a catalogue motor."""

    type: Name
    """Maker's designation."""
    stall_torque: Positive
    """Stall torque on the motor shaft at nominal voltage, in N·m."""
    no_load_speed: Positive
    """No-load speed on the motor shaft at nominal voltage, in rad/s."""
    torque_constant: Positive
    """Kt on the motor shaft, in N·m/A."""
    terminal_resistance: Positive
    """R at 25 °C, in Ω."""
    rotor_inertia: Positive
    """J of the rotor, in kg·m²."""


@dataclass(frozen=True, kw_only=True)
class Motor(MotorType):
    """Electric motor with its gear; drives one joint, coupled ones, or shares some."""

    name: Name
    """Name of its leading joint; its own name if other motors drive this joint too."""
    joints: tuple[str, ...]
    """Joints that it drives, leading joint first."""
    ratios: tuple[float, ...]
    """Its column of G: turns of each joint for one turn of the gear's output."""
    gear_ratio: Positive
    """Motor turns for one turn of the gear's output."""
    one_node: OneNodeHeating
    two_node: TwoNodeHeating

    @property
    def armature(self) -> float:
        """Rotor inertia reflected to the gear's output, J N², in kg·m²."""
        return self.rotor_inertia * self.gear_ratio**2


@dataclass(frozen=True, kw_only=True)
class ForceSensor:
    """Force-sensing resistor under a sole; measures the normal force only."""

    name: str
    link: str
    position: Vector3
    """Position in the link frame, in m."""
    range_newton: float
    """Largest reading, in N."""
    step_newton: float
    """Resolution, in N."""
    noise_newton: float
    """Standard deviation of its noise, in N."""


@dataclass(frozen=True, kw_only=True)
class Imu(StrictPart):
    """Gyroscope and accelerometer on one link; accelerometer axes parallel to it."""

    link: Name
    position: tuple[Real, Real, Real]
    """Position in the link frame, in m."""
    accelerometer_range: Positive
    """Range of the accelerometer in m/s²."""
    accelerometer_noise: NotNegative
    """Standard deviation of the accelerometer's noise in m/s²."""
    accelerometer_gain_error: NotNegative
    """Largest relative gain error (the data sheet's precision)."""
    gyro_range: Positive
    """Range of the gyroscope in rad/s."""
    gyro_noise: NotNegative
    """Standard deviation of the gyroscope's noise in rad/s."""
    gyro_gain_error: NotNegative
    """Largest relative gain error."""


@dataclass(frozen=True, kw_only=True)
class SensorRates(StrictPart):
    """Sampling periods of the sensors, in s, and small noises."""

    encoder_period: Positive
    current_period: Positive
    imu_period: Positive
    fsr_period: Positive
    temperature_period: Positive
    current_noise: NotNegative
    """Standard deviation of the current's noise in A."""
    temperature_step: NotNegative
    """Resolution of the temperature in K."""
    sonar_period: Positive = 0.1


@dataclass(frozen=True, kw_only=True)
class Sonar(StrictPart):
    """Ultrasonic sensor; its beam runs along x of its own frame."""

    name: Name
    link: Name
    position: tuple[Real, Real, Real]
    """Position in the link frame, in m; distances are measured from here."""
    rpy: tuple[Real, Real, Real]
    """Roll, pitch, yaw of its frame in that of the link, in rad."""
    cone: Annotated[Real, Field(gt=0.0, lt=3.0)]
    """Full angle of the beam in rad."""
    least: Positive
    """Smallest measurable distance, in m; nearer objects give this reading."""
    largest: Positive
    """Reading without an echo, in m."""
    step: NotNegative
    """Resolution in m."""
    incidence: Annotated[Real, Field(gt=0.0, lt=1.5708)]
    """Angle from a surface's normal in rad above which the sound gives no echo."""


@dataclass(frozen=True, kw_only=True)
class TouchSensor(StrictPart):
    """Touch sensor, bumper or button."""

    link: Name
    position: tuple[Real, Real, Real]
    """Position in the link frame, in m."""


@dataclass(frozen=True, kw_only=True)
class VideoCamera(StrictPart):
    """Camera; it looks along x of its own frame, z upwards in the picture."""

    name: Name
    link: Name
    position: tuple[Real, Real, Real]
    """Position in the link frame, in m."""
    rpy: tuple[Real, Real, Real]
    """Roll, pitch, yaw of its frame in that of the link, in rad."""
    vertical_fov: Annotated[Real, Field(gt=0.0, lt=3.0)]
    """Vertical field of view in rad; the horizontal one follows from square pixels."""
    width: Annotated[int, Field(gt=0)]
    """Width of its full picture in pixels."""
    height: Annotated[int, Field(gt=0)]


@dataclass(frozen=True, kw_only=True)
class LedGroup:
    """LEDs that are set together."""

    name: str
    link: str
    count: int
    channels: str
    """`rgb`, `blue` or `white`."""
    levels: int
    """Number of brightness levels of a channel, including dark."""
    place: Vector3 | None = None
    """Centre of the LEDs in the link frame, in m; None if unknown."""

    @property
    def n_channels(self) -> int:
        """Number of channels of one LED: three for `rgb`, otherwise one."""
        return len(self.channels) if self.channels == "rgb" else 1


@dataclass(frozen=True, kw_only=True)
class Speaker(StrictPart):
    """Loudspeaker."""

    name: Name
    link: Name
    sample_rates_hz: tuple[Annotated[int, Field(gt=0)], ...]


IDLE_WATT, DRIVE_EFFICIENCY = 25.0, 0.85
"""Estimates without data of a robot. The NAO's data sheet gives 90 min of normal use,
which is 41.7 W including the motors."""


@dataclass(frozen=True, kw_only=True)
class Battery(StrictPart):
    """Supply that bounds motor speed."""

    nominal_volt: Positive
    max_volt: Positive
    max_discharge_ampere: Positive
    capacity_watt_hour: Positive
    idle_watt: Positive = IDLE_WATT
    """Power of computers, sensors and lights."""
    drive_efficiency: Annotated[float, Field(gt=0.0, le=1.0)] = DRIVE_EFFICIENCY
    """Efficiency of the motors' drives."""

    def charge(self, time_s: float, motors_j: float) -> float:
        """Return the charge of a battery that was full at t = 0, as a fraction.

            charge = 1 - (P0 t + W / η) / E

        An estimate: cells neither age nor cool.

        Args:
            time_s: t in s.
            motors_j: W, heat and work of all motors since t = 0, in J.
        """
        used_j = self.idle_watt * time_s + motors_j / self.drive_efficiency
        return max(0.0, 1.0 - used_j / (3600.0 * self.capacity_watt_hour))


_T = TypeVar("_T", bound=np.generic)
RoleT = TypeVar("RoleT")
_NO_RESOURCES = ResourceNode(name="root")


@dataclass(frozen=True, kw_only=True)
class Posture:
    """Stored typical posture."""

    name: str
    angles: NDArray[np.float64]
    """(n_joints,) in rad."""
    effectors: tuple[str, ...]
    """Body parts that carry the robot; empty for a posture that is not typical."""
    offset: float | None
    """Stiffness offset of the posture, or None for the default."""
    status: str
    """`published` or `estimate`."""
    state: str | None = None
    """State resource of a robot in this posture, or None."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Robot:
    """Humanoid as data. Arrays are read-only and in joint (or motor) order."""

    name: str
    folder: Path
    urdf: Path
    base_link: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    motors: tuple[Motor, ...]
    contact_points: tuple[ContactPoint, ...]
    feet: tuple[str, ...]
    """Effectors that are feet."""
    contact_threshold: float
    """Distance to the lowest point up to which a point counts as a contact (730), in
    m."""
    force_sensors: tuple[ForceSensor, ...]
    imu: Imu
    sensor_rates: SensorRates
    groups: Mapping[str, tuple[str, ...]]
    """Joint groups: Head, LArm, RArm, LLeg, RLeg, Body..."""
    postures: Mapping[str, Posture]
    leds: tuple[LedGroup, ...]
    speakers: tuple[Speaker, ...]
    battery: Battery
    sonars: tuple[Sonar, ...] = ()
    cameras: tuple[VideoCamera, ...] = ()
    touch_sensors: Mapping[str, TouchSensor] = field(default_factory=dict)
    """Touch sensors, bumpers and buttons, by name."""
    resources: ResourceNode = _NO_RESOURCES
    """Root of the tree of resources for behaviours."""
    bodies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Body types of the robot, each with the resources that it lacks."""
    absent: tuple[str, ...] = ()
    """Resources (leaves or composites) that this body lacks."""
    library: Library = field(default_factory=Library)
    """Stored actions."""
    thermal: Thermal = "published"
    """Origin of the motors' torque constants, resistances and heating. With `estimate`
    only ratios of powers are meaningful, and tables show powers relative to `fixed`."""
    roles: Roles = field(default_factory=Roles)
    """Parts and postures by their use."""
    protection: Thresholds | None = None
    """Its own thermal protection; None: not known."""

    notes: tuple[str, ...] = ()
    """Sentences for the user on what was replaced in its URDF."""

    def __repr__(self) -> str:
        """Return one line for tracebacks; the tables would fill a page."""
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
    def servos(self) -> Mapping[str, tuple[str, ...]]:
        """Leading joint of each servo, in motor order, to its joints, itself first."""
        leads = {joint.name: [joint.name] for joint in self.joints}
        for joint in self.joints:
            if joint.motor != joint.name:
                leads[joint.motor] += leads.pop(joint.name)
        return {name: tuple(joints) for name, joints in leads.items()}

    @cached_property
    def servo_names(self) -> tuple[str, ...]:
        """(n_motors,) leading joints of the servos, in motor order."""
        return tuple(self.servos)

    @cached_property
    def servo_of_joint(self) -> NDArray[np.intp]:
        """(n_joints,) index of the servo that moves each joint."""
        index = {name: i for i, name in enumerate(self.servo_names)}
        return _read_only(
            np.array([index[j.motor] for j in self.joints], dtype=np.intp)
        )

    @cached_property
    def lead_joints(self) -> NDArray[np.intp]:
        """(n_motors,) index of the leading joint of each servo."""
        return _read_only(np.array([self.joint_index(n) for n in self.servo_names]))

    @cached_property
    def transmission(self) -> NDArray[np.float64]:
        """(n_motors, n_joints) Gᵀ: τ_m = Gᵀ τ."""
        table = np.zeros((len(self.motors), len(self.joints)))
        for m, motor in enumerate(self.motors):
            for name, ratio in zip(motor.joints, motor.ratios, strict=True):
                table[m, self.joint_index(name)] = ratio
        return _read_only(table)

    @cached_property
    def is_parallel(self) -> NDArray[np.bool_]:
        """(n_motors,) True for a motor whose joints other motors drive too.

        The servo at the same place is that of one of these joints.
        """
        drives = self.transmission != 0.0
        return _read_only((drives @ drives.T).sum(axis=1) > 1)

    @cached_property
    def inverse_transmission(self) -> NDArray[np.float64]:
        """(n_motors, n_joints) G⁺: angles and speeds of motors ω = G⁺ v.

        A motor that couples joints gives each an equal share of its torque and turns by
        the mean of their angles.
        """
        ratios = self.transmission
        inverse = ratios / (ratios * ratios).sum(axis=1, keepdims=True)
        m, j = self.is_parallel, self.lead_joints[self.is_parallel]
        inverse[np.ix_(m, j)] = np.linalg.inv(ratios[np.ix_(m, j)].T)
        return _read_only(inverse)

    def motor_speeds(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return speeds of the gears' outputs (n_motors,) in rad/s.

        Args:
            v: (n_joints,) measured in rad/s; of coupled joints the leading one counts.
        """
        speeds: NDArray[np.float64] = self.inverse_transmission @ v
        return np.where(self.is_parallel, speeds, v[self.lead_joints])

    @cached_property
    def servo_torques(self) -> NDArray[np.float64]:
        """(n_motors, n_motors) torques of the servos for torques of the motors.

        That of a servo with parallel motors is its joint's, G⁻ᵀ τ_m; of others τ_m.
        """
        table = np.eye(len(self.motors))
        m = self.is_parallel
        inverse = self.inverse_transmission[np.ix_(m, self.lead_joints[m])]
        table[np.ix_(m, m)] = inverse.T
        return _read_only(table)

    def torque_per_current(
        self, torque_constant: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the torque of each joint (n_joints,) for 1 A in its motors, in N·m/A.

        Args:
            torque_constant: (n_motors,) K at the gears' outputs. Of parallel motors the
                one with the larger current counts, while the joint alone is loaded.
        """
        share = np.abs(self.transmission.T)
        with np.errstate(divide="ignore"):
            constants: NDArray[np.float64] = (torque_constant / share).min(axis=1)
        return constants

    @cached_property
    def motors_of_joint(self) -> NDArray[np.intp]:
        """(n_joints, k) indices of the motors that drive each joint, repeated to k."""
        found = [np.flatnonzero(column) for column in self.transmission.T]
        most = max(map(len, found))
        return _read_only(np.array([np.resize(motors, most) for motors in found]))

    def largest_of_joint(self, values: NDArray[_T]) -> NDArray[_T]:
        """Return the largest value (n_joints,) of each joint's motors (n_motors,)."""
        largest: NDArray[_T] = values[self.motors_of_joint].max(axis=1)
        return largest

    def motors_of(self, joints: Collection[str]) -> NDArray[np.intp]:
        """Return the sorted indices of the motors that drive these joints."""
        columns = [self.joint_index(name) for name in joints]
        return np.flatnonzero((self.transmission[:, columns] != 0.0).any(axis=1))

    @cached_property
    def heat_names(self) -> tuple[str, ...]:
        """(n_joints,) rows of tables of heat: joints, or names of parallel motors.

        Row i is about the motor at place `servo_of_joint[i]`.
        """
        return tuple(
            self.motor_names[m] if self.is_parallel[m] else joint.name
            for joint, m in zip(self.joints, self.servo_of_joint, strict=True)
        )

    @cached_property
    def armature(self) -> NDArray[np.float64]:
        """(n_joints,) rotor inertia at each joint in kg·m²; divided if coupled.

        Of parallel motors it is the diagonal of G⁻ᵀ J N² G⁻¹. The rest, which engines
        cannot take, is 0 for equal motors of a symmetric differential.
        """
        rotor = np.array([motor.armature for motor in self.motors])
        share = rotor / np.array([len(motor.joints) for motor in self.motors])
        of_joint: NDArray[np.float64] = share[self.servo_of_joint]
        m = self.is_parallel
        diagonal = (self.inverse_transmission[m] ** 2).T @ rotor[m]
        return _read_only(np.where(diagonal > 0.0, diagonal, of_joint))

    @cached_property
    def motor_friction(self) -> NDArray[np.float64]:
        """(n_motors,) Coulomb friction of each motor at its gear's output, in N·m.

        `joints.csv` has that of a joint which moves alone, Σ |G⁺_mj| f_m of parallel
        motors; f is the smallest that gives these.
        """
        return self._per_motor("friction", np.abs(self.inverse_transmission))

    @cached_property
    def motor_presliding(self) -> NDArray[np.float64]:
        """(n_motors,) stiffness of each stuck gear at its output, in N·m/rad.

        That of a joint with parallel motors is Σ (G⁺_mj)² k_m.
        """
        stiffness = self._per_motor(
            "presliding_stiffness", self.inverse_transmission**2
        )
        return stiffness

    def _per_motor(self, name: str, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n_motors,) x with shareᵀ x = that number of the joints."""
        of_joint = np.array([getattr(joint, name) for joint in self.joints])
        mean: NDArray[np.float64] = self.inverse_transmission @ of_joint
        m, j = self.is_parallel, self.lead_joints[self.is_parallel]
        mean[m] = np.linalg.pinv(share[np.ix_(m, j)].T) @ of_joint[j]
        return _read_only(np.maximum(mean, 0.0))

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
    def motor_effort_limit(self) -> NDArray[np.float64]:
        """(n_motors,) torque in N·m for one joint at stiffness 1."""
        most = (np.abs(self.transmission) * self.effort_limit).max(axis=1)
        lead = self.effort_limit[self.lead_joints]
        return _read_only(np.where(self.is_parallel, most, lead))

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

    def leg(self, side: Side) -> tuple[str, ...]:
        """Return the joints of a leg by the role `legs`; empty without it."""
        names = self.roles.legs.get(side, ())
        return tuple(
            joint for name in names for joint in self.groups.get(name, (name,))
        )

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
        """True if this body has every joint between its base and its feet."""
        return not set(self.leg_joints) & set(self.absent_joints)

    @property
    def total_mass(self) -> float:
        """Sum of the link masses in kg."""
        return sum(link.mass for link in self.links)

    def _need(self, kind: str, name: str, known: Collection[str]) -> None:
        if name not in known:
            raise UnknownName(kind, name, known, f"robot {self.name!r}")

    def joint_index(self, name: str) -> int:
        """Return the index of a joint in joint arrays.

        Raises:
            UnknownName: no joint has this name.
        """
        self._need("Joint", name, self.joint_names)
        return self.joint_names.index(name)

    def motor_index(self, name: str) -> int:
        """Return the index of a motor in motor arrays.

        Raises:
            UnknownName: no motor has this name.
        """
        self._need("Motor", name, self.motor_names)
        return self.motor_names.index(name)

    def posture(self, name: str) -> Posture:
        """Return a stored posture by its name or role.

        Raises:
            MissingRole: the robot has no posture with this role.
            UnknownName: no posture has this name.
        """
        stored = self.posture_name(name)
        if stored in POSTURE_ROLES and stored not in self.postures:
            raise MissingRole(self.name, f"postures.{stored}", f"posture {stored!r}")
        self._need("Posture", stored, self.postures)
        return self.postures[stored]

    def posture_name(self, requested: str | None, role: PostureRole = "default") -> str:
        """Return the name of a posture that is given by its name or role, unchecked.

        None is that of `role`, or else of the role `default`, or else the first one.
        """
        roles: Mapping[Any, str] = self.roles.postures
        if requested is None:
            first = next(iter(self.postures))
            return roles.get(role, roles.get("default", first))
        is_stored = requested in self.postures
        return requested if is_stored else roles.get(requested, requested)

    def head(self, feature: str) -> tuple[str, str]:
        """Return the joints that pan and tilt the head; raise `MissingRole`."""
        return self.need_role(self.roles.head, "head", feature).joints

    def need_role(self, value: RoleT | None, role: str, feature: str) -> RoleT:
        """Return the value of a role, a field of `roles`, for a feature.

        Raises:
            MissingRole: it is None or empty.
        """
        if not value:
            raise MissingRole(self.name, role, feature)
        return value

    def with_body(self, name: str) -> "Robot":
        """Return the same robot with a body that lacks some parts.

        Joints, links and resources are unchanged, so that behaviours do not depend on
        the body: only `absent` lists the missing parts.

        Raises:
            UnknownName: the robot has no such body.
        """
        self._need("Body", name, self.bodies)
        return dataclasses.replace(self, absent=self.bodies[name])

    def with_effort_limits(self, limits: Mapping[str, float]) -> "Robot":
        """Return the same robot with other torques at stiffness 1.

        Args:
            limits: joint name to torque in N·m, positive.

        Raises:
            UnknownName: the robot has no such joint.
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


def max_speed(robot: Robot, motor: str) -> float:
    """Return the largest speed of a servo in rad/s: that of its slowest joint."""
    return min(joint.max_velocity for joint in robot.joints if joint.motor == motor)


def angle_range(robot: Robot, motor: str) -> tuple[float, float]:
    """Return the range in rad that all joints of a servo share."""
    joints = [joint for joint in robot.joints if joint.motor == motor]
    return max(joint.lower for joint in joints), min(joint.upper for joint in joints)
