"""The simulated robot behind the robot interface: engine, servos, sensors, heat.

One tick is one physics step. In each: read the true joint state, let the servos
compute torques from it, step the engine, sample the sensors that are due. Heat is
integrated every 20 ms with the mean squared torque of the ticks in between.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from controllers.command_check import check_command
from controllers.robot_interface import Command, Observation
from models import Robot, TestbedError, UnknownName
from sim.channels import Channel
from sim.engine import Engine, rotation_from_quaternion
from sim.heating import make_heating
from sim.heating.seam import start_excess
from sim.last_second import LastSecond
from sim.leds import Leds
from sim.motor_faults import MotorFaults
from sim.placement import place_at_rest
from sim.protection import make_protection
from sim.sensors import Sensors
from sim.servo import Servo
from sim.simulation_cfg import SimulationCfg, misalignment_of, start_temperatures
from sim.speaker import Speaker
from sim.ticks import ticks_of
from sim.truth import Snapshot, Truth

FloatArray = NDArray[np.float64]

HEAT_PERIOD = 0.02
"""Period of the heating model in s: the controllers' cycle."""
FALL_TILT = np.cos(np.deg2rad(45.0))
"""A robot whose base turned by more than 45 degrees has fallen."""
TOUCH_DOWN_S = 0.1
"""Time before the start in which the placed robot settles on its soles, in s."""
POSITION_GAIN, VELOCITY_GAIN = 0.2, 1.0
"""Gains of PyBullet's own motors, in its units (fraction of the error a step)."""


class SimulationDiverged(TestbedError):
    """A number in the engine is not finite any more."""


class SimulatedRobot:
    """A robot in PyBullet; implements `RobotInterface`.

    Use: construct (the robot stands in the posture, set-points at its encoder
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
        self._heat_ticks = ticks_of("heating period", HEAT_PERIOD, self.dt)
        self.heating = make_heating(robot, cfg.heating)
        self.heating.reset(
            start_temperatures(robot, cfg.start_degc, cfg.other_start_degc)
        )
        self.protection = make_protection(cfg.protection, robot)
        self._faults = MotorFaults(robot)
        self.leds = Leds(robot, self.dt, lambda: self.tick)
        self.speaker = Speaker()
        self._engine = Engine(robot, cfg.world)
        self._rng = np.random.default_rng(cfg.seed)
        self._sensors = Sensors(
            robot,
            self._engine,
            cfg.sensors,
            self._misalignment,
            self.heating.torque_constant,
            self._rng,
        )
        self._uses_engine_motors = cfg.servo.kind == "pybullet"
        self.tick = 0
        # Angles, velocities and joint torques side by side: one copy keeps all three.
        self._row = np.zeros(3 * len(robot.joints))
        self._q, self._v, joint_torque = np.split(self._row, 3)
        self._q[:] = robot.posture(posture).angles
        self._servo = Servo(robot, cfg.servo, self.dt, self._misalignment, joint_torque)
        self._stiffness = np.ones_like(self._q)
        self._in_force = np.ones_like(self._q)
        self.mean_square = np.zeros(len(robot.motors))
        """(n_motors,) mean squared motor torque of the last 20 ms, in N²m²."""
        self._heat_from = 0
        names = robot.joint_names
        self.last_second = LastSecond(
            (
                Channel(name="q", unit="rad", members=names, stored="float64"),
                Channel(name="v", unit="rad/s", members=names, stored="float64"),
                Channel(name="effort", unit="N·m", members=names, stored="float64"),
            ),
            rows=round(1.0 / self.dt),
        )
        """The last second of true angles, velocities and joint torques, each tick."""
        place_at_rest(self._engine, robot, robot.posture(posture))
        self._start_up = self._up_in_base()
        # As on the robot: without stiffness the set-point follows the encoder.
        self._servo.target[:] = self._q - self._misalignment
        self._touch_down()
        self._sensors.start(self._q, self.heating.temperature)
        self._apply_stiffness()

    # -- the robot interface ------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The description that the arrays follow."""
        return self._robot

    @property
    def time_s(self) -> float:
        """Simulated time in s."""
        return self.tick * self.dt

    @property
    def engine(self) -> Engine:
        """The world below: for measurements and tests, never for controllers."""
        return self._engine

    @property
    def joint_torque(self) -> FloatArray:
        """(n_joints,) torques on the links in the last tick in N·m (a view)."""
        return self._servo.joint_torque

    @property
    def motor_torque(self) -> FloatArray:
        """(n_motors,) joint-side motor torques of the last tick in N·m (a view)."""
        return self._servo.motor_torque

    def read(self) -> Observation:
        """Return the newest sensor readings."""
        sensors = self._sensors
        return Observation(
            time_s=self.tick * self.dt,
            q=sensors.q.copy(),
            v=sensors.v.copy(),
            target=self._servo.target.copy(),
            stiffness=self._in_force.copy(),
            current=sensors.current.copy(),
            temperature=sensors.temperature.copy(),
            gyro=sensors.gyro.copy(),
            accelerometer=sensors.accelerometer.copy(),
            fsr=sensors.fsr.copy(),
        )

    def write(self, command: Command) -> None:
        """Put a command in force, all of it or nothing.

        Joints on one motor obey the values of its leading joint, and read back so.

        Raises:
            BadInput: a value is not finite, a stiffness outside [0, 1], a set-point
                outside the joint's range; LEDs or a sound do not fit the robot's, or a
                sound begins while the last one is heard.
        """
        check_command(command, self._robot)
        if command.sound is not None:
            self.speaker.check(command.sound, self.time_s)
            self.speaker.play(command.sound, self.time_s)
        if command.leds is not None:
            self.leds.fade(command.leds)
        if command.target is not None:
            self._servo.target[:] = command.target[self._servo.lead_of_joint]
        if command.stiffness is not None:
            self._stiffness[:] = command.stiffness[self._servo.lead_of_joint]
            self._apply_stiffness()

    def step(self, ticks: int) -> None:
        """Let `ticks` periods pass.

        Raises:
            SimulationDiverged: a torque is not finite; the state is left as it is.
        """
        sample, torque, q = self._sensors.sample, self._servo.motor_torque, self._q
        for _ in range(ticks):
            self._tick()
            self.tick += 1
            sample(self.tick, q, torque)
            if self.tick % self._heat_ticks == 0:
                self._heat()

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()

    # -- beyond the interface -------------------------------------------------------

    def truth(self) -> Truth:
        """Return the engine's own state."""
        position, quaternion = self._engine.base_pose()
        return Truth(
            time_s=self.time_s,
            q=self._q.copy(),
            v=self._v.copy(),
            joint_torque=self._servo.joint_torque.copy(),
            motor_torque=self._servo.motor_torque.copy(),
            base_position=position,
            base_quaternion=quaternion,
            base_velocity=np.concatenate(
                self._engine.link_twist(self._robot.base_link)
            ),
            contacts=tuple(self._engine.contacts()),
            temperature=self.heating.temperature.copy(),
            has_fallen=self.has_fallen(),
        )

    def has_fallen(self) -> bool:
        """Has the base turned by more than 45 degrees since the start?"""
        return bool(self._up_in_base() @ self._start_up < FALL_TILT)

    def snapshot(self) -> Snapshot:
        """Keep the whole state; `restore` returns to it, `forget` releases it."""
        return Snapshot(
            engine=self._engine.save(),
            tick=self.tick,
            heat_from=self._heat_from,
            arrays=tuple(array.copy() for array in self._arrays()),
            sensors=self._sensors.state(),
            rng=self._rng.bit_generator.state,
            heating=self.heating.state(),
            protection=self.protection.state(),
            speaker=self.speaker.state(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a kept state: the run goes on as it did, bit for bit."""
        self._engine.restore(snapshot.engine)
        self.tick = snapshot.tick
        self._heat_from = snapshot.heat_from
        for array, kept in zip(self._arrays(), snapshot.arrays, strict=True):
            array[:] = kept
        self._sensors.restore(snapshot.sensors)
        self._rng.bit_generator.state = dict(snapshot.rng)
        self.heating.restore(snapshot.heating)
        self.protection.restore(snapshot.protection)
        self.speaker.restore(snapshot.speaker)

    def forget(self, snapshot: Snapshot) -> None:
        """Release the memory of a kept state."""
        self._engine.forget(snapshot.engine)

    def advance_heat(self, mean_square: FloatArray, duration_s: float) -> None:
        """Let time pass for heat and clock alone, the body standing still.

        Args:
            mean_square: (n_motors,) mean squared motor torque, joint side, N²m².
            duration_s: a whole number of heating periods, in s.
        """
        periods = ticks_of("duration", duration_s, self._heat_ticks * self.dt)
        if self.tick > self._heat_from:  # what the physics did is not lost
            self._heat()
        self.tick += periods * self._heat_ticks
        self._heat_from = self.tick
        self.heating.advance(mean_square, duration_s)
        self._take_temperature()

    def push(self, link: str, force: FloatArray) -> None:
        """Push the origin of a link with a force in N (world) during the next tick."""
        position, _ = self._engine.link_pose(link)
        self._engine.push(link, force, position)

    def push_com(self, link: str, force: FloatArray) -> None:
        """Push a link at its centre of mass with a force in N (world) for a tick."""
        self._engine.push(link, force, self._engine.link_com(link))

    def set_temperature(self, motor: str, degc: float) -> None:
        """Give a motor a temperature, winding and housing alike; it goes on from there.

        Args:
            motor: its name.
            degc: in °C.

        Raises:
            UnknownName: the robot has no such motor.
            BadInput: it is not between -50 °C and the melting point of copper.
        """
        if motor not in self._robot.motor_names:
            known = self._robot.motor_names
            raise UnknownName("Motor", motor, known, f"robot {self._robot.name!r}")
        place = self._robot.motor_names.index(motor)
        state = self.heating.state()
        excess = state.excess.copy()
        ambient = self.heating.ambient
        excess[..., place] = start_excess(degc, ambient)[place]
        self.heating.restore(replace(state, excess=excess))
        self._take_temperature()

    def fail_motors(self, motors: Iterable[str]) -> None:
        """Let motors give no torque from now on; see `MotorFaults`.

        Raises:
            UnknownName: the robot has no such motor.
        """
        self._faults.fail(motors)
        self._apply_stiffness()

    def repair_motors(self, motors: Iterable[str]) -> None:
        """Let motors give torque again.

        Raises:
            UnknownName: the robot has no such motor.
        """
        self._faults.repair(motors)
        self._apply_stiffness()

    @property
    def failed_motors(self) -> tuple[str, ...]:
        """Motors that give no torque."""
        return self._faults.failed

    # -- inside -----------------------------------------------------------------------

    def _touch_down(self) -> None:
        """Let the ground take the weight before the clock starts."""
        for _ in range(round(TOUCH_DOWN_S / self.dt)):
            self._tick()
        self._servo.square_sum[:] = 0.0

    def _up_in_base(self) -> FloatArray:
        _, quaternion = self._engine.base_pose()
        up: FloatArray = rotation_from_quaternion(quaternion)[2]
        return up

    def _apply_stiffness(self) -> None:
        """Stiffness, cut by protection and faults, times effort limit (ST-3, ST-4)."""
        self._in_force[:] = self.protection.apply(
            self._stiffness, self._sensors.temperature
        )
        np.multiply(self._in_force, self._robot.effort_limit, out=self._servo.limit)
        self._servo.limit *= self._faults.health

    def _heat(self) -> None:
        servo = self._servo
        ticks = self.tick - self._heat_from
        np.divide(servo.square_sum, ticks, out=self.mean_square)
        self.heating.advance(self.mean_square, ticks * self.dt)
        servo.square_sum[:] = 0.0
        self._heat_from = self.tick
        if self.tick % self._sensors.temperature_ticks == 0:
            self._take_temperature()

    def _take_temperature(self) -> None:
        self._sensors.read_temperature(self.heating.temperature)
        self._apply_stiffness()

    def _tick(self) -> None:
        """One tick of servos and physics."""
        if self._uses_engine_motors:
            self._tick_engine_motors()
            return
        engine, servo, q, v = self._engine, self._servo, self._q, self._v
        finite = servo.step(q, v)
        self.last_second.push_row(self.tick * self.dt, self._row)
        if not finite:
            raise SimulationDiverged(self._divergence())
        engine.apply_torques(servo.joint_torque.tolist())
        engine.step()
        engine.read_joints(q, v)

    def _tick_engine_motors(self) -> None:
        """One tick with PyBullet's own motors, for comparison.

        Joints on one motor take its leading joint's set-point and share its limit.
        """
        engine, servo = self._engine, self._servo
        lead, sharing = servo.lead_of_joint, servo.sharing
        engine.apply_position_targets(
            (servo.target[lead] + self._misalignment).tolist(),
            (servo.limit[lead] / sharing).tolist(),
            POSITION_GAIN,
            VELOCITY_GAIN,
        )
        engine.step()
        engine.read_joints(self._q, self._v)
        engine.read_motor_torques(servo.joint_torque)
        # PyBullet goes on telling the last torque of a motor that it has switched off.
        np.copyto(servo.joint_torque, 0.0, where=servo.limit[lead] == 0.0)
        self.last_second.push_row(self.tick * self.dt, self._row)
        if not np.isfinite(servo.joint_torque.sum() + self._q.sum()):
            raise SimulationDiverged(self._divergence())
        servo.motor_torque[:] = np.bincount(
            self._robot.motor_of_joint, servo.joint_torque
        )
        servo.square_sum += servo.motor_torque**2

    def _divergence(self) -> str:
        bad = [
            name
            for name, angle, torque in zip(
                self._robot.joint_names, self._q, self._servo.joint_torque, strict=True
            )
            if not (np.isfinite(angle) and np.isfinite(torque))
        ]
        return (
            f"at {self.time_s:.3f} s the torque of {', '.join(bad)} is not finite; "
            "the last second is kept in the run folder."
        )

    def _arrays(self) -> tuple[FloatArray, ...]:
        servo = self._servo
        return (
            self._q,
            self._v,
            self._stiffness,
            self._in_force,
            self._faults.health,
            servo.target,
            servo.limit,
            servo.presliding,
            servo.joint_torque,
            servo.motor_torque,
            servo.square_sum,
            self.mean_square,
            self.leds.table,
        )
