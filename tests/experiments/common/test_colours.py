"""One colour for each controller and joint name in all figures."""

from types import SimpleNamespace
from typing import Any

import numpy as np
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
from nao_testbed.experiments.heat.figures.charts import internal_figure
from nao_testbed.experiments.heat.identification.figures import FittedCurve, fit_figure


def test_shipped_controllers_have_palette_colours() -> None:
    assert set(OF_CONTROLLERS) == set(controller_names())
    colours = list(OF_CONTROLLERS.values())
    assert len(set(colours)) == len(colours)
    assert set(colours) | set(OF_JOINTS.values()) <= set(COLOURS)


@pytest.mark.parametrize(
    "names", [("minheat",), ("minheat", "fixed"), ("other", "smart", "minheat")]
)
def test_colour_is_independent_of_other_controllers(names: tuple[str, ...]) -> None:
    assert controller_colours(names)["minheat"] == OF_CONTROLLERS["minheat"]


def test_variant_uses_its_controllers_colour_if_free() -> None:
    assert controller_colours(["smart:warm"])["smart:warm"] == OF_CONTROLLERS["smart"]
    found = controller_colours(["smart:warm", "smart", "mine"])
    assert found["smart"] == OF_CONTROLLERS["smart"]
    assert len(set(found.values())) == 3


@pytest.mark.parametrize("other", ["RAnklePitch", "left_ankle_pitch_joint"])
def test_left_right_and_other_robots_joints_share_a_colour(other: str) -> None:
    found = joint_colours(["HeadYaw", "LAnklePitch", other])
    assert found["LAnklePitch"] == found[other] == OF_JOINTS["anklepitch"]
    assert found["HeadYaw"] not in (found[other],)


def test_right_side_is_recognised_by_name() -> None:
    names = ("RHipRoll", "right_knee_joint", "LHipRoll", "Rotor", "left_knee")
    assert [is_right(name) for name in names] == [True, True, False, False, False]


def test_fitted_temperatures_use_joint_colours() -> None:
    """The right joint has a dashed line if the left joint is drawn too."""
    row = np.arange(3.0)
    names = ("RHipPitch", "LHipPitch", "LAnklePitch")
    curves = [
        FittedCurve(name=n, time_s=row, measured_degc=row, fitted_degc=row)
        for n in names
    ]
    upper = fit_figure(curves, "title").axes[0]
    lines = [line for line in upper.lines if line.get_marker() == "None"]
    hip, ankle = OF_JOINTS["hippitch"], OF_JOINTS["anklepitch"]
    assert [line.get_color() for line in lines] == [hip, hip, ankle]
    assert [line.is_dashed() for line in lines] == [True, False, False]
    labels = {text.get_text(): text.get_color() for text in upper.texts}
    assert labels["RHipPitch"] == labels["LHipPitch"] == hip


def test_leg_colours_differ_from_controller_colours() -> None:
    from matplotlib.colors import to_hex  # heavy

    row = np.ones(2)
    forces: Any = SimpleNamespace(
        motors=("LKneePitch", "RKneePitch"),
        is_right=np.array([False, True]),
        measured=row,
        least=row,
        internal=row,
        patterns=np.ones((2, 1)),
    )
    bars = internal_figure(forces, "title").axes[0].patches
    assert len({to_hex(bar.get_facecolor()) for bar in bars}) == 2
    assert not {to_hex(bar.get_facecolor()) for bar in bars} & set(COLOURS)
