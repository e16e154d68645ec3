"""One greeting on three bodies of a robot, one of them with a broken arm.

A greeting requires speech and the right arm; two steps forward are optional. Its
request is the same on every body. On a robot without legs, `RobotModel` owns the legs,
so the greeting runs without the steps. With a broken arm it does not run; the outcome
names the owner of the arm.
"""

from nao_testbed import Ledger, Owner, Request, Robot, load_robot
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    BrokenPart,
    freeze_absent,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree


def greet(robot: Robot, *, is_broken: bool) -> None:
    """Print what the greeting gets."""
    ledger = Ledger(ResourceTree(robot.resources))
    freeze_absent(ledger, robot, tick=0)
    broken = BrokenPart(ledger)
    if is_broken:
        broken.inject(["RElbowRoll"], tick=0)

    ledger.add_owner(Owner(name="greeting"), tick=0)
    request = Request(
        owner="greeting",
        resources=("TTS", "Right arm"),
        optional=("Left leg", "Right leg"),
        timeout_s=2.0,
    )
    ticket = ledger.request(request, tick=0)
    ledger.advance(tick=ledger.cfg.ticks(2.0))
    outcome = ticket.outcome
    if outcome is None:
        raise AssertionError("every request ends within its time limit")
    if outcome.is_granted:
        missing = f", without {' and '.join(outcome.missing)}" * bool(outcome.missing)
        print(f"  runs with {len(outcome.obtained)} resources{missing}")
    else:
        (blocker,) = outcome.blockers
        owners = ", ".join(blocker.owners)
        print(f"  does not run: {outcome.kind}; {owners} has {blocker.resource}")


def main() -> None:
    nao = load_robot()
    for body, is_broken in (("H25", False), ("T14", False), ("H25", True)):
        robot = nao.with_body(body)
        absent = ", ".join(robot.absent) or "nothing"
        print(f"body {body}, lacks {absent}{', its arm is broken' * is_broken}")
        greet(robot, is_broken=is_broken)


if __name__ == "__main__":
    main()
