"""A wave is a timeline of frames; it pauses for somebody, and goes on where it was.

The timelines of ES2535273 show 15 frames a second and take the motors for granted. Here
the wave reserves the right arm, and `PauseOnDemand` answers for it: `point` has the arm
for a second at once, and when it is done the wave has its arm back, by a new token.

One sees the frame that is played, and the shoulder that the gate holds meanwhile.
"""

import math

from nao_testbed import Owner, Request, load_robot
from nao_testbed.controllers.arbitration import (
    Behaviour,
    LedgerFront,
    PauseOnDemand,
    start_behaviour,
    stop_behaviour,
)
from nao_testbed.controllers.arbitration.behaviours import Timeline, TimelinePlayer
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedger

FRAMES = 30
WAVE = Behaviour(
    name="wave",
    essential=("Right arm",),
    policy=PauseOnDemand(),
    timeline=Timeline(
        frames=FRAMES,
        angles={
            "RShoulderPitch": tuple(1.4 - 1.4 * k / FRAMES for k in range(FRAMES)),
            "RElbowRoll": tuple(0.8 + 0.4 * math.sin(k) for k in range(FRAMES)),
        },
    ),
)


def main() -> None:
    robot = RobotWithLedger(load_robot())
    ledger, front = robot.ledger, LedgerFront(robot.ledger)
    shoulder = robot.sim.robot.joint_index("RShoulderPitch")
    ledger.add_owner(Owner(name="point"), robot.tick)
    wave = start_behaviour(WAVE, front)
    player = TimelinePlayer(wave, ledger, robot.gate)
    pointing = None

    print(f"{'time':>6}{'frame':>7}{'shoulder':>13}   who has the right arm")
    while not player.is_over:
        player.step(robot.tick)
        robot.slot()
        if robot.tick == 100:
            request = Request(owner="point", resources=("Right arm",))
            pointing = ledger.request(request, ledger.tick)
        if robot.tick == 200 and pointing is not None:
            ledger.release(pointing.token, ledger.tick)
        if robot.tick % 25 == 0:
            token = wave.present_token(ledger)
            frame = "-" if player.frame is None else player.frame
            angle = robot.sim.read().q[shoulder]
            whose = f"wave, by token {token.id}" if token else "point; wave waits"
            print(f"{robot.time_s:4.2f} s{frame:>7}{angle:9.2f} rad   {whose}")
    print(f"over after {robot.time_s:.1f} s, of which one was a pause")
    stop_behaviour(wave, front)
    robot.close()


if __name__ == "__main__":
    main()
