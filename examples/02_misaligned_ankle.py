"""Misalign one ankle by 2 degrees, and compare the torques of the whole robot.

Both feet are flat on the ground: legs, pelvis and ground form a closed chain, so an
error of one joint loads the others. The left ankle pushes towards an angle that the
ground prevents, and the right leg pushes back, mostly with its knee. No controller can
measure the error, because the encoder itself is misaligned.

Heat grows with the square of the torque. The last column shows the consequence: the
final motor temperature of a robot that stands indefinitely.
"""

from collections.abc import Mapping

from nao_testbed import Loop, Robot, SimulatedRobot, SimulationCfg, load_robot, run_for
from nao_testbed.controllers import FixedStiffness
from nao_testbed.experiments import LEG_JOINTS


def stand(robot: Robot, misalignment_deg: Mapping[str, float]) -> SimulatedRobot:
    """Return a robot that has stood for five seconds."""
    cfg = SimulationCfg(misalignment_deg=misalignment_deg)
    sim = SimulatedRobot(robot, cfg, "PoseInit")
    loop = Loop(sim, FixedStiffness(), robot.posture("PoseInit").angles)
    run_for(loop, 5.0)
    return sim


def main() -> None:
    robot = load_robot()
    aligned = stand(robot, {})
    off = stand(robot, {"LAnklePitch": 2.0})

    print("motor torques after 5 s in PoseInit, and with LAnklePitch 2 deg off")
    print(f"{'':<14}{'aligned':>9}{'2 deg':>9}{'share of':>10}{'final, °C':>20}")
    print(f"{'':<14}{'N·m':>9}{'N·m':>9}{'limit':>10}{'aligned':>11}{'2 deg':>9}")
    before, after = aligned.mean_square, off.mean_square  # per motor, N²m²
    ends_before = aligned.heating.steady_state(before)
    ends_after = off.heating.steady_state(after)
    for name in (side + joint for side in "LR" for joint in LEG_JOINTS):
        j = robot.joint_index(name)
        m = robot.servo_of_joint[j]
        share = abs(off.motor_torque[m]) / robot.effort_limit[j]
        print(
            f"{name:<14}{aligned.motor_torque[m]:z9.3f}{off.motor_torque[m]:z9.3f}"
            f"{share:10.0%}{ends_before[m]:11.1f}{ends_after[m]:9.1f}"
        )

    heat = aligned.heating.joule_power(before).sum()
    more = off.heating.joule_power(after).sum()
    print(f"\nall motors{heat:13.2f}{more:9.2f} W of heat")
    aligned.close()
    off.close()


if __name__ == "__main__":
    main()
