"""One colour for each controller and joint name, in every figure of every kind."""

import pytest

from nao_testbed.controllers import controller_names
from nao_testbed.experiments.common.drawing.style import (
    COLOURS,
    OF_CONTROLLERS,
    OF_JOINTS,
    controller_colours,
    is_right,
    joint_colours,
)


def test_every_shipped_controller_has_a_colour_of_the_palette() -> None:
    assert set(OF_CONTROLLERS) == set(controller_names())
    colours = list(OF_CONTROLLERS.values())
    assert len(set(colours)) == len(colours)
    assert set(colours) | set(OF_JOINTS.values()) <= set(COLOURS)


@pytest.mark.parametrize(
    "names", [("minheat",), ("minheat", "fixed"), ("other", "smart", "minheat")]
)
def test_company_does_not_change_a_colour(names: tuple[str, ...]) -> None:
    assert controller_colours(names)["minheat"] == OF_CONTROLLERS["minheat"]


def test_a_variant_has_its_controllers_colour_unless_that_is_there() -> None:
    assert controller_colours(["smart:warm"])["smart:warm"] == OF_CONTROLLERS["smart"]
    found = controller_colours(["smart:warm", "smart", "mine"])
    assert found["smart"] == OF_CONTROLLERS["smart"]
    assert len(set(found.values())) == 3


@pytest.mark.parametrize("other", ["RAnklePitch", "left_ankle_pitch_joint"])
def test_left_right_and_other_robots_joints_share_a_colour(other: str) -> None:
    found = joint_colours(["HeadYaw", "LAnklePitch", other])
    assert found["LAnklePitch"] == found[other] == OF_JOINTS["anklepitch"]
    assert found["HeadYaw"] not in (found[other],)


def test_sides_are_known_by_the_name() -> None:
    names = ("RHipRoll", "right_knee_joint", "LHipRoll", "Rotor", "left_knee")
    assert [is_right(name) for name in names] == [True, True, False, False, False]
