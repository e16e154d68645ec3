"""Simulate a standing robot for five seconds, and check its sensor values by hand.

The lesson prints the torques of the left leg and two checks of measured values: the
force sensors carry the weight m g, and the ankle's torque balances the ground forces
under the foot.
"""

import numpy as np

from nao_testbed import Loop, SimulatedRobot, SimulationCfg, load_robot, run_for
from nao_testbed.controllers import FixedStiffness

GRAVITY = 9.81  # m/s²


def main() -> None:
    robot = load_robot()
    sim = SimulatedRobot(robot, SimulationCfg(), "PoseInit")
    loop = Loop(sim, FixedStiffness(), robot.posture("PoseInit").angles)
    run_for(loop, 5.0)

    seen, truth = sim.read(), sim.truth()  # measured values; true values
    print(f"{robot.name} after {seen.time_s:.0f} s in PoseInit, left leg:")
    print(f"{'joint':<14}{'angle':>9}{'motor':>9}{'joint':>9}")
    print(f"{'':<14}{'deg':>9}{'N·m':>9}{'N·m':>9}")
    for name in robot.groups["LLeg"]:
        j = robot.joint_index(name)
        angle_deg = np.rad2deg(seen.q[j])
        motor = truth.motor_torque[robot.servo_of_joint[j]]
        joint = truth.joint_torque[j]
        print(f"{name:<14}{angle_deg:z9.2f}{motor:z9.3f}{joint:z9.3f}")
    print("(the difference of the two torques sticks in the gear, as friction)\n")

    weight = robot.total_mass * GRAVITY
    print(f"force sensors, sum      {seen.fsr.sum():7.2f} N")
    print(f"weight m g, by hand     {weight:7.2f} N   ({robot.total_mass:.3f} kg)\n")

    # The foot is at rest: with x forward from the ankle's axis, the ankle's torque
    # equals that of the ground's forces less that of the foot's own weight.
    forces = {s.name: f for s, f in zip(robot.force_sensors, seen.fsr, strict=True)}
    feet = [s for s in robot.force_sensors if s.link == "l_ankle"]
    ground = sum(s.position[0] * forces[s.name] for s in feet)
    foot = next(link for link in robot.links if link.name == "l_ankle")
    by_hand = ground - foot.com[0] * foot.mass * GRAVITY
    measured = truth.joint_torque[robot.joint_index("LAnklePitch")]
    print(f"LAnklePitch, on joint   {measured:7.3f} N·m")
    print(f"from the forces, by hand{by_hand:7.3f} N·m (one sensor step is 0.39 N)")
    sim.close()


if __name__ == "__main__":
    main()
