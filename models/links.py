"""What a body is made of: links, the joints between them, the points that touch."""

from dataclasses import dataclass

Vector3 = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Link:
    """One rigid body."""

    name: str
    mass: float
    """Mass in kg."""
    com: Vector3
    """Centre of mass in the link frame, in m."""


@dataclass(frozen=True, kw_only=True)
class Joint:
    """One revolute degree of freedom, with what its servo needs."""

    name: str
    parent: str
    """Link that the joint hangs on."""
    link: str
    """Link that the joint moves."""
    lower: float
    """Lower mechanical stop in rad."""
    upper: float
    """Upper mechanical stop in rad."""
    max_velocity: float
    """Largest velocity in rad/s."""
    effort_limit: float
    """Torque in N·m that the joint may give at stiffness 1 (ST-3)."""
    motor: str
    """Name of the motor that drives it."""
    kp: float
    """Position gain of the servo in N·m/rad."""
    kd: float
    """Velocity gain of the servo in N·m·s/rad."""
    friction: float
    """Coulomb friction of gear and brushes, joint side, in N·m."""
    presliding_stiffness: float
    """Stiffness of the stuck gear in N·m/rad: friction rises over friction / this."""
    servo_step: float
    """Angle step in rad that the servo sees (motor-side encoder over the gear)."""
    encoder_step: float
    """Angle step in rad of the joint-side encoder, as the observation shows it."""


@dataclass(frozen=True, kw_only=True)
class ContactPoint:
    """A point of the body that may touch the ground (ST-11)."""

    name: str
    link: str
    position: Vector3
    """In the link frame, in m."""
    effector: str
    """The body part it belongs to: LFoot, RFoot, LButtock, Back, Head, LElbow..."""
    fsr: str | None
    """The force sensor at this point, or None where only the distance tells."""
