"""Save energy: cap the stiffness of the joints without revoking a token.

A degraded mode is a virtual owner that occupies many joints in part. The behaviour that
holds the left arm keeps its token and always commands full stiffness; the gate limits
it to a fifth while the mode is active. Two modes can be active at once: the smaller cap
applies, and each mode ends independently.
"""

import numpy as np

from nao_testbed import Owner, Request, load_robot
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    ENERGY_SAVING,
    DegradedMode,
    energy_saving,
)
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedger

QUIET = DegradedMode(name="quiet", caps={"Left arm": 0.1, "Head": 0.5})
JOINTS = ("HeadYaw", "LShoulderPitch", "LKneePitch")


def show(robot: RobotWithLedger, when: str) -> None:
    """Run for a second and print the stiffness of the joints."""
    robot.run(1.0)
    seen = robot.sim.read()
    body = robot.sim.robot
    row = "".join(f"{seen.stiffness[body.joint_index(name)]:16.2f}" for name in JOINTS)
    holder = ", ".join(robot.modes.in_force) or "none"
    print(f"{when:<22}{row}   {holder}")


def main() -> None:
    robot = RobotWithLedger(load_robot())
    robot.ledger.add_owner(Owner(name="wave"), robot.tick)
    wanted = Request(owner="wave", resources=("Left arm", "Stiffness"))
    token = robot.ledger.request(wanted, robot.tick).token
    stiffness = np.ones(len(robot.sim.robot.joints))
    robot.behaviours.add(
        "wave", lambda *_: robot.gate.submit_stiffness(token, stiffness)
    )

    print(f"{'':<22}" + "".join(f"{name:>16}" for name in JOINTS) + "   active modes")
    show(robot, "at first")
    robot.modes.enter(energy_saving(load_robot()), robot.tick)
    show(robot, "low battery")
    robot.modes.enter(QUIET, robot.tick)
    show(robot, "person asleep")
    robot.modes.leave(ENERGY_SAVING, robot.tick)
    show(robot, "charged")
    robot.modes.leave(QUIET.name, robot.tick)
    show(robot, "morning")
    is_valid = robot.ledger.authorise(token, "LShoulderPitch") is None
    print(f"wave keeps its arm: {is_valid}")
    robot.close()


if __name__ == "__main__":
    main()
