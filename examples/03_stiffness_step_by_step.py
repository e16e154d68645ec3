"""Follow one tick of the stiffness controller through the steps of ES2659053.

The numbers at the left are those of figures 6, 7 and 9 of the patent. All values come
from the controller's report of its last step, which is available at every tick: the
estimated vertical, the assumed ground contacts, and the reason of each joint's limit.
The steps are implemented in `controllers/stiffness/`.
"""

import numpy as np

from nao_testbed import Loop, SimulatedRobot, SimulationCfg, load_robot, run_for
from nao_testbed.controllers import SmartStiffness, flag_names


def main() -> None:
    robot = load_robot()
    controller = SmartStiffness()
    sim = SimulatedRobot(robot, SimulationCfg(), "PoseInit")
    run_for(Loop(sim, controller, robot.posture("PoseInit").angles), 3.0)
    report = controller.report
    if report is None:
        raise SystemExit("the controller made no step")

    plane, torques = report.plane, report.torques
    print(f"one tick at {report.time_s:.2f} s\n\nfirst logic (310): joint torques")
    up = ", ".join(f"{x:z.4f}" for x in plane.up)
    print(f"610  plane normal to gravity, in the torso's frame: ({up})")
    if plane.difference_rad is not None:
        angle_deg = np.rad2deg(plane.difference_rad)
        print(f"     differs from the soles by {angle_deg:.2f} deg")
    com = ", ".join(f"{x:z.1f}" for x in 1000.0 * report.com)
    print(f"620  angles read; centre of mass in the torso's frame: ({com}) mm")
    print(f"630  gravity points against that normal, by the {plane.source.value}")
    print("640  the term -M(q)G, what gravity asks of each joint: first column below")
    print(f"650  posture {report.posture}; {len(report.contact_names)} contacts:")
    print("660  their forces carry the weight and balance its moments")
    for name, force in zip(report.contact_names, report.contact_forces, strict=True):
        print(f"       {name:<10}{force:7.2f} N")
    print(f"       sum       {report.contact_forces.sum():7.2f} N")
    print("670  Ct(q), how a force at each contact turns each joint")
    print("680  Ct(q) times the forces: second column")
    print("690  the torque of each joint: first minus second column")
    print("\nsecond logic (320): stiffness = |torque| / limit + offset")
    names = ("640", "680", "690", "limit", "share", "offset", "320")
    units = ("N·m", "N·m", "N·m", "N·m", "", "", "stiffness")
    print(" " * 14 + "".join(f"{name:>10}" for name in names))
    print(" " * 14 + "".join(f"{unit:>10}" for unit in units))
    offset = np.broadcast_to(report.offset, len(robot.joints))
    for name in robot.groups["LLeg"]:
        j = robot.joint_index(name)
        row = (
            torques.gravity_term[j],
            torques.contact_term[j],
            torques.tau[j],
            robot.effort_limit[j],
            abs(torques.tau[j]) / robot.effort_limit[j],
            offset[j],
            report.stiffness[j],
        )
        print(f"{name:<14}" + "".join(f"{value:z10.3f}" for value in row))
    print("(the hip yaw-pitch joints of both legs share a motor: it gives the sum)")
    flags = ", ".join(flag_names(report.flags)) or "none"
    print(f"\nfallbacks in this tick: {flags}")
    sim.close()


if __name__ == "__main__":
    main()
