"""Simulated robot behind the robot interface: engine, servos, sensors, heat.

`SimulationCfg` defines a simulation, together with the robot; `Truth` and `Snapshot`
hold data that only the simulator knows.

One tick is one physics step: read the true joint state, compute torques in the servos,
step the engine, sample the sensors that are due. Heat is integrated every 20 ms with
the mean squared torque of the ticks in between.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.interface.robot_interface import (
    Command,
    Observation,
    Picture,
    check_command,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body import Body
from nao_testbed.sim.body.stiffness import EffectiveStiffness, current_limits_of
from nao_testbed.sim.effectors import SimulatedLeds, SimulatedSpeaker, SpeakerState
from nao_testbed.sim.engine.interface import (
    Contact,
    Engine,
    FeatureMissing,
    ObstacleContact,
)
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.recording.recorder import LastSecond
from nao_testbed.sim.sensors import SensorCfg, Sensors
from nao_testbed.sim.sensors.cameras import take_picture
from nao_testbed.sim.servo import ServoCfg
from nao_testbed.sim.thermal import HeatingCfg, make_heating
from nao_testbed.sim.thermal.motor_heat import MotorHeat
from nao_testbed.sim.thermal.protection import make_protection


@dataclass(frozen=True, kw_only=True)
class SimulationCfg:
    """Settings of world, motor boards, sensors, heat, and defects of the robot."""

    world: WorldCfg = field(default_factory=WorldCfg)
    servo: ServoCfg = field(default_factory=ServoCfg)
    sensors: SensorCfg = field(default_factory=SensorCfg)
    heating: HeatingCfg = field(default_factory=HeatingCfg)
    protection: str = "none"
    """Thermal protection: `none`, `robot`, `nao` or `document`."""
    current_limit_a: Mapping[str, float] = field(default_factory=dict)
    """Joint to permanent current limit of its motor board in A."""
    misalignment_deg: Mapping[str, float] = field(default_factory=dict)
    """Joint to calibration error in degrees: true angle minus measured angle."""
    start_degc: Mapping[str, float] = field(default_factory=dict)
    """Joint to start temperature of its motor, in °C."""
    other_start_degc: float = 30.0
    """Start temperature of all other motors, in °C."""
    seed: int = 0
    """Seed of all noise."""

    def __post_init__(self) -> None:
        """Check that the engine has the motors of the servo.

        Raises:
            FeatureMissing: PyBullet's own motors are requested in another engine.
        """
        if self.servo.kind == "pybullet" and self.world.engine != "pybullet":
            raise FeatureMissing(
                self.world.engine, "servo 'pybullet'", "use --servo torque"
            )


def misalignment_of(robot: Robot, degrees: Mapping[str, float]) -> FloatArray:
    """Return calibration errors (n_joints,) in rad from joint names and degrees.

    Raises:
        BadInput: an unknown joint, or an error beyond the joint's range.
    """
    errors = np.zeros(len(robot.joints))
    for name, value in degrees.items():
        joint = robot.joints[robot.joint_index(name)]
        span = np.rad2deg(joint.upper - joint.lower)
        if not (np.isfinite(value) and abs(value) <= span):
            raise BadInput(
                f"misalignment of {name} is {value} degrees; its range from "
                f"{np.rad2deg(joint.lower):.1f} to {np.rad2deg(joint.upper):.1f} "
                f"allows at most ±{span:.1f} degrees."
            )
        errors[robot.joint_index(name)] = np.deg2rad(value)
    return errors


def start_temperatures(
    robot: Robot, start_degc: Mapping[str, float], other_degc: float
) -> FloatArray:
    """Return start temperatures (n_motors,) in °C.

    Raises:
        BadInput: an unknown joint, or a temperature outside [-20, 150] °C.
    """
    temperatures = np.full(len(robot.motors), other_degc)
    for name, value in start_degc.items():
        temperatures[robot.motors_of([name])] = value
    for name, value in zip(robot.motor_names, temperatures, strict=True):
        if not (np.isfinite(value) and -20.0 <= value <= 150.0):
            raise BadInput(
                f"start temperature of {name} is {value} °C; give one in [-20, 150]."
            )
    return temperatures


def _check_force(link: str, force: FloatArray) -> None:
    if np.shape(force) != (3,):
        raise BadInput(
            f"a push of {link} is {force} N; give three numbers: x, y, z in the world."
        )


@dataclass(frozen=True, kw_only=True)
class Truth:
    """State of the engine: for tests and reports, never for controllers."""

    time_s: float
    q: FloatArray
    """(n_joints,) true angles in rad."""
    v: FloatArray
    """(n_joints,) true velocities in rad/s."""
    joint_torque: FloatArray
    """(n_joints,) torque on the link after gear friction, in N·m."""
    motor_torque: FloatArray
    """(n_motors,) joint-side motor torque before gear friction, in N·m."""
    base_position: FloatArray
    base_quaternion: FloatArray
    """x y z w."""
    base_velocity: FloatArray
    """(6,) velocity of the base's centre of mass in m/s, and angular velocity in rad/s;
    world."""
    contacts: tuple[Contact, ...]
    """Contacts with the ground."""
    obstacle_contacts: tuple[ObstacleContact, ...]
    temperature: FloatArray
    """(n_motors,) in °C."""
    has_fallen: bool


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Complete state for `restore`; created by `SimulatedRobot.snapshot`."""

    engine: int
    tick: int
    heat_done: int
    arrays: tuple[NDArray[Any], ...]
    rng: Mapping[str, object]
    speaker: SpeakerState


class SimulatedRobot:
    """Robot in a physics engine; implements `RobotInterface`.

    Use: construct (the robot rests in the posture, set-points equal to encoder
    readings, stiffness 1), then `write`, `step`, `read` in turn; `close` at the end.
    """

    def __init__(self, robot: Robot, cfg: SimulationCfg, posture: str) -> None:
        """Build the world and place the robot in a posture.

        Raises:
            BadInput: a value of the configuration cannot be used.
        """
        self._robot = robot
        self.cfg = cfg
        self.dt = cfg.world.physics_dt
        self._misalignment = misalignment_of(robot, cfg.misalignment_deg)
        self.heating = make_heating(robot, cfg.heating)
        self.heating.reset(
            start_temperatures(robot, cfg.start_degc, cfg.other_start_degc)
        )
        self._heat = MotorHeat(self.heating, self.dt)
        self.protection = make_protection(cfg.protection, robot)
        self.leds = SimulatedLeds(robot, self.dt, lambda: self.tick)
        self.speaker = SimulatedSpeaker()
        self._body = Body(robot, cfg.world, cfg.servo, self._misalignment, posture)
        self._servo = self._body.servo
        self._stiffness = EffectiveStiffness(
            robot,
            self.protection,
            self._servo.limit,
            self._servo.parallel.limit,
            self.heating.torque_constant,
            current_limits_of(robot, cfg.current_limit_a),
        )
        self._rng = np.random.default_rng(cfg.seed)
        self._sensors = Sensors(
            robot,
            self.engine,
            cfg.sensors,
            self._misalignment,
            self.heating.torque_constant,
            self._rng,
        )
        self._sensors.start(self._body.q, self.heating.temperature)
        self._stiffness.put(self._sensors.temperature)

    # -- the robot interface ------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The description that the arrays follow."""
        return self._robot

    @property
    def tick(self) -> int:
        """Ticks since the start."""
        return int(self._body.clock[0])

    @property
    def time_s(self) -> float:
        """Simulated time in s."""
        return self.tick * self.dt

    @property
    def engine(self) -> Engine:
        """Physics engine: for measurements and tests, never for controllers."""
        return self._body.engine

    @property
    def last_second(self) -> LastSecond:
        """True angles, velocities and joint torques of each tick of the last second."""
        return self._body.last_second

    @property
    def mean_square(self) -> FloatArray:
        """(n_motors,) mean squared motor torque of the last 20 ms, in N²m² (a view)."""
        return self._heat.mean_square

    @property
    def motors_j(self) -> float:
        """Energy of all motors since the start, heat and work, in J."""
        return float(self.heating.joule_energy.sum() + self._servo.work.sum())

    @property
    def current_limit(self) -> FloatArray:
        """(n_joints,) active current limit in A, at most the motor's range."""
        return self._stiffness.current_limit.copy()

    @property
    def limits_current(self) -> bool:
        """True if the current of any motor is limited below its range."""
        return self._stiffness.limits_current

    @property
    def q(self) -> FloatArray:
        """(n_joints,) true angles in rad (a view); for records, never controllers."""
        return self._body.q

    @property
    def v(self) -> FloatArray:
        """(n_joints,) true velocities in rad/s (a view); for records only."""
        return self._body.v

    @property
    def joint_torque(self) -> FloatArray:
        """(n_joints,) torques on the links in the last tick in N·m (a view)."""
        return self._servo.joint_torque

    @property
    def motor_torque(self) -> FloatArray:
        """(n_motors,) joint-side motor torques of the last tick in N·m (a view)."""
        return self._servo.motor_torque

    @property
    def misalignment(self) -> FloatArray:
        """(n_joints,) true angle minus measured angle in rad; a copy."""
        return self._misalignment.copy()

    def set_misalignment(self, joint: str, degrees: float) -> None:
        """Change an encoder's error from now on; small steps cause no jerk.

        Raises:
            UnknownName: there is no such joint.
            BadInput: the error is beyond the joint's range.
        """
        index = self._robot.joint_index(joint)
        one = misalignment_of(self._robot, {joint: degrees})
        self._misalignment[index] = one[index]

    def read(self) -> Observation:
        """Return the newest sensor readings."""
        readings = self._sensors.readings
        return Observation(
            time_s=self.tick * self.dt,
            target=self._servo.target.copy(),
            stiffness=self._stiffness.in_force.copy(),
            **{name: values.copy() for name, values in readings.items()},
        )

    def write(self, command: Command) -> None:
        """Apply a command completely, or not at all.

        Joints on one motor follow its leading joint, also in the values read back.

        Raises:
            BadInput: a value is not finite; a stiffness is outside [0, 1]; a set-point
                is outside the joint's range; a velocity exceeds its motor's or lacks a
                set-point; a current limit is below 0; LEDs or a sound do not fit the
                robot; or a sound starts while the last one plays.
        """
        check_command(command, self._robot)
        if command.gains is not None and self.cfg.servo.kind != "torque":
            raise BadInput(
                f"servo {self.cfg.servo.kind!r} has fixed gains, and the controller "
                "sets its own; use --servo torque."
            )
        if command.sound is not None:
            self.speaker.check(command.sound, self.time_s)
            self.speaker.play(command.sound, self.time_s)
        if command.leds is not None:
            self.leds.fade(command.leds)
        lead = self._servo.lead_of_joint
        if command.target is not None:
            self._servo.target[:] = command.target[lead]
            v = command.velocity
            self._servo.velocity[:] = 0.0 if v is None else v[lead]
        if command.gains is not None:
            self._servo.kp[:] = command.gains.kp[self._servo.lead]
            self._servo.kd[:] = command.gains.kd[self._servo.lead]
        if command.current_limit is not None:
            self._stiffness.limit_current(command.current_limit[lead])
        if command.stiffness is not None:
            self._stiffness.commanded[:] = command.stiffness[lead]
        if command.stiffness is not None or command.current_limit is not None:
            self._stiffness.put(self._sensors.temperature)

    def step(self, ticks: int) -> None:
        """Advance by `ticks` physics steps.

        Raises:
            SimulationDiverged: a torque is not finite; the state stays unchanged.
        """
        torque, q, period = self._servo.motor_torque, self._body.q, self._heat.ticks
        sensors, tick = self._sensors, self.tick
        end = tick + ticks
        while tick < end:
            # Run up to the next tick at which sensors or heat are due.
            due = sensors.next_tick(tick, end)
            due = min(due, tick - tick % period + period)
            if not self._body.run(due - tick):
                raise self._body.divergence()
            sensors.skip(tick, due)
            sensors.sample(due, q, torque, end)
            tick = due
            if tick % period == 0:
                self._warm()

    def look(self, camera: str, width: int = 320) -> Picture:
        """Take a picture with one of the robot's cameras (`TakesPictures`)."""
        return take_picture(self._robot, self.engine, self.time_s, camera, width)

    def close(self) -> None:
        """Release the engine."""
        self.engine.close()

    # -- beyond the interface -------------------------------------------------------

    def truth(self) -> Truth:
        """Return the engine's own state."""
        body, engine = self._body, self.engine
        position, quaternion = engine.base_pose()
        return Truth(
            time_s=self.time_s,
            q=body.q.copy(),
            v=body.v.copy(),
            joint_torque=self._servo.joint_torque.copy(),
            motor_torque=self._servo.motor_torque.copy(),
            base_position=position,
            base_quaternion=quaternion,
            base_velocity=np.concatenate(engine.link_twist(self._robot.base_link)),
            contacts=tuple(engine.contacts()),
            obstacle_contacts=tuple(engine.obstacle_contacts()),
            temperature=self.heating.temperature.copy(),
            has_fallen=body.has_fallen(),
        )

    def set_down(self, posture: str) -> None:
        """Pick the robot up and put it on the ground as in a posture.

        It is at rest at the origin. Joint angles, set-points, temperatures and clock do
        not change, so the joints should be near the posture.

        Args:
            posture: name of the posture whose effectors carry the robot.

        Raises:
            UnknownName: the robot has no such posture.
        """
        self._body.set_down(self._robot.posture(posture))

    def has_fallen(self) -> bool:
        """Return True if the base has tilted by more than 45° since it was set down."""
        return self._body.has_fallen()

    def snapshot(self) -> Snapshot:
        """Save the whole state; `restore` returns to it, `forget` deletes it."""
        return Snapshot(
            engine=self.engine.save(),
            tick=self.tick,
            heat_done=self._heat.done,
            arrays=tuple(array.copy() for array in self._arrays()),
            rng=self._rng.bit_generator.state,
            speaker=self.speaker.state(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a saved state: the run continues as it did, bit for bit."""
        self.engine.restore(snapshot.engine)
        self._body.clock[0] = snapshot.tick
        self._heat.done = snapshot.heat_done
        for array, kept in zip(self._arrays(), snapshot.arrays, strict=True):
            array[:] = kept
        self._rng.bit_generator.state = dict(snapshot.rng)
        self.protection.take_events()  # drop events of the undone time
        self.speaker.restore(snapshot.speaker)

    def forget(self, snapshot: Snapshot) -> None:
        """Delete a saved state."""
        self.engine.forget(snapshot.engine)

    def advance_heat(self, mean_square: FloatArray, duration_s: float) -> None:
        """Advance heat and clock only; the body does not move.

        Args:
            mean_square: (n_motors,) mean squared motor torque, joint side, N²m².
            duration_s: a multiple of the heating period, in s.
        """
        self._body.clock[0] = self._heat.advance_at_rest(
            self.tick, self._servo.square_sum, mean_square, duration_s
        )
        self._take_temperature()

    def push(self, link: str, force: FloatArray) -> None:
        """Push the origin of a link with a force in N (world) during the next tick.

        Raises:
            BadInput: the force is not three numbers.
        """
        _check_force(link, force)
        position, _ = self.engine.link_pose(link)
        self.engine.push(link, force, position)

    def push_com(self, link: str, force: FloatArray) -> None:
        """Push a link at its centre of mass with a force in N (world) for a tick.

        Raises:
            BadInput: the force is not three numbers.
        """
        _check_force(link, force)
        self.engine.push(link, force, self.engine.link_com(link))

    def set_temperature(self, motor: str, degc: float) -> None:
        """Set the temperature of a motor, winding and housing alike.

        Args:
            motor: name of the motor.
            degc: temperature in °C.

        Raises:
            UnknownName: the robot has no such motor.
            BadInput: the temperature is not between -50 °C and the melting point of
                copper.
        """
        self.heating.set_temperature(self._robot.motor_index(motor), degc)
        self._take_temperature()

    def fail_motors(self, motors: Iterable[str]) -> None:
        """Disable the torque of motors from now on, regardless of commands.

        Raises:
            UnknownName: the robot has no such motor.
        """
        self._stiffness.set_health(motors, 0.0)
        self._stiffness.put(self._sensors.temperature)

    def repair_motors(self, motors: Iterable[str]) -> None:
        """Enable the torque of failed motors again.

        Raises:
            UnknownName: the robot has no such motor.
        """
        self._stiffness.set_health(motors, 1.0)
        self._stiffness.put(self._sensors.temperature)

    @property
    def failed_motors(self) -> tuple[str, ...]:
        """Motors that give no torque."""
        return self._stiffness.failed_motors

    # -- internals ---------------------------------------------------------------------

    def _warm(self) -> None:
        self._heat.advance(self.tick, self._servo.square_sum)
        if self.tick % self._sensors.temperature_ticks == 0:
            self._take_temperature()

    def _take_temperature(self) -> None:
        self._sensors.read_temperature(self.heating.temperature)
        charge = self._robot.battery.charge(self.time_s, self.motors_j)
        self._sensors.read_battery(charge)
        self._stiffness.put(self._sensors.temperature)

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all arrays that change, live, except the engine's own state."""
        return (
            *self._body.arrays(),
            *self._stiffness.arrays(),
            *self._sensors.arrays(),
            self.heating.state,
            self.protection.state,
            self._heat.mean_square,
            self.leds.table,
        )
