"""Play a motion of the library on the simulated robot and return its outcome.

Set-points go directly to the robot every 10 ms, as the transmitter would send them.
Other tests cover the authority to send them.
"""

from dataclasses import dataclass

import numpy as np

from nao_testbed.controllers.arbitration.faults.posture_monitor import PostureRecogniser
from nao_testbed.controllers.interface.controller import Controller
from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.controllers.transmitter.streams.motion_stream import sample_motion
from nao_testbed.models import Robot
from nao_testbed.models.library import Motion
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

SLOT_S = 0.01
SETTLE_S = 0.5
"""Rest before the motion, in s."""
LEG = (
    *("HipYawPitch", "HipRoll", "HipPitch"),
    *("KneePitch", "AnklePitch", "AnkleRoll"),
)
CARRIES = 0.2  # N, below it a link only brushes the ground


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Outcome of a motion and of the rest after it."""

    largest_tilt_deg: float
    """Largest tilt of the torso from the vertical."""
    error_deg: float
    """Largest final difference of a measured joint angle from its set-point."""
    joint: str
    """The joint of that difference."""
    carriers: frozenset[str]
    """Links that carry the robot at the end."""
    highest_foot: float
    """Largest height of the lower foot, in m."""
    state: str | None
    """Recognised state at the end."""


def world(friction: float = 0.7, seed: int | None = None) -> SimulationCfg:
    """Return a world, and with a seed a robot whose calibration has errors."""
    off = {} if seed is None else calibration_errors(seed)
    return SimulationCfg(world=WorldCfg(friction=friction), misalignment_deg=off)


def calibration_errors(seed: int) -> dict[str, float]:
    """Return errors of -1, 0 or 1 degree at every joint of the legs."""
    draws = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], (2, len(LEG)))
    off = {
        side + joint: float(draw)
        for side, row in zip("LR", draws, strict=True)
        for joint, draw in zip(LEG, row, strict=True)
    }
    return off | {"RHipYawPitch": off["LHipYawPitch"]}  # one motor, one encoder


def set_points(robot: Robot, motion: Motion, start: FloatArray) -> FloatArray:
    """Return the set-points of a motion from a start, (n_slots, n_joints) in rad."""
    tracks = [robot.joint_index(track.joint) for track in motion.tracks]
    here = {robot.joint_names[j]: float(start[j]) for j in tracks}
    rows = sample_motion(motion, here, SLOT_S)
    targets = np.tile(start, (len(rows), 1))
    targets[:, tracks] = rows
    for joint in robot.joints:
        if joint.motor != joint.name:
            lead = robot.joint_index(joint.motor)
            targets[:, robot.joint_index(joint.name)] = targets[:, lead]
    return targets


class Player:
    """A robot that rests in a posture, then plays motions."""

    def __init__(
        self,
        robot: Robot,
        cfg: SimulationCfg,
        posture: str,
        controller: Controller | None = None,
    ) -> None:
        self.sim = SimulatedRobot(robot, cfg, posture)
        self._controller = controller
        if controller is not None:
            controller.reset(robot)
        self._recogniser = PostureRecogniser(robot)
        self._state = robot.posture(posture).state
        self._slots = 0
        self._shift: FloatArray | None = None
        self.tilt_deg = 0.0
        self.highest_foot = 0.0
        self.target = robot.posture(posture).angles.copy()
        self._soles = {
            point.link for point in robot.contact_points if point.effector in robot.feet
        }
        self.rest(SETTLE_S)
        self._sole_height = self._lower_foot()
        self.tilt_deg = self.highest_foot = 0.0

    def close(self) -> None:
        self.sim.close()

    def __enter__(self) -> "Player":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def rest(self, seconds: float) -> None:
        """Hold the set-points."""
        for _ in range(round(seconds / SLOT_S)):
            self.slot(self.target)

    def ways(self, motion: Motion) -> FloatArray:
        """Return the set-points of a motion from here, (n_slots, n_joints) in rad."""
        return set_points(self.sim.robot, motion, self.target)

    def play(self, motion: Motion) -> None:
        for target in self.ways(motion):
            self.slot(target)

    def slot(self, target: FloatArray) -> None:
        """Command the set-points of a slot and step the robot."""
        self.target = target
        sim, limits = self.sim, None
        if self._slots % 2 == 0:  # the controllers' cycle of 20 ms
            seen = sim.read()
            self._state = self._recogniser.step(seen, self._state)
            if self._controller is not None:
                decided = self._controller.step(seen)
                limits, self._shift = decided.stiffness, decided.shift
        self._slots += 1
        if self._shift is not None:
            robot = sim.robot
            target = np.clip(target + self._shift, robot.lower, robot.upper)
        sim.write(Command(target=target, stiffness=limits))
        sim.step(round(SLOT_S / sim.dt))
        _, R = sim.engine.link_pose(sim.robot.base_link)
        tilt = np.degrees(np.arccos(np.clip(R[2, 2], -1.0, 1.0)))
        self.tilt_deg = max(self.tilt_deg, float(tilt))
        if self._slots * SLOT_S > SETTLE_S:
            height = self._lower_foot() - self._sole_height
            self.highest_foot = max(self.highest_foot, height)

    def outcome(self) -> Outcome:
        sim = self.sim
        error = np.degrees(np.abs(sim.read().q - self.target))
        load: dict[str, float] = {}
        for contact in sim.truth().contacts:
            load[contact.link] = load.get(contact.link, 0.0) + contact.normal_force
        return Outcome(
            largest_tilt_deg=self.tilt_deg,
            error_deg=float(error.max()),
            joint=sim.robot.joint_names[int(error.argmax())],
            carriers=frozenset(link for link, f in load.items() if f > CARRIES),
            highest_foot=self.highest_foot,
            state=self._state,
        )

    def _lower_foot(self) -> float:
        engine = self.sim.engine
        return min(float(engine.link_pose(link)[0][2]) for link in self._soles)
