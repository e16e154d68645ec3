"""A raised arm that breaks and hangs down stays down after repair."""

import pytest

from tests.experiments.shared_robot.conftest import Couple, take

GENTLE_RAD_S = 0.2
"""Speed of a settling arm; a servo that jumps to an old set-point reaches 6 rad/s."""


@pytest.mark.slow
@pytest.mark.requirement("RM-43")
def test_repaired_arm_does_not_snap_back(couple: Couple) -> None:
    body = couple()
    arm = body.sim.robot.joint_index("RShoulderPitch")
    token = take(body, "raise", "RShoulderPitch")

    def lift(*_: object) -> None:
        body.gate.submit(token, "RShoulderPitch", -1.0)

    body.behaviours.add("raise", lift)
    body.run(1.0)
    assert body.sim.read().q[arm] == pytest.approx(-1.0, abs=0.1)
    body.break_parts(["RShoulderPitch"])
    body.run(3.0)
    hanging = body.sim.read().q[arm]
    assert hanging > 1.0
    body.repair_parts(["RShoulderPitch"])
    fastest = 0.0
    for _ in range(50):
        body.slot()
        fastest = max(fastest, abs(body.sim.read().v[arm]))
    assert fastest < GENTLE_RAD_S
    assert body.sim.read().q[arm] == pytest.approx(hanging, abs=0.05)
    assert body.gate.present["RShoulderPitch"] == pytest.approx(hanging, abs=0.05)
