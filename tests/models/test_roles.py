"""Features find the parts of a robot by its roles; a missing role is named."""

import dataclasses
from collections.abc import Callable

import pytest

from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    HotEngineCfg,
    energy_saving,
)
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.library.fall import (
    ProtectFromFall,
    ProtectParameters,
)
from nao_testbed.controllers.schemas.library.go_to_posture import Sit, SitParameters
from nao_testbed.controllers.schemas.library.idle import Breathe, BreatheParameters
from nao_testbed.controllers.schemas.library.look_around import (
    LookAround,
    LookAroundParameters,
)
from nao_testbed.controllers.stiffness.contacts import PostureCfg, PostureMatcher
from nao_testbed.models import BadInput, Robot, UnknownName, load_robot
from nao_testbed.models.roles import MissingRole
from nao_testbed.sim.thermal.protection import (
    PROTECTIONS,
    make_protection,
    own_protection,
)


@pytest.fixture
def g1() -> Robot:
    return load_robot("g1")


@pytest.mark.parametrize("name", ["nao", "g1", "t1"])
def test_a_posture_is_found_by_its_role(name: str) -> None:
    robot = load_robot(name)
    assert robot.posture("upright").name == robot.roles.postures["upright"]
    assert robot.posture_name(None, "upright") == robot.roles.postures["upright"]
    assert robot.posture_name(None) == robot.roles.postures["default"]
    assert robot.posture_name("bent") == "bent"  # `posture` says whether it exists


def test_without_roles_the_first_posture_is_used(two_leg: Robot) -> None:
    assert two_leg.posture_name(None, "upright") == next(iter(two_leg.postures))
    with pytest.raises(MissingRole, match=r"`postures: \{sit: POSTURE\}` under"):
        two_leg.posture("sit")
    with pytest.raises(UnknownName):
        two_leg.posture("kneel")


def test_a_posture_may_have_the_name_of_a_role(two_leg: Robot) -> None:
    first = next(iter(two_leg.postures.values()))
    named = dataclasses.replace(first, name="sit")
    robot = dataclasses.replace(two_leg, postures={"sit": named})
    assert robot.posture("sit") is named


def test_a_feature_names_the_role_that_is_missing(g1: Robot) -> None:
    own = Activation(name="x", schema="x")
    missing: dict[str, Callable[[], object]] = {
        "head": lambda: LookAround.needs_of(LookAroundParameters(), g1),
        "falling": lambda: ProtectFromFall.check_activation(
            own, ProtectParameters(), g1
        ),
        "postures.sit": lambda: Sit.check_activation(own, SitParameters(), g1),
        "breathing_deg": lambda: Breathe.needs_of(BreatheParameters(limbs="legs"), g1),
    }
    for role, call in missing.items():
        with pytest.raises(MissingRole, match=r"add `.*` under `roles` in its") as said:
            call()
        assert f"needs the role {role!r}, which robot 'g1' lacks" in str(said.value)


def test_parts_are_found_by_their_roles() -> None:
    t1 = load_robot("t1")
    assert LookAround.needs_of(LookAroundParameters(), t1) == ("head",)
    assert set(Breathe.needs_of(BreatheParameters(), t1)) == {
        *("Left_Shoulder_Roll", "Right_Shoulder_Roll")
    }
    assert energy_saving(t1).caps["left_arm"] == 0.2
    assert len(t1.leg("left")) == 6


def test_idle_joints_are_ignored_in_matching(g1: Robot) -> None:
    matcher = PostureMatcher(g1, PostureCfg())
    q = g1.posture("bent").angles.copy()
    for joint in g1.roles.idle_joints:
        q[g1.joint_index(joint)] += 1.0
    near = matcher.closest(q)
    assert near is not None
    assert near.name == "bent"
    q[g1.joint_index("left_knee")] += 2.0
    assert matcher.closest(q) is None


def test_a_robot_has_its_own_protection(nao: Robot, g1: Robot) -> None:
    assert own_protection(nao) == PROTECTIONS["nao"]
    assert HotEngineCfg.of(nao) == HotEngineCfg() == HotEngineCfg.of(g1)
    with pytest.raises(BadInput, match="robot 'g1' has no thresholds of its own; add"):
        make_protection("robot", g1)
    assert nao.protection is not None
    cool = dataclasses.replace(
        nao.protection, onset_degc=(50.0, 60.0, 90.0), release_degc=(45.0, 55.0, 80.0)
    )
    robot = dataclasses.replace(g1, protection=cool)
    assert HotEngineCfg.of(robot).onset_degc == 50.0
    assert own_protection(robot).release_degc[0] == 45.0
