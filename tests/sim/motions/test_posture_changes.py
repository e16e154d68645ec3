"""Motions from one posture to another, on the simulated robot.

Each is played with the normal torque limits, then its end is held. It ends in the
posture of the transition, on the soles, without a fall: on other floors, with
joints misaligned by a degree, and under the stiffness controller.
"""

from itertools import permutations

import pytest

from nao_testbed.controllers.stiffness import SmartStiffness
from nao_testbed.controllers.transmitter.commands.planning import find_way
from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.models.library import Transition
from tests.sim.motions.degree_off import falls
from tests.sim.motions.player import Outcome, Player, world

ERROR_DEG = 3.0
TILT_DEG = 35.0  # a robot that leans by 45 has fallen; sitting down leans by 28
UPRIGHT_TILT_DEG = 10.0  # StandInit itself leans by 6
FOOT_LIFT = 5e-3  # m, of the lower foot: one is always on the ground
SOLES = {"l_ankle", "r_ankle"}
POSTURES = ("Stand", "StandInit", "StandZero", "PoseInit", "Crouch", "Sit")

WAYS = load_robot(default_robot_folder()).library.transitions
FROM_OR_TO_SIT = [way for way in WAYS if "Sit" in (way.start, way.end)]
NAMES = [way.motion for way in WAYS]
QUICK = "Stand to StandInit"
"""Posture changes in `make test`; the other tests of each take a second."""


def check(robot: Robot, way: Transition, outcome: Outcome) -> None:
    """Fail if a change of posture was not stable."""
    assert outcome.error_deg < ERROR_DEG, outcome
    assert outcome.state == robot.posture(way.end).state
    if way in FROM_OR_TO_SIT:
        assert outcome.largest_tilt_deg < TILT_DEG
    else:
        assert outcome.largest_tilt_deg < UPRIGHT_TILT_DEG
        assert outcome.highest_foot < FOOT_LIFT
    if way.end != "Sit":
        assert outcome.carriers == SOLES
    else:
        assert {"LHip", "RHip"} <= outcome.carriers <= {"LHip", "RHip", *SOLES}


@pytest.mark.requirement("SY-2")
def test_every_transition_posture_reaches_every_other(nao: Robot) -> None:
    for start, end in permutations(POSTURES, 2):
        assert find_way(nao.library, start, end), f"{start} to {end}"


@pytest.mark.scenario
@pytest.mark.requirement("SY-2")
@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=() if way.motion == QUICK else pytest.mark.slow)
        for way in WAYS
    ],
    ids=NAMES,
)
def test_a_posture_change_ends_stably_in_that_posture(
    nao: Robot, way: Transition
) -> None:
    with Player(nao, world(), way.start) as player:
        player.play(nao.library.motion(way.motion))
        player.rest(2.0)
        check(nao, way, player.outcome())


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-2")
@pytest.mark.parametrize(
    ("way", "draw"), list(zip(WAYS, range(len(WAYS)), strict=True)), ids=NAMES
)
def test_it_holds_on_other_floors_with_misaligned_joints(
    nao: Robot, way: Transition, draw: int
) -> None:
    cfg = world(friction=(0.5, 0.9)[draw % 2], seed=draw)
    with Player(nao, cfg, way.start) as player:
        player.play(nao.library.motion(way.motion))
        player.rest(1.0)
        check(nao, way, player.outcome())


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-2")
@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("way", FROM_OR_TO_SIT, ids=lambda way: way.motion)
def test_sitting_down_and_standing_up_hold_with_many_calibrations(
    nao: Robot, way: Transition, seed: int
) -> None:
    with Player(nao, world(seed=seed), way.start) as player:
        player.play(nao.library.motion(way.motion))
        player.rest(0.5)
        check(nao, way, player.outcome())


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-2")
@pytest.mark.parametrize(
    "name", ["Sit to Stand", "Stand to Crouch", "Crouch to Stand", "Stand to Sit"]
)
def test_the_computed_stiffness_is_sufficient(nao: Robot, name: str) -> None:
    """The document's law limits torques during motion too."""
    way = next(way for way in WAYS if way.motion == name)
    with Player(nao, world(), way.start, SmartStiffness()) as player:
        player.play(nao.library.motion(name))
        player.rest(1.0)
        check(nao, way, player.outcome())


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-2")
def test_robots_with_misaligned_leg_joints_stand_up_again(nao: Robot) -> None:
    """They fell until the motion kept the centre of mass ahead of the heels.

    Robot 30 fell too with PyBullet's correct tipping speed.
    """
    assert falls(nao, "smart", (12, 22, 44)) == {}


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.parametrize("name", ["Sit to Stand", "Stand to Crouch"])
def test_it_can_be_interrupted_at_any_time(nao: Robot, name: str) -> None:
    """Stopped every 0.5 s, the robot holds its pose for a second."""
    motion = nao.library.motion(name)
    assert motion.start is not None
    with Player(nao, world(), motion.start) as player:
        for k, target in enumerate(player.ways(motion)):
            player.slot(target)
            if k % 50 == 49:
                kept = player.sim.snapshot()
                player.rest(1.0)
                assert player.tilt_deg < TILT_DEG, f"stopped at {(k + 1) / 100} s"
                player.sim.restore(kept)
                player.sim.forget(kept)
