"""Figures of heat experiments on a page."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.experiments.heat.figures.charts import SMALLEST_W
from nao_testbed.experiments.heat.figures.section import parts_of, power_over_time
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.experiments.report.run_source import read_source
from nao_testbed.models import load_robot

Make = Callable[..., HeatResult]
NAO = load_robot()


@pytest.mark.parametrize(
    ("n", "sizes"), [(1, [1]), (3, [3]), (4, [2, 2]), (5, [3, 2]), (7, [3, 3, 1])]
)
def test_at_most_three_controllers_share_a_row(
    make_heat_result: Make, n: int, sizes: list[int]
) -> None:
    names = [f"constant:0.{i + 1}" for i in range(n)]
    parts = parts_of(make_heat_result(*names))
    assert [len(part.trials) for part in parts] == sizes
    assert [name for part in parts for name in part.trials] == names


def test_power_over_time_ends_at_the_power_of_the_run(heat_folder: Path) -> None:
    source = read_source(heat_folder)
    assert source.heat is not None
    frames = {trial.name: trial.frame for trial in source.trials}
    figure = power_over_time(source.heat, frames, NAO)
    assert figure is not None
    (axes,) = figure.axes
    told = {text.get_text().rsplit(" ", 2)[0] for text in axes.texts}
    assert {"fixed", "smart", "minimum, no gear friction"} <= told
    torques = [f"motor_torque.{name}" for name in NAO.motor_names]
    for line, trial in zip(axes.lines, source.trials, strict=False):
        curve = np.asarray(line.get_ydata())
        watts = trial.frame[torques].to_numpy() ** 2 @ joule_loss(NAO)
        assert curve[-1] == pytest.approx(watts[-1])
        is_in_slot = (trial.frame.index >= 2.5) & (trial.frame.index < 3.0)
        assert curve[-2] == pytest.approx(watts[is_in_slot].mean())
        if trial.name == "fixed":  # torques during the push vary faster than the rows
            told_w = source.heat.trials[trial.name].legs_power_w
            assert curve[-3:].mean() == pytest.approx(told_w, rel=0.05)


def test_power_is_drawn_for_a_limp_robot_without_minimum(heat_folder: Path) -> None:
    source = read_source(heat_folder)
    assert source.heat is not None
    frame = source.trials[0].frame.copy()
    torques = [f"motor_torque.{name}" for name in NAO.motor_names]
    frame.loc[frame.index > 1.5, torques] = 0.0
    trial = dataclasses.replace(
        source.heat.trials["fixed"], least_power_w=None, least_with_gears_w=None
    )
    result = dataclasses.replace(source.heat, trials={"fixed": trial})
    figure = power_over_time(result, {"fixed": frame}, NAO)
    assert figure is not None
    assert figure.axes[0].get_ylim()[0] == pytest.approx(0.6 * SMALLEST_W)
    figure.draw_without_rendering()
    frame[torques] = 0.0
    assert power_over_time(result, {"fixed": frame}, NAO) is None
    bare = frame.drop(columns=torques)
    assert power_over_time(result, {"fixed": bare}, NAO) is None
