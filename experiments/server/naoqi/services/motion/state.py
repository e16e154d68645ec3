"""ALMotion: properties and present state of the robot's body."""

from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import Value, pairs
from nao_testbed.experiments.server.naoqi.memory.memory_keys import PREFIX
from nao_testbed.experiments.server.naoqi.service import ALService, SharedPart
from nao_testbed.experiments.server.naoqi.services.motion.settings import MotionSettings


class BodyState(ALService):
    """Methods of ALMotion about the state of the body."""

    _settings = SharedPart(MotionSettings)

    def getBodyNames(self, name: str) -> list[str]:
        """Return the joints of a chain or collection; the chains for Chains."""
        body = self._parts.body
        return list(body.chains) if name == "Chains" else body.joints([name])

    def getSensorNames(self) -> list[str]:
        """Return the names of the robot's sensors."""
        keys = self._parts.memory.names()
        return [
            key.removeprefix(PREFIX).removesuffix("Sensor/Value").rstrip("/")
            for key in keys
            if key.startswith(PREFIX) and key.endswith("Sensor/Value")
        ]

    def getLimits(self, name: str) -> list[list[float]]:
        """Return minimum and maximum angle, maximum speed and torque of each joint."""
        robot = self._served.robot
        found = [
            robot.joints[i]
            for i in self._parts.body.indices(self._parts.body.joints([name]))
        ]
        return [[j.lower, j.upper, j.max_velocity, j.effort_limit] for j in found]

    def getSummary(self) -> str:
        """Return a table of all joints, and the running tasks."""
        body, served = self._parts.body, self._served
        allowed = served.stiffness.allowed
        lines = [f"{'Joint':<16}{'Stiffness':>10}{'Command':>10}{'Sensor':>10}"]
        for joint, i in zip(body.body, body.indices(body.body), strict=True):
            lines.append(
                f"{joint:<16}{allowed[i]:>10.2f}{served.commanded[i]:>10.4f}"
                f"{served.seen.q[i]:>10.4f}"
            )
        lines.append("Tasks:")
        for task in self._parts.motion.tasks():
            lines.append(f"  {task.number} {task.name} {' '.join(task.joints)}")
        for said, count in sorted(self._parts.motion.warnings.items()):
            lines.append(f"Warning, {count} times: {said}")
        return "\n".join(lines) + "\n"

    def setMotionConfig(self, config: Value) -> None:
        """Store settings; none has an effect on a standing robot."""
        self._settings.config.update(pairs("config", config))
        self._client.pretended["ALMotion.setMotionConfig"] += 1

    def getMotionConfig(self) -> list[list[Any]]:
        """Return the stored settings."""
        return [[k, v] for k, v in self._settings.config.items()]
