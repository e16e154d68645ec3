"""ALRobotPosture: motions to postures, and detection of the present posture."""

from concurrent.futures import Future
from functools import partial

import numpy as np

from nao_testbed.experiments.server.naoqi.motion.curves import arriving_together
from nao_testbed.experiments.server.naoqi.motion.engine import (
    MotionTask,
    check_fraction,
)
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.served_robot import failed, finish, on_cancel
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks, ended

PLANNED = 0.2
"""Fraction of a joint's maximum speed at speed 1, low enough to keep the balance."""
MIN_S = 0.8
"""Minimum duration in s of a motion of the legs."""
PICK_UP_S = 3.0
"""Minimum duration in s of the motion of a fallen robot, before it is set down."""
SETTLED_S = 0.2
"""Time in s from the end of a motion to the check of the posture."""
NOTICED_S = 2.0
"""Time in s in which the posture monitor notices that the robot was set down."""
NEAR = np.deg2rad(6.0)
"""Tolerance in rad of a joint's angle in a posture: an estimate."""
NAOQI_POSTURES = (
    "Crouch",
    "LyingBack",
    "LyingBelly",
    "Sit",
    "SitRelax",
    "Stand",
    "StandInit",
    "StandZero",
)
FAMILY_OF_STATE = {
    "Stand": "Standing",
    "Crouch": "Crouching",
    "Sit": "Sitting",
    "Back": "LyingBack",
    "Belly": "LyingBelly",
}
ON_FEET = ("Stand", "Crouch")
"""States between which a robot can move here."""


class Postures:
    """Postures of one robot, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Start watching the robot's posture."""
        self._parts, self._served = parts, parts.served
        robot = parts.served.robot
        known = robot.postures
        self.names = [name for name in NAOQI_POSTURES if name in known]
        self._going: MotionTask | None = None
        self._raised: tuple[str, str] = ("", "")
        self._not_hands = [
            i for i, joint in enumerate(robot.joints) if not joint.name.endswith("Hand")
        ]
        legs = parts.body.chain_joints("Legs") or parts.body.body
        self._legs = set(parts.body.indices(list(legs)))
        self._poll()

    def present(self) -> str:
        """Return the name of the present posture, or Unknown.

        Limp arms and a limp head are ignored, since they hang down.
        """
        robot, stiffness = self._served.robot, self._served.stiffness.allowed
        counts = [i for i in self._not_hands if i in self._legs or stiffness[i] > 0.0]
        q, state = self._served.seen.q[counts], self._served.body.state
        for name in self.names:
            posture = robot.posture(name)
            if (
                posture.state == state
                and (np.abs(q - posture.angles[counts]) < NEAR).all()
            ):
                return name
        return "Unknown"

    def family(self) -> str:
        """Return the family of the present posture of the robot's body."""
        return FAMILY_OF_STATE.get(self._served.body.state or "", "Unknown")

    def has_fallen(self) -> bool:
        """Return true if the robot fell and has not been set down."""
        return self._served.body.sim.has_fallen()

    def go(
        self, client: str, name: str, speed: float, *, straight: bool = False
    ) -> Blocks:
        """Move to a posture; the result is true once the robot is in it.

        Between postures on the feet the path is straight in the joint angles, slow
        enough to keep the balance. There is no path to or from sitting and lying
        postures. The joints of a fallen robot move while it lies; then it is picked up
        and set on its feet, as by a person.

        Args:
            client: owner of the motion.
            name: name of the posture.
            speed: fraction in ]0, 1].
            straight: True: as fast as the joints can, regardless of balance.
        """
        robot = self._served.robot
        goal = robot.posture(name)
        fell = self.has_fallen() and not self._served.is_recorded
        is_on_feet = fell or self._served.body.state in ON_FEET
        if goal.state not in ON_FEET or not is_on_feet:
            self._parts.motion.warn(f"no transition to {name} is simulated")
            return ended(value=False)
        stiffness = self._served.stiffness
        user = stiffness.user
        stiffness.set_user(np.where(user <= 0.0, 1.0, user))
        scale = speed if straight else speed * PLANNED
        least_s = PICK_UP_S if fell else 0.1 if straight else MIN_S
        joints = self._parts.body.body
        goals = {j: float(goal.angles[robot.joint_index(j)]) for j in joints}
        speeds = {j: scale * self._parts.body.max_speed(j) for j in joints}
        task = self._parts.motion.begin(
            client,
            "goToPosture",
            joints,
            lambda start: arriving_together(start, goals, speeds, least_s),
        )
        self._going = task
        result: Blocks = Future()
        said = ": the robot has fallen; it is picked up and set down" if fell else ""
        self._parts.served.event("posture", said=f"{client}: {name}{said}")
        task.future.add_done_callback(partial(self._arrived, goal.name, fell, result))
        on_cancel(result, task.future.cancel)
        return result

    def stop(self) -> None:
        """Stop the motion to a posture."""
        if self._going is not None:
            self._parts.motion.kill([self._going])

    def _arrived(self, name: str, fell: bool, result: Blocks, done: Blocks) -> None:
        if failed(done):
            finish(result, value=False)
            return
        served, goal = self._served, self._served.robot.posture(name)

        def set_down() -> None:
            if fell:
                served.body.sim.set_down(name)
                served.event("set down", said=f"the robot was set down in {name}")
            served.after(NOTICED_S if fell else SETTLED_S, look)

        def look() -> None:
            near = np.abs(served.seen.q - goal.angles)[self._not_hands] < NEAR
            stands = served.body.state in {goal.state, None}
            finish(result, value=bool(near.all()) and stands)

        served.after(0.0, set_down)

    def _poll(self) -> None:
        """Notify listeners of changes, about once a second."""
        now = self.present(), self.family()
        memory = self._parts.memory
        if now[0] != self._raised[0]:
            memory.raise_event("PostureChanged", now[0])
        if now[1] != self._raised[1]:
            memory.raise_event("PostureFamilyChanged", now[1])
        self._raised = now
        self._served.after(1.0, self._poll)


class ALRobotPosture(ALService):
    """Motions to postures, and the name of the present one."""

    NAME = "ALRobotPosture"

    def goToPosture(self, postureName: str, speed: float) -> Blocks:
        """Go to a posture, and wait; return true if the robot reached it."""
        return self._go(postureName, speed, straight=False)

    def applyPosture(self, postureName: str, speed: float) -> Blocks:
        """Move directly to the joint angles of a posture, and wait."""
        return self._go(postureName, speed, straight=True)

    def getPosture(self) -> str:
        """Return the present posture, or Unknown."""
        return self._parts.get(Postures).present()

    def getPostureList(self) -> list[str]:
        """Return the known postures."""
        return list(NAOQI_POSTURES)

    def getPostureFamily(self) -> str:
        """Return the family of the present posture."""
        return self._parts.get(Postures).family()

    def stopMove(self) -> None:
        """Stop the motion to a posture."""
        self._parts.get(Postures).stop()

    def _go(self, name: str, speed: float, *, straight: bool) -> Blocks:
        check_fraction(speed)
        postures = self._parts.get(Postures)
        if name not in self._served.robot.postures:
            self._parts.motion.warn(f"posture {name!r} is unknown")
            return ended(value=False)
        return postures.go(self._client.name, name, speed, straight=straight)
