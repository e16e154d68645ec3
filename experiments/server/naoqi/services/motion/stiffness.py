"""ALMotion: stiffness, waking and resting."""

from collections.abc import Mapping
from concurrent.futures import Future

import numpy as np

from nao_testbed.experiments.server.naoqi.arguments import (
    Names,
    Numbers,
    Value,
    in_range,
)
from nao_testbed.experiments.server.naoqi.motion.curves import through
from nao_testbed.experiments.server.naoqi.served_robot import answered, failed, finish
from nao_testbed.experiments.server.naoqi.service import Blocks, ended
from nao_testbed.experiments.server.naoqi.services.motion.heat_effect import HeatEffect
from nao_testbed.experiments.server.naoqi.services.motion.joints import Joints, paths_of
from nao_testbed.experiments.server.naoqi.services.motion.postures import Postures
from nao_testbed.models import BadInput

REST_SPEED = 0.5
"""Speed of the motion to the rest posture, as a fraction."""


class Stiffness(Joints):
    """Methods of ALMotion about stiffness."""

    def setStiffnesses(self, names: Names, stiffnesses: Numbers) -> None:
        """Set the stiffness of joints, from 0 to 1."""
        body = self._parts.body
        joints = body.joints(names)
        values = body.spread("stiffnesses", stiffnesses, len(joints))
        self._stiffen(dict(zip(joints, values, strict=True)))

    def getStiffnesses(self, names: Names) -> list[float]:
        """Return the stiffness set by programs."""
        indices = self._parts.body.indices(self._parts.body.joints(names))
        allowed = self._served.stiffness.allowed
        return [float(allowed[i]) for i in indices]

    def stiffnessInterpolation(
        self, names: Names, stiffnessLists: Value, timeLists: Value
    ) -> Blocks:
        """Interpolate the stiffness of joints through values at times, and wait."""
        joints = self._parts.body.joints(names)
        paths = paths_of(joints, stiffnessLists, timeLists, "stiffnesses")
        for values, _ in paths.values():
            for value in values:
                in_range("stiffness", value, 0.0, 1.0)
        user, index = self._served.stiffness.user, self._served.robot.joint_index
        curves = {
            joint: through(float(user[index(joint)]), times, values)
            for joint, (values, times) in paths.items()
        }
        length_s = max(one.length_s for one in curves.values())
        begin, done = self._served.time_s, Future[None]()

        def go_on() -> None:
            if done.cancelled():
                return
            time_s = self._served.time_s - begin
            now = {j: min(max(c.curve(time_s), 0.0), 1.0) for j, c in curves.items()}
            self._stiffen(now)
            if time_s >= length_s:
                finish(done)
            else:
                self._served.after(2 * self._served.tick_s, go_on)

        self._served.after(0.0, go_on)
        return done

    def wakeUp(self) -> Blocks:
        """Stiffen the body; stand up from a crouch; return true on success."""
        memory, heat = self._parts.memory, self._parts.get(HeatEffect)
        if heat.forbids_wake_up:
            return ended(value=False)
        memory.raise_event("ALMotion/Stiffness/wakeUpStarted", value=True)
        was_awake = self._is_awake()
        joints = self._parts.body.body
        self._stiffen(dict.fromkeys(joints, 1.0))
        postures = self._parts.get(Postures)

        def woken(done: Blocks) -> bool:
            went_well = not failed(done) and bool(done.result())
            memory.raise_event("ALMotion/Stiffness/wakeUpFinished", value=went_well)
            memory.raise_event("robotIsWakeUp", value=went_well)
            return went_well

        if postures.family() == "Standing" or (was_awake and not postures.has_fallen()):
            return ended(woken(ended(value=True)))
        going = postures.go(self._client.name, "StandInit", REST_SPEED)
        return answered(going, woken)

    def rest(self, chain: str = "Body") -> Blocks:
        """Move to Crouch and remove all stiffness; for a chain, only the latter."""
        joints = self._parts.body.joints([chain])
        if chain != "Body":
            self._stiffen(dict.fromkeys(joints, 0.0))
            return ended()
        memory = self._parts.memory
        memory.raise_event("ALMotion/Stiffness/restStarted", value=True)
        going = self._parts.get(Postures).go(self._client.name, "Crouch", REST_SPEED)

        def limp(done: Blocks) -> None:
            if done.cancelled():
                return  # interrupted: without stiffness the robot would fall
            self._stiffen(dict.fromkeys(joints, 0.0))
            memory.raise_event("ALMotion/Stiffness/restFinished", value=True)
            memory.raise_event("robotIsWakeUp", value=False)

        return answered(going, limp)

    def robotIsWakeUp(self) -> bool:
        """Return true if the legs are stiff."""
        return self._is_awake()

    def setSmartStiffnessEnabled(self, isEnabled: bool) -> bool:
        """Enable or disable the stiffness controller within the set stiffness."""
        self._served.stiffness.is_on = isEnabled
        self._served.event("smart", said=f"{self._client.name}: {isEnabled}")
        return True

    def getSmartStiffnessEnabled(self) -> bool:
        """Return true if the stiffness controller is enabled."""
        return self._served.stiffness.is_on

    def openHand(self, handName: str) -> Blocks:
        """Open a hand, and wait; then remove its motor's stiffness."""
        return self._hand(handName, 1.0)

    def closeHand(self, handName: str) -> Blocks:
        """Close a hand, and wait; then remove its motor's stiffness."""
        return self._hand(handName, 0.0)

    # -- internals ---------------------------------------------------------------------

    def _hand(self, name: str, opening: float) -> Blocks:
        if name not in {"LHand", "RHand"}:
            raise BadInput(f"hand is {name!r}; give LHand or RHand.")
        self._stiffen({name: 1.0})
        moving = self.angleInterpolationWithSpeed([name], opening, 1.0)
        return answered(moving, lambda _: self._stiffen({name: 0.0}))

    def _is_awake(self) -> bool:
        body = self._parts.body
        legs = body.chain_joints("Legs") or body.body
        allowed = self._served.stiffness.allowed
        return bool((allowed[body.indices(list(legs))] > 0.0).all())

    def _stiffen(self, values: Mapping[str, float]) -> None:
        for value in values.values():
            in_range("stiffness", value, 0.0, 1.0)
        with self._served.access():
            stiffness = self._served.stiffness
            user = stiffness.user
            robot = self._served.robot
            for joint, value in values.items():
                user[robot.joint_index(joint)] = value
            for i, one in enumerate(robot.joints):  # one stiffness per motor
                if one.motor != one.name and one.motor in values:
                    user[i] = user[robot.joint_index(one.motor)]
            stiffness.set_user(user)
        self._raise_stiffness_event(float(np.mean(user)))

    def _raise_stiffness_event(self, mean: float) -> None:
        level = 0 if mean < 0.05 else 2 if mean > 0.95 else 1
        memory = self._parts.memory
        if memory.find("BodyStiffnessChanged") != level:
            memory.raise_event("BodyStiffnessChanged", level)
