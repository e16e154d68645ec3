"""Body of the robot in its world: engine and servos, stepped together.

In each tick the servos compute torques from the true joint state, and the engine moves
the joints. Sensors, heat and commands are not part of this package.
"""

from dataclasses import replace

import numpy as np

from nao_testbed.models import Posture, Robot, TestbedError
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body.placement import check_clear, place_at_rest
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.recording.channels import Channel
from nao_testbed.sim.recording.recorder import LastSecond
from nao_testbed.sim.servo import Servo, ServoCfg, run_native

FALL_TILT = np.cos(np.deg2rad(45.0))
"""Cosine of the tilt of the base, 45 degrees, above which a robot counts as fallen."""
TOUCH_DOWN_S = 0.1
"""Time before the start in which the placed robot settles on its soles, in s."""
POSITION_GAIN, VELOCITY_GAIN = 0.2, 1.0
"""Gains of PyBullet's own motors, in its units (fraction of the error per step)."""


class SimulationDiverged(TestbedError):
    """Error: a number in the engine is no longer finite."""


class Body:
    """Engine and servos of one robot.

    Use: construct it (the robot rests on the ground in its posture, set-points equal to
    encoder readings), then call `run` for the physics steps up to the next observation.
    The arrays `q`, `v` and those of `servo` are live.
    """

    def __init__(
        self,
        robot: Robot,
        world: WorldCfg,
        servo: ServoCfg,
        misalignment: FloatArray,
        posture: str,
    ) -> None:
        """Build the world and place the robot; run it until the ground carries it.

        Args:
            robot: robot to simulate.
            world: settings of the world.
            servo: settings of the motor board model.
            misalignment: (n_joints,) true angle minus encoder angle, in rad.
            posture: name of the start posture.

        Raises:
            BadInput: a value cannot be used.
            SimulationDiverged: a torque is not finite.
        """
        self._robot = robot
        self._misalignment = misalignment
        uses_engine_motors = servo.kind == "pybullet"
        self._tick = (
            self._step_engine_motors if uses_engine_motors else self._step_servo
        )
        self.engine = make_engine(robot, world)
        self._native = self.engine.native_step()
        dt = world.physics_dt
        # Angles, velocities and joint torques side by side: one copy keeps all three.
        self._row = np.zeros(3 * len(robot.joints))
        self.q, self.v, joint_torque = np.split(self._row, 3)
        self.q[:] = robot.posture(posture).angles
        self.servo = Servo(robot, servo, dt, misalignment, joint_torque)
        names = robot.joint_names
        self.last_second = LastSecond(
            (
                Channel(name="q", unit="rad", members=names, stored="float64"),
                Channel(name="v", unit="rad/s", members=names, stored="float64"),
                Channel(name="effort", unit="N·m", members=names, stored="float64"),
            ),
            rows=round(1.0 / dt),
        )
        place_at_rest(self.engine, robot, robot.posture(posture))
        check_clear(self.engine)
        self._start_up = self._up_in_base()
        # As on the robot: without stiffness the set-point follows the encoder.
        self.servo.target[:] = self.q - misalignment
        touch_down = round(TOUCH_DOWN_S / dt)
        self.clock = np.array([-touch_down])
        """(1,) ticks since the start, of the engine's present state."""
        if not self.run(touch_down):
            raise self.divergence()
        self.servo.square_sum[:] = 0.0
        self.servo.work[:] = 0.0

    def run(self, ticks: int) -> bool:
        """Advance by a number of physics steps.

        Returns:
            False if a torque of the next step is not finite. The state then stays as
            before that step, and `divergence` names the joints.
        """
        if self._native is not None:
            servo, row, ring = self.servo, self._row, self.last_second
            return run_native(self._native, servo, row, ring, self.clock, ticks)
        return all(self._tick() for _ in range(ticks))

    def _step_servo(self) -> bool:
        """Advance one tick with our servo; return False if a torque is not finite."""
        engine, servo, q, v = self.engine, self.servo, self.q, self.v
        finite = servo.step(q, v)
        self.last_second.push_row(self._time_s(), self._row)
        if finite:
            engine.apply_torques(servo.joint_torque)
            engine.step()
            self.clock[0] += 1
            engine.read_joints(q, v)
        return finite

    def _step_engine_motors(self) -> bool:
        """Advance one tick with PyBullet's own motors, for comparison.

        Joints on one motor take the set-point of its leading joint and share its limit.
        """
        engine, servo = self.engine, self.servo
        lead, sharing = servo.lead_of_joint, servo.sharing
        engine.apply_position_targets(
            (servo.target[lead] + self._misalignment).tolist(),
            servo.velocity[lead].tolist(),
            (servo.limit[lead] / sharing).tolist(),
            POSITION_GAIN,
            VELOCITY_GAIN,
        )
        robot = self._robot
        speed = robot.inverse_transmission @ self.v  # at the start of this tick
        engine.step()
        engine.read_joints(self.q, self.v)
        engine.read_motor_torques(servo.joint_torque)
        # PyBullet keeps reporting the last torque of a motor that is switched off.
        np.copyto(servo.joint_torque, 0.0, where=servo.limit[lead] == 0.0)
        self.last_second.push_row(self._time_s(), self._row)
        if not np.isfinite(servo.joint_torque.sum() + self.q.sum()):
            return False
        np.matmul(robot.transmission, servo.joint_torque, out=servo.motor_torque)
        square = servo.motor_torque**2
        servo.square_sum += square
        power = np.maximum(servo.motor_torque * speed, -servo.loss * square)
        servo.work += power * servo.dt
        self.clock[0] += 1
        return True

    def set_down(self, posture: Posture) -> None:
        """Put the robot on the ground as in a posture, with its joints as they are.

        It is at rest at the origin, on the effectors of the posture where its joint
        angles allow that; set-points and clock do not change.
        """
        present = replace(posture, angles=self.q.copy())
        place_at_rest(self.engine, self._robot, present)
        self.engine.read_joints(self.q, self.v)
        self._start_up = self._up_in_base()

    def has_fallen(self) -> bool:
        """Return True if the base has turned by more than 45°.

        Measured from the start, or from the last `set_down`.
        """
        return bool(self._up_in_base() @ self._start_up < FALL_TILT)

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return all arrays that change, live, except the engine's own state."""
        servo = self.servo
        return (
            self.q,
            self.v,
            servo.target,
            servo.velocity,
            servo.limit,
            servo.kp,
            servo.kd,
            servo.presliding,
            servo.joint_torque,
            servo.motor_torque,
            servo.square_sum,
            servo.work,
        )

    def _up_in_base(self) -> FloatArray:
        _, quaternion = self.engine.base_pose()
        up: FloatArray = rotation_from_quaternion(quaternion)[2]
        return up

    def _time_s(self) -> float:
        return float(self.clock[0]) * self.servo.dt

    def divergence(self) -> SimulationDiverged:
        """Return the error that names the joints whose torque is not finite."""
        bad = [
            name
            for name, angle, torque in zip(
                self._robot.joint_names, self.q, self.servo.joint_torque, strict=True
            )
            if not (np.isfinite(angle) and np.isfinite(torque))
        ]
        return SimulationDiverged(
            f"at {self._time_s():.3f} s the torque of {', '.join(bad)} is not finite; "
            "the last second is saved in the run folder."
        )
