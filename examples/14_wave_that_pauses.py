"""Wave as a timeline of frames that pauses for another owner and then continues.

The timelines of ES2535273 show 15 frames a second and do not reserve motors. Here the
schema `frames` reserves the right arm with the policy `PauseOnDemand`. `point` gets the
arm immediately for a second; then the wave continues with a new token.

The table shows the present frame, and the shoulder angle, also during the pause.
"""

import math

from nao_testbed import Owner, Request, load_robot
from nao_testbed.controllers.arbitration import PauseOnDemand
from nao_testbed.controllers.schemas import Activation
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedger

FRAMES = 30
WAVE = Activation(
    schema="frames",
    name="wave",
    needs=("Right arm",),
    policy=PauseOnDemand(),
    parameters={
        "angles": {
            "RShoulderPitch": tuple(1.4 - 1.4 * k / FRAMES for k in range(FRAMES)),
            "RElbowRoll": tuple(0.8 + 0.4 * math.sin(k) for k in range(FRAMES)),
        },
    },
)


def main() -> None:
    robot = load_robot()
    body = RobotWithLedger(robot)
    ledger = body.ledger
    schemas = SchemaRuntime(
        robot, ledger, GateActuators(body.gate, body.commands, ledger)
    )
    schemas.add(WAVE)
    for name in ("point", "all schemas"):
        ledger.add_owner(Owner(name=name), body.tick)
    body.behaviours.add("all schemas", schemas.step)
    schemas.wake("wave", body.tick)
    pointing = None

    print(f"{'time':>6}{'frame':>7}{'shoulder':>13}   holder of right arm")
    while not schemas.is_quiet:
        body.slot()
        if body.tick == 100:
            request = Request(owner="point", resources=("Right arm",))
            pointing = ledger.request(request, ledger.tick)
        if body.tick == 200 and pointing is not None:
            ledger.release(pointing.token, ledger.tick)
        if body.tick % 25 == 0:
            has_it = schemas.may_act("wave")
            frame = schemas.value("wave", "frame") if has_it else "-"
            angle = body.sim.read().q[robot.joint_index("RShoulderPitch")]
            whose = "wave" if has_it else "point; wave waits"
            print(f"{body.time_s:4.2f} s{frame:>7}{angle:9.2f} rad   {whose}")
    print(f"finished after {body.time_s:.1f} s, one of them paused")
    body.close()


if __name__ == "__main__":
    main()
