"""Hold a part of the robot with a lease: a `with` block that waits, pauses and resumes.

`look` holds the head and pauses on demand. `nod` waits for the head, holds it for half
a second and releases it; `look` resumes with a new token. Then the head overheats, and
the lease reports the reason for its loss. The same block works in threads
(`SharedLedger`) and on another machine (`Client`).
"""

from nao_testbed import load_robot
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedger


def main() -> None:
    robot = RobotWithLedger(load_robot())
    nod = robot.lease("Head", owner="nod")

    with robot.lease("Head", owner="look", wait_s=1.0, policy="pause") as look:
        said = None
        while look.lost is None:
            token = look.token
            if token is not None:
                robot.gate.submit(token, "HeadYaw", 0.4)
            now = f"by token {token.id}" if token else "waits"
            if now != said:
                print(f"{robot.time_s:4.2f} s  look {now}")
                said = now
            robot.slot()
            if robot.tick == 50:
                nod.begin()
            if robot.tick == 100:
                nod.close()
            if robot.tick == 150:
                robot.ledger.freeze(["HeadYaw"], "hotEngine", robot.ledger.tick)
        print(f"{robot.time_s:4.2f} s  look lost the head: {look.lost}")
    robot.close()


if __name__ == "__main__":
    main()
