"""Every instant of a change of posture is statically balanced.

No engine is used: set-points of the library, masses of the URDF, forces in friction
cones. The torque limits suffice to sit down on the ground and to get up.
"""

import numpy as np
import pytest

from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.models.library import Transition
from tests.sim.motions.balance import Balance
from tests.sim.motions.player import set_points

MARGIN = 0.010  # m that the centre of mass stays inside its support
UPRIGHT_MARGIN = 0.050
SHARE = 0.45  # of the torque limits; StandZero's arms ask for 0.41
EVERY = 10  # slots: 0.1 s

WAYS = load_robot(default_robot_folder()).library.transitions


@pytest.fixture(scope="module")
def balance(nao: Robot) -> Balance:
    return Balance(nao, friction=0.5)


@pytest.mark.slow
@pytest.mark.requirement("SY-2")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.motion)
def test_every_instant_of_a_change_of_posture_could_be_held(
    nao: Robot, balance: Balance, way: Transition
) -> None:
    start = nao.posture(way.start).angles
    rows = set_points(nao, nao.library.motion(way.motion), start)
    needed = MARGIN if "Sit" in (way.start, way.end) else UPRIGHT_MARGIN
    for k in range(0, len(rows), EVERY):
        balance.pose(rows[k])
        assert balance.margin() > needed, f"after {k} slots"
        assert balance.torque_share() < SHARE, f"after {k} slots"


def test_standing_up_leaves_the_ground_with_the_mass_over_the_soles(
    nao: Robot, balance: Balance
) -> None:
    """Seated first, then not seated: no jump back and no fall forward."""
    motion = nao.library.motion("Sit to Stand")
    seated = []
    for row in set_points(nao, motion, nao.posture("Sit").angles)[::EVERY]:
        balance.pose(row)
        seated.append(balance.is_seated)
    assert seated[0]
    assert not seated[-1]
    assert np.count_nonzero(np.diff(seated)) == 1


def test_a_pose_whose_mass_is_behind_its_soles_cannot_be_held(
    nao: Robot, balance: Balance
) -> None:
    """The published Sit, lifted, has no solution of the linear programme."""
    balance.pose(nao.posture("Sit").angles)
    assert balance.margin() > 0.0
    balance.supports = [s for s in balance.supports if s.link not in ("LHip", "RHip")]
    assert balance.margin() < 0.0
    assert balance.torque_share() == np.inf
