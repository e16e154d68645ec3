"""Interface of a robot, simulated or real: observations and commands.

`Observation` holds the contents of the robot's shared memory; `Command` holds the
inputs of its device manager: set-points, stiffness, LED fades (`LedSetting`) and a slot
of sound (`SoundChunk`). `check_command` rejects invalid commands before any part is
applied. Ground truth (the engine's state) is not part of the interface.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from math import inf, pi
from operator import attrgetter
from typing import Annotated, Protocol, get_type_hints, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import BadInput, LedGroup, Robot, Speaker, UnknownName
from nao_testbed.models.values import FloatArray, as_number, as_numbers, short


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LedSetting:
    """Colour for one LED group, reached by linear interpolation."""

    colours: FloatArray
    """(channels,) for all LEDs of the group, or (count, channels) for each of them, in
    [0, 1]; kept as a read-only copy. Three channels are red, green and blue."""
    fade_s: float = 0.0
    """Time from the present colour to this one, in s; 0: at once."""

    def __post_init__(self) -> None:
        colours = _read_only_copy("colours of LEDs", self.colours)
        if colours.ndim not in {1, 2} or colours.size == 0:
            raise BadInput(
                f"colours of LEDs have shape {colours.shape}; give (channels,) for all "
                "LEDs of a group, or (count, channels)."
            )
        _check_within("colour of an LED", colours, 0.0, 1.0)
        fade_s = as_number(self.fade_s)
        if fade_s is None or not 0.0 <= fade_s < inf:  # false for NaN
            given = short(self.fade_s) if fade_s is None else fade_s
            raise BadInput(
                f"fade of LEDs is {given} s; give 0 (at once) or a positive time."
            )
        object.__setattr__(self, "fade_s", fade_s)
        object.__setattr__(self, "colours", colours)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SoundChunk:
    """Sound of one device slot: a sound is sent as a sequence of chunks."""

    samples: FloatArray = field(repr=False)
    """(n,) in [-1, 1], one channel; kept as a read-only copy."""
    sample_rate_hz: int
    """Samples per second; must be a rate of the loudspeakers."""
    label: str
    """Text that is spoken or name of the sound, for the log."""
    is_last: bool = False
    """True for the last chunk of a sound; a sound without one was cut off."""

    def __post_init__(self) -> None:
        samples = _read_only_copy("samples of a sound", self.samples)
        if samples.ndim != 1 or samples.size == 0:
            raise BadInput(
                f"samples of a sound have shape {samples.shape}; give (n,), at least "
                "one."
            )
        _check_within("sample of a sound", samples, -1.0, 1.0)
        rate = as_number(self.sample_rate_hz)
        if rate is None or not 1.0 <= rate < inf or rate % 1.0:  # true for NaN
            given = short(self.sample_rate_hz) if rate is None else f"{rate:g}"
            raise BadInput(
                f"sample rate is {given} Hz; give a positive one, a whole number "
                "such as 16000."
            )
        object.__setattr__(self, "sample_rate_hz", int(rate))
        if not isinstance(self.label, str):
            raise BadInput(f"label of a sound is {short(self.label)}; give a text.")
        if not self.label:
            raise BadInput("a sound has no label; give one for the log.")
        object.__setattr__(self, "samples", samples)

    @property
    def length_s(self) -> float:
        """Duration in s."""
        return len(self.samples) / self.sample_rate_hz


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MotorLimit:
    """Torque bounds of joints: stiffness s, and current I of their motors.

        |tau| <= min(s tau_max, K I)

    on the motor's side of the gear friction; K is the joint's torque divided by its
    motor's current [ES2659053T3, claim 1].
    """

    stiffness: FloatArray | float
    """(n,), or one value for all, in [0, 1]."""
    current: FloatArray | float
    """(n,), or one value for all, in A, 0 or more. A value beyond the motor's range,
    tau_max / K, sets no limit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MotorTarget:
    """Set-points of a motor: angle θ* and velocity ω*.

        τ = kp (θ* - θ) + kd (ω* - ω),

    so that a moving joint does not lag behind by kd ω* / kp [ES2659053T3, claim 1]. The
    velocity holds for one slot and must be commanded again during a motion.
    """

    angle: float
    """Angle in rad, for all joints of the motor."""
    velocity: float
    """Velocity in rad/s, at most the motor's maximum."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ServoGains:
    """Gains of the servos, in place of the robot's own (`models.robot.Joint`)."""

    kp: FloatArray
    """(n_joints,) in N·m/rad, 0 or more; joints on one motor have its leader's."""
    kd: FloatArray
    """(n_joints,) in N·m·s/rad, 0 or more."""


def _read_only_copy(what: str, values: FloatArray) -> FloatArray:
    copy = as_numbers(values)
    if copy is None:
        raise BadInput(f"{what} are {short(values)}; give an array of numbers.")
    copy.setflags(write=False)
    return copy


def _check_within(
    what: str,
    values: FloatArray,
    lower: FloatArray | float,
    upper: FloatArray | float,
    unit: str = "",
    names: Sequence[str] = (),
) -> None:
    """Raise BadInput for the first of `values` outside its range."""
    inside = (values >= lower) & (values <= upper)  # false for NaN
    if inside.all():
        return
    k = int(np.argmin(inside))
    low, high = (
        np.broadcast_to(limit, values.shape).flat[k] for limit in (lower, upper)
    )
    whose = f" of {names[k]}" if names else ""
    raise BadInput(
        f"{what}{whose} is {values.flat[k]:g}{unit}; "
        f"accepted: {low:g} to {high:g}{unit}."
    )


DEVICE_SLOT_S = 0.01
"""Period of a NAO's device manager in s [naoqi-dcm]; one command per period."""


AXES = ("x", "y", "z")
Members = Callable[[Robot], tuple[str, ...]]


@dataclass(frozen=True)
class Reading:
    """Description of an observation's field, used by recordings and replays."""

    unit: str
    """Unit such as `rad`, `N·m`, `degC`; `1` for a dimensionless value."""
    members: Members
    """Names of its elements: joints, motors, force sensors or axes."""
    about: str
    """Sentence for readers of a recording."""


joints: Members = attrgetter("joint_names")
motors: Members = attrgetter("motor_names")


def axes(_robot: Robot) -> tuple[str, ...]:
    """Return x, y and z."""
    return AXES


def _names_of(part: str) -> Members:
    """Return a function for the names of a robot's `force_sensors`, or `sonars`."""
    return lambda robot: tuple(one.name for one in getattr(robot, part))


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """Sensor values, and the last commands.

    Arrays are fresh copies, one element per joint, motor, sensor or axis: a controller
    may keep them. A controller must not write into them, since recorders read the same
    arrays.

    Each sensor is a field here, described by its annotation, with a model in
    `sim.sensors`. A sensor that a robot or an old recording may lack has an empty array
    as its default.
    """

    time_s: float
    """Time since the start, in s."""
    q: Annotated[
        FloatArray, Reading("rad", joints, "Joint angles read by the encoders.")
    ]
    v: Annotated[
        FloatArray,
        Reading("rad/s", joints, "Joint velocities derived from the encoders."),
    ]
    target: Annotated[
        FloatArray,
        Reading("rad", joints, "Present set-points, including their shifts."),
    ]
    """Requested set-points plus the last shift of the controller (`Limits.shift`)."""
    stiffness: Annotated[
        FloatArray,
        Reading("1", joints, "Present fraction of the torque limit."),
    ]
    """Share in [0, 1]."""
    temperature: Annotated[
        FloatArray, Reading("degC", motors, "Motor temperature reported by the robot.")
    ]
    current: Annotated[
        FloatArray, Reading("A", motors, "Motor current, signed as the torque.")
    ]
    fsr: Annotated[
        FloatArray,
        Reading(
            "N", _names_of("force_sensors"), "Normal force on the sensors of the feet."
        ),
    ]
    gyro: Annotated[
        FloatArray,
        Reading("rad/s", axes, "Angular velocity in the frame of the IMU."),
    ]
    accelerometer: Annotated[
        FloatArray,
        Reading("m/s²", axes, "Specific force in that frame; +g up at rest."),
    ]
    sonar: Annotated[
        FloatArray,
        Reading(
            "m",
            _names_of("sonars"),
            "Distance measured by the sonars; the maximum means no echo.",
        ),
    ] = field(default_factory=lambda: np.zeros(0))
    battery: Annotated[
        FloatArray,
        Reading(
            "1", lambda _: ("charge",), "Remaining battery charge; 1 at the start."
        ),
    ] = field(default_factory=lambda: np.zeros(0))
    """(1,) in [0, 1], from the model `models.robot.Battery.charge`."""
    gravity: Annotated[
        FloatArray,
        Reading("1", axes, "Direction of gravity in the IMU's frame, by its filter."),
    ] = field(default_factory=lambda: np.zeros(0))
    """(3,) unit vector, (0, 0, -1) upright."""


READINGS: Mapping[str, Reading] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Observation, include_extras=True).items()
    if name != "time_s"
}
"""Field name of an observation to its description."""
OPTIONAL_READINGS = frozenset(
    one.name
    for one in fields(Observation)
    if one.default is not MISSING or one.default_factory is not MISSING
)
"""Fields that a robot or a recording may lack."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """Inputs of a robot; None keeps the present value."""

    target: FloatArray | None = None
    """(n_joints,) position set-points, in rad."""
    velocity: FloatArray | None = None
    """(n_joints,) velocity set-points for the targets, in rad/s; None with a target:
    0. Must be None without a target."""
    stiffness: FloatArray | None = None
    """(n_joints,) in [0, 1]."""
    current_limit: FloatArray | None = None
    """(n_joints,) maximum current of the joints' motors in A, in addition to the
    stiffness; a value beyond a motor's range, such as inf, sets no limit."""
    gains: ServoGains | None = None
    """Gains of the servos."""
    leds: Mapping[str, LedSetting] | None = None
    """LED group to its setting; other groups continue unchanged."""
    sound: SoundChunk | None = None
    """Sound for all loudspeakers from now on; None: silence after the last chunk."""


class RobotInterface(Protocol):
    """A robot that can be read, commanded and stepped."""

    @property
    def robot(self) -> Robot:
        """Robot description that defines the array order."""

    def read(self) -> Observation:
        """Return the newest sensor values."""

    def write(self, command: Command) -> None:
        """Apply set-points and stiffness from the next tick on.

        LED fades and sounds start immediately.

        Raises:
            BadInput: from `check_command`; or a sound starts while the last one is
                playing.
        """

    def step(self, ticks: int) -> None:
        """Advance by `ticks` periods of the servo (1 ms)."""

    def close(self) -> None:
        """Release the robot's resources; may be called twice."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """Image of a robot's camera, in its own pinhole model."""

    time_s: float
    """Time since the start, in s."""
    camera: str
    rgb: NDArray[np.uint8] = field(repr=False)
    """(height, width, 3), from the upper left corner."""


@runtime_checkable
class TakesPictures(Protocol):
    """Robot with cameras; observations contain no images."""

    def look(self, camera: str, width: int = 320) -> Picture:
        """Take an image now; it costs tens of milliseconds and changes no state.

        Args:
            camera: name of one of `Robot.cameras`.
            width: width of the image in pixels, at most the camera's own.

        Raises:
            UnknownName: the robot has no such camera.
            BadInput: the camera does not support that width.
        """


def check_command(command: Command, robot: Robot) -> None:
    """Validate every value of a command before any of it is applied.

    Raises:
        BadInput: a value is not finite, a stiffness outside [0, 1], a set-point outside
            the joint's range, a velocity beyond its motor's or without a target, a
            current limit below 0, or the number of values differs from the number of
            joints; LEDs or a sound do not fit the robot's (`check_leds`,
            `check_sound`).
    """
    if command.target is not None:
        check_target(command.target, robot)
    if command.velocity is not None:
        check_velocity(command.velocity, robot)
        if command.target is None:
            raise BadInput(
                "a command has set-points of velocity without those of position; give "
                "`target` beside `velocity`."
            )
    if command.stiffness is not None:
        check_stiffness(command.stiffness, robot)
    if command.current_limit is not None:
        check_current_limit(command.current_limit, robot)
    if command.gains is not None:
        check_gains(command.gains, robot)
    if command.leds is not None:
        groups = {group.name: group for group in robot.leds}
        for name, setting in command.leds.items():
            if name not in groups:
                raise UnknownName("LED group", name, groups, f"robot {robot.name!r}")
            check_leds(setting, groups[name])
    if command.sound is not None:
        check_sound(command.sound, robot.speakers)


def check_target(target: FloatArray, robot: Robot) -> FloatArray:
    """Return set-points (n_joints,) in rad, checked against their ranges, as a copy."""
    return _check_joint_values(
        "set-point", target, robot, " rad", robot.lower, robot.upper
    )


def check_velocity(velocity: FloatArray, robot: Robot) -> FloatArray:
    """Return velocity set-points (n_joints,) in rad/s as a checked copy."""
    most = np.array([joint.max_velocity for joint in robot.joints])
    what = "set-point of velocity"
    return _check_joint_values(what, velocity, robot, " rad/s", -most, most)


def check_stiffness(stiffness: FloatArray, robot: Robot) -> FloatArray:
    """Return a stiffness (n_joints,), from 0 to 1, as a checked copy."""
    return _check_joint_values("stiffness", stiffness, robot, "", 0.0, 1.0)


def check_current_limit(current: FloatArray, robot: Robot) -> FloatArray:
    """Return current limits (n_joints,) in A, 0 or more, as a checked copy."""
    return _check_joint_values("current limit", current, robot, " A", 0.0, inf)


def check_gains(gains: ServoGains, robot: Robot) -> None:
    """Raise BadInput if a gain is below 0 or not finite, or their number is wrong."""
    largest = np.finfo(np.float64).max
    _check_joint_values("kp", gains.kp, robot, " N·m/rad", 0.0, largest)
    _check_joint_values("kd", gains.kd, robot, " N·m·s/rad", 0.0, largest)


def own_gains(robot: Robot) -> ServoGains:
    """Return the gains of a robot's own servos."""
    joints = robot.joints
    return ServoGains(
        kp=np.array([joint.kp for joint in joints]),
        kd=np.array([joint.kd for joint in joints]),
    )


def check_shift(shift: FloatArray, robot: Robot) -> FloatArray:
    """Return a shift (n_joints,), at most half a turn, as a checked copy."""
    return _check_joint_values("shift of the set-point", shift, robot, " rad", -pi, pi)


def check_leds(setting: LedSetting, group: LedGroup) -> None:
    """Raise BadInput if the channels or the count differ from those of a group."""
    n = group.n_channels
    if setting.colours.shape not in {(n,), (group.count, n)}:
        raise BadInput(
            f"colours for {group.name} have shape {setting.colours.shape}; give ({n},) "
            f"or ({group.count}, {n}): it is {group.count} LEDs, {group.channels}."
        )


def check_sound(sound: SoundChunk, speakers: Iterable[Speaker]) -> None:
    """Raise BadInput for an unsupported sample rate, or without a loudspeaker."""
    rates = [set(speaker.sample_rates_hz) for speaker in speakers]
    if not rates:
        raise BadInput(f"sound {sound.label!r} on a robot without a loudspeaker.")
    common = sorted(set.intersection(*rates))
    if sound.sample_rate_hz not in common:
        raise BadInput(
            f"sound {sound.label!r} has {sound.sample_rate_hz} samples a second; the "
            f"loudspeakers play {', '.join(map(str, common))}."
        )


def _check_joint_values(
    what: str,
    values: FloatArray,
    robot: Robot,
    unit: str,
    lower: FloatArray | float,
    upper: FloatArray | float,
) -> FloatArray:
    n = len(robot.joints)
    numbers = as_numbers(values)
    if numbers is None:
        raise BadInput(
            f"{what} is {short(values)}; give ({n},) numbers, one per joint."
        )
    if numbers.shape != (n,):
        raise BadInput(f"{what} has shape {numbers.shape}; give ({n},), one per joint.")
    _check_within(what, numbers, lower, upper, unit, robot.joint_names)
    return numbers
