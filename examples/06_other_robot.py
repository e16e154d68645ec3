"""Simulate another robot: a robot is a folder of data; no code depends on the NAO.

    python examples/06_other_robot.py path/to/robot_folder

The default is the small walker of the tests: a trunk and two legs of three joints,
2 kg. The same loop, stiffness controller and heating model run on it. The table shows
each motor's torque and the torque that the controller expects from equilibrium; the
difference is gear friction.

`tests/data/two_leg/` is a good start for your own folder; errors in its tables are
reported with file and line.
"""

import sys
from pathlib import Path

import numpy as np

from nao_testbed import Loop, SimulatedRobot, SimulationCfg, load_robot, run_for
from nao_testbed.controllers import SmartStiffness, flag_names

WALKER = Path(__file__).resolve().parents[1] / "tests" / "data" / "two_leg"


def main() -> None:
    robot = load_robot(sys.argv[1] if len(sys.argv) > 1 else WALKER)
    posture = next(
        p for p in robot.postures.values() if set(p.effectors) & {*robot.feet}
    )
    print(
        f"{robot.name}: {len(robot.joints)} joints, {len(robot.motors)} motors, "
        f"{robot.total_mass:.2f} kg; postures {', '.join(robot.postures)}"
    )

    sim = SimulatedRobot(robot, SimulationCfg(), posture.name)
    controller = SmartStiffness()
    run_for(Loop(sim, controller, posture.angles), 5.0)
    seen, report = sim.read(), controller.report
    if report is None:
        raise SystemExit("the controller made no step")

    print(f"after {seen.time_s:.0f} s in {posture.name}, fallen: {sim.has_fallen()}")
    print(
        f"force sensors {seen.fsr.sum():.2f} N, weight {9.81 * robot.total_mass:.2f} N"
    )
    flags = ", ".join(flag_names(report.flags)) or "none"
    print(f"fallbacks of the controller: {flags}\n")
    print(f"{'joint':<16}{'angle':>8}{'motor':>9}{'expected':>10}{'stiffness':>11}")
    print(f"{'':<16}{'deg':>8}{'N·m':>9}{'N·m':>10}")
    angles_deg = np.rad2deg(seen.q)
    torque = sim.motor_torque[robot.servo_of_joint]
    for j, name in enumerate(robot.joint_names):
        print(
            f"{name:<16}{angles_deg[j]:z8.2f}{torque[j]:z9.3f}"
            f"{report.torques.tau[j]:z10.3f}{report.stiffness[j]:11.3f}"
        )
    sim.close()


if __name__ == "__main__":
    main()
