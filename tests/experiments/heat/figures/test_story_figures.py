"""Figures of the notebooks show the given data."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.experiments.common.drawing.power_unit import power_unit
from nao_testbed.experiments.common.drawing.style import FigureView
from nao_testbed.experiments.heat.figures.charts import (
    PowerCurve,
    heat_share_figure,
    joint_shifts_figure,
    legs_power_of,
    power_figure,
    time_mean,
)
from nao_testbed.experiments.heat.identification.figures import (
    FittedCurve,
    fit_figure,
    interval_figure,
)
from nao_testbed.models import load_robot
from nao_testbed.sim.recording.run_folder import Run
from nao_testbed.sim.recording.run_meta import describe_run
from nao_testbed.sim.thermal.one_node_fit import Estimate

NAO = load_robot()


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def curve(name: str, unseen: float | None = None) -> FittedCurve:
    time_s = np.linspace(0.0, 600.0, 61)
    fitted = 30.0 + time_s / 60.0
    measured = np.round(fitted)
    measured[3] = np.nan
    return FittedCurve(
        name=name,
        time_s=time_s,
        measured_degc=measured,
        fitted_degc=fitted,
        unseen_from_s=unseen,
    )


def test_a_fit_names_each_motor_once_and_marks_unfitted_rows() -> None:
    curves = [curve("LKneePitch"), curve("LHipPitch", 300.0), curve("LKneePitch")]
    figure = fit_figure(curves, "a finding", resolution_k=1.0)
    upper, lower = figure.axes
    assert sorted(texts(upper)) == ["LHipPitch", "LKneePitch", "fitted", "predicted"]
    assert upper.get_title(loc="left") == "a finding"
    assert "(1 K)" in lower.get_title(loc="left")
    assert max(upper.get_xticks()) <= 10.0
    assert FigureView(figure)._repr_png_().startswith(b"\x89PNG")


def test_an_interval_that_is_cut_is_marked() -> None:
    wide = Estimate(value=5.0, low=-100.0, high=100.0, unit="K")
    narrow = Estimate(value=1.1, low=0.9, high=1.3, unit="K")
    figure = interval_figure({"a": {"x": wide}, "b": {"x": narrow}}, {"x": 1.0}, "t")
    (axes,) = figure.axes
    markers = [line.get_marker() for line in axes.lines]
    assert markers.count("<") == markers.count(">") == 1
    assert markers.count("o") == 1  # the value of `a` lies outside
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]


def test_powers_are_named_at_their_ends() -> None:
    curves = {
        name: PowerCurve(time_s=np.arange(5.0), watts=np.full(5, watts))
        for name, watts in (("fixed", 4.0), ("minheat", 0.5))
    }
    least = {"least without gear friction": 0.4, "least with it": 0.2}
    (axes,) = power_figure(curves, least, "t").axes
    assert texts(axes) == [
        "fixed 4.00 W",
        "minheat 0.50 W",
        "least without gear friction 0.40 W",
        "least with it 0.20 W",
    ]
    low, high = axes.get_ylim()
    assert low < 0.2
    assert high > 4.0


def test_powers_of_estimated_motors_are_multiples() -> None:
    curves = {"fixed": PowerCurve(time_s=np.arange(5.0), watts=np.full(5, 4.0))}
    unit = power_unit("estimate", "final power of fixed", 4.0)
    (axes,) = power_figure(curves, {"minimum": 1.0}, "t", unit).axes
    assert texts(axes) == ["fixed 1.00 ×", "minimum 0.25 ×"]
    label = "Joule loss of the legs / final power of fixed"
    assert axes.get_ylabel() == label
    torque = pd.Series({"knee": 1.0, "ankle": 1.0})
    watts = {"fixed": pd.Series({"knee": 3.0, "ankle": 1.0})}
    right = heat_share_figure(torque, watts, "t", unit).axes[1]
    assert right.get_xlabel() == "Mean Joule loss / final power of fixed"
    assert right.containers[0].get_label() == "fixed, 1.0 × in total"


def test_the_power_of_a_run_is_that_of_its_leg_motors(tmp_path: Path) -> None:
    """Half a second of 1 N·m in one knee, then of 2 N·m; head motors do not count."""
    time_s = np.arange(0.02, 1.0, 0.02)
    torque = pd.DataFrame(
        0.0,
        index=pd.Index(time_s, name="time_s"),
        columns=[f"motor_torque.{name}" for name in NAO.motor_names],
    )
    torque["motor_torque.LKneePitch"] = np.where(time_s < 0.499, 1.0, 2.0)
    torque["motor_torque.HeadYaw"] = 3.0
    meta = describe_run(experiment="heat", robot="nao", seed=0, config=None)
    run = Run(folder=tmp_path, meta=meta, state="done", events=())
    run.__dict__["frame"] = torque
    power = legs_power_of(run, NAO)
    c = joule_loss(NAO)[NAO.motor_names.index("LKneePitch")]
    assert power.watts == pytest.approx([c, 4.0 * c])


@given(st.lists(st.floats(0.01, 10.0), min_size=2, max_size=20))
def test_a_mean_over_time_does_not_depend_on_row_spacing(
    steps: list[float],
) -> None:
    time_s = np.cumsum(steps)
    value = np.where(np.arange(len(steps)) % 2, 1.0, 3.0)
    frame = pd.DataFrame({"x": value}, index=time_s)
    dense = np.sort(np.concatenate([time_s, time_s[1:] - 0.5 * np.diff(time_s)]))
    held = value[np.searchsorted(time_s, dense - 1e-12)]
    again = pd.DataFrame({"x": held}, index=dense)
    assert time_mean(frame)["x"] == pytest.approx(time_mean(again)["x"], rel=1e-6)


def test_shares_are_drawn_for_each_joint_and_controller() -> None:
    torque = pd.Series({"LKneePitch": 1.0, "LHipRoll": 0.5})
    watts = {"fixed": torque**2, "smart": 0.5 * torque**2}
    left, right = heat_share_figure(torque, watts, "t").axes
    assert len(left.patches) == 4
    assert len(right.patches) == 4
    legend = right.get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["fixed, 1.2 W in total", "smart, 0.6 W in total"]


def test_shifts_are_drawn_beside_misalignments() -> None:
    shift = pd.Series({"LKneePitch": 0.5, "LAnklePitch": -1.5})
    (axes,) = joint_shifts_figure({"minheat": shift}, {"LAnklePitch": 2.0}, "t").axes
    bars = [bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle)]
    assert bars == [0.5, -1.5]
    assert len(axes.collections) == 1


def test_a_greek_letter_of_a_label_stays_small() -> None:
    """λ is the thermal conductance; Λ would be another quantity."""
    row = Estimate(value=1.0, low=0.9, high=1.1, unit="1/s")
    figure = interval_figure({"a": {"λ/C": row}}, {"λ/C": 1.0}, "t")
    assert figure.axes[0].get_xlabel() == "λ/C (1/s); line: true value"
