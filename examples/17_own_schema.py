"""Two own schemas: one estimates the lean of the robot, one levels the head."""

from dataclasses import dataclass
from math import atan2, degrees

from nao_testbed import Owner, load_robot
from nao_testbed.controllers.schemas import (
    Activation,
    ActuationSchema,
    NoParameters,
    PerceptiveSchema,
    SchemaInfo,
    Variable,
)
from nao_testbed.controllers.schemas.registry import Registry
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.experiments import RobotWithLedger, RobotWithLedgerCfg


class Lean(PerceptiveSchema[NoParameters]):
    """Estimates the forward lean of the torso, smoothed over a fifth of a second."""

    angle = Variable(name="angle", type=float, unit="rad", about="Forward.", initial=0)
    info = SchemaInfo(name="lean", about="Sees.", period_s=0.02, outputs=(angle,))
    smooth = 0.0

    def perceive(self) -> None:
        """Called every 20 ms while the schema is active."""
        x, _, z = self.observation.accelerometer.tolist()
        self.smooth += 0.1 * (atan2(-x, z) - self.smooth)
        self.write("angle", self.smooth)


@dataclass(frozen=True, kw_only=True)
class LevelHeadParameters:
    """Parameters, adjustable at run time."""

    gain: float = 1.0


class LevelHead(ActuationSchema[LevelHeadParameters]):
    """Turns the head against the lean of the torso."""

    info = SchemaInfo(
        name="level head",
        about="Turn the head against the lean.",
        parameters=LevelHeadParameters,
        needs=("HeadPitch",),
        reads=("lean.angle",),
        period_s=0.02,  # the cycle time
    )

    def start(self) -> None:
        """Called when the schema has won and has its resources."""
        self.wake("lean")

    def iterate(self) -> None:
        """Called every 20 ms from then on."""
        self.submit("HeadPitch", -self.parameters.gain * self.read("lean.angle"))


robot = load_robot()
body = RobotWithLedger(robot, RobotWithLedgerCfg(posture="StandInit"))
act = GateActuators(body.gate, body.commands, body.ledger)
known = Registry({"lean": Lean, "level head": LevelHead})
schemas = SchemaRuntime(robot, body.ledger, act, registry=known)
schemas.add(Activation(schema="level head"))
body.ledger.add_owner(Owner(name="all schemas"), body.tick)
body.behaviours.add("all schemas", schemas.step)
for gain in (0.0, 1.0):
    schemas.wake("level head", body.tick, {"gain": gain})
    body.run(2.0)
    lean = degrees(schemas.value("level head/lean", "angle"))
    neck = degrees(body.sim.read().q[robot.joint_index("HeadPitch")])
    print(f"gain {gain}: torso {lean:.1f}°, neck {neck:.1f}°, head {lean + neck:.1f}°")
body.close()
