import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from PIL import Image

from nao_testbed.experiments.closed_loop.trial_result import LEG_JOINTS, TrialResult
from nao_testbed.experiments.common.drawing.style import (
    TIME,
    free_height,
    spread_labels,
)
from nao_testbed.experiments.heat.figures.temperatures import (
    draw_heat_figures,
    effort_figure,
    temperature_figure,
)
from nao_testbed.experiments.heat.published import PUBLISHED, HeatResult
from nao_testbed.models.files import WriteError

Make = Callable[..., HeatResult]
MakeFrame = Callable[[TrialResult], pd.DataFrame]
LIMIT = 3.2  # N·m, of every joint in these tests


@pytest.fixture
def result(make_heat_result: Make) -> HeatResult:
    return make_heat_result("fixed", "smart")


@pytest.fixture
def frames(result: HeatResult, make_frame: MakeFrame) -> dict[str, pd.DataFrame]:
    return {name: make_frame(trial) for name, trial in result.trials.items()}


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def curve(axes: Axes, joint: str) -> np.ndarray:
    """Return the points (n, 2) of the curve with this label."""
    (line,) = [line for line in axes.lines if line.get_label() == joint]
    return np.column_stack(line.get_data())


@pytest.mark.requirement("ST-23", "ST-24")
def test_the_four_charts_of_the_document(
    result: HeatResult, frames: dict[str, pd.DataFrame]
) -> None:
    """Figures 4a, 4b, 5a, 5b: one row per leg, one column per controller."""
    figure = temperature_figure(result, frames)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [
        "fixed, right leg",
        "smart, right leg",
        "fixed, left leg",
        "smart, left leg",
    ]
    for axes, title in zip(figure.axes, titles, strict=True):
        controller, side = title.split(", ")[0], title.split(", ")[1][0].upper()
        for joint in (side + name for name in LEG_JOINTS):
            row = result.trials[controller].joints[joint]
            points = curve(axes, joint)
            np.testing.assert_allclose(points[0], [0.0, row.start_degc])
            np.testing.assert_allclose(points[-1], [15.0, row.end_degc])


@pytest.mark.requirement("ST-24")
def test_published_values_are_marked_in_their_panels(
    result: HeatResult, frames: dict[str, pd.DataFrame]
) -> None:
    axes = temperature_figure(result, frames).axes
    places = {
        ("fixed", "R"): 0,
        ("smart", "R"): 1,
        ("fixed", "L"): 2,
        ("smart", "L"): 3,
    }
    for (name, side), i in places.items():
        published = PUBLISHED[name]
        (joint,) = [j for j in published.end_degc if j.startswith(side)]
        mark = curve(axes[i], f"published {joint}")
        np.testing.assert_array_equal(mark, [[15.0, published.end_degc[joint]]])
        assert f"published {published.end_degc[joint]:.0f} °C" in texts(axes[i])
        trial = result.trials[name]
        ours = trial.left_leg_rise_k if side == "L" else trial.right_leg_rise_k
        rise = published.left_leg_rise_k if side == "L" else published.right_leg_rise_k
        assert f"sum of rises {ours:.0f} K (published {rise:.0f} K)" in texts(axes[i])


def test_no_curve_runs_through_the_name_of_a_published_value(
    result: HeatResult,
) -> None:
    """At the end of the preset `document`, curves are close to three of the marks."""
    ends = {
        ("fixed", "R"): (40.2, 60.0, 60.8, 37.3, 49.8),
        ("smart", "R"): (40.3, 46.7, 53.7, 41.5, 40.1),
        ("fixed", "L"): (49.2, 68.4, 34.7, 51.4, 80.4),
        ("smart", "L"): (36.9, 46.9, 32.7, 37.2, 58.7),
    }
    for (name, side), row in ends.items():
        rows = result.trials[name].joints
        for joint, degc in zip(LEG_JOINTS, row, strict=True):
            rows[side + joint] = dataclasses.replace(rows[side + joint], end_degc=degc)
    figure = temperature_figure(result, {})
    figure.draw_without_rendering()
    for axes in figure.axes:
        (words,) = (t for t in axes.texts if t.get_text().startswith("published "))
        side = axes.get_title(loc="left").split(", ")[1][0].upper()
        box = words.get_window_extent()
        for joint in LEG_JOINTS:
            first, last = axes.transData.transform(curve(axes, side + joint))
            points = first + np.linspace(0.0, 1.0, 2000)[:, None] * (last - first)
            assert not any(box.contains(x, y) for x, y in points), joint


@pytest.mark.parametrize("sim_s", [874.56, 960.0])
def test_no_line_runs_through_the_name_of_a_curve(
    result: HeatResult, sim_s: float
) -> None:
    """A robot that shuts down ends early, at the shut-down line."""
    rows = dict(result.trials["fixed"].joints)
    for joint, degc in zip(LEG_JOINTS, (48.9, 67.6, 34.6, 51.0, 79.6), strict=True):
        rows["L" + joint] = dataclasses.replace(rows["L" + joint], end_degc=degc)
    trial = dataclasses.replace(result.trials["fixed"], joints=rows, sim_s=sim_s)
    figure = temperature_figure(
        dataclasses.replace(result, minutes=16.0, trials={"fixed": trial}), {}
    )
    figure.draw_without_rendering()
    for axes in figure.axes:
        names = [t for t in axes.texts if t.get_text().startswith(LEG_JOINTS)]
        boxes = [Text.get_window_extent(name) for name in names]
        assert len(boxes) == 5
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])
        for line in axes.lines:
            x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata())
            if len(x) == 2 and line.get_linestyle() == "--":  # in fractions of the axes
                x = np.array([0.0, 16.0])
            first, last = axes.transData.transform(np.column_stack([x, y]))[[0, -1]]
            points = first + np.linspace(0.0, 1.0, 2000)[:, None] * (last - first)
            for box in boxes:
                assert not any(box.contains(*point) for point in points)


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("part", [0.001, 0.02, 0.2, 0.35, 0.6, 1.0])
@pytest.mark.parametrize("degc", [30.0, 80.0])
def test_labels_do_not_overlap_at_any_end_time(
    result: HeatResult, part: float, degc: float
) -> None:
    """Equally hot legs: their names need the most space."""
    trial = result.trials["fixed"]
    row = dataclasses.replace(
        next(iter(trial.joints.values())), start_degc=degc, end_degc=degc
    )
    trial = dataclasses.replace(
        trial,
        joints=dict.fromkeys(trial.joints, row),
        sim_s=60.0 * result.minutes * part,
    )
    figure = temperature_figure(
        dataclasses.replace(result, trials={"fixed": trial}), {}
    )
    figure.draw_without_rendering()
    for axes in figure.axes:
        words = [text for text in axes.texts if text.get_text()]
        boxes = [Text.get_window_extent(text) for text in words]
        for i, box in enumerate(boxes):
            over = [
                w
                for w, b in zip(words[i + 1 :], boxes[i + 1 :], strict=True)
                if b.overlaps(box)
            ]
            assert not over, (words[i], over)


@pytest.mark.parametrize(
    ("protection", "words"),
    [("document", "shut-down at 80 °C"), ("none", "80 °C"), ("nao", "80 °C")],
)
def test_limit_line_is_the_shut_down_if_there_is_one(
    result: HeatResult, protection: str, words: str
) -> None:
    settings = {**result.settings, "protection": protection}
    figure = temperature_figure(dataclasses.replace(result, settings=settings), {})
    for axes in figure.axes:
        assert words in texts(axes)
        assert ("shut" in " ".join(texts(axes))) is (protection == "document")


@given(
    st.floats(0, 100),
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 20)), max_size=6),
)
def test_a_free_height_is_clear_and_nearest(
    wanted: float, spans: list[tuple[float, float]]
) -> None:
    taken = [(low, low + length) for low, length in spans]

    def is_clear(height: float, eps: float) -> bool:
        return all(
            height <= low - 2.0 + eps or height >= high + 2.0 - eps
            for low, high in taken
        )

    height = free_height(wanted, taken, 2.0)
    assert is_clear(height, 1e-9)
    off = abs(height - wanted)
    nearer = np.linspace(-0.999, 0.999, 41) * off
    assert off == 0.0 or not any(is_clear(wanted + d, -1e-6) for d in nearer)


def has_published(figure: Figure) -> bool:
    return any(
        "publ" in word
        for axes in figure.axes
        for word in [*texts(axes), *(str(line.get_label()) for line in axes.lines)]
    )


@pytest.mark.requirement("ST-24")
def test_unpublished_settings_get_no_marks(
    other_experiment: tuple[str, HeatResult],
) -> None:
    """The footer gives the reason."""
    why, result = other_experiment
    figure = temperature_figure(result, {})
    assert not has_published(figure)
    assert why in figure.get_supxlabel().replace("\n", " ")


def test_another_controller_gets_no_marks_and_no_remark(
    make_heat_result: Make,
) -> None:
    figure = temperature_figure(make_heat_result("constant:0.6"), {})
    assert not has_published(figure)
    assert "publ" not in figure.get_supxlabel()


@pytest.mark.parametrize(
    ("rise_k", "said"),
    [(-0.3, "0 K"), (-3.4, "-3 K"), (3.4, "3 K")],
)
def test_a_sum_of_rises_is_never_minus_zero(
    make_heat_result: Make, rise_k: float, said: str
) -> None:
    result = make_heat_result("smart")
    trial = dataclasses.replace(result.trials["smart"], left_leg_rise_k=rise_k)
    figure = temperature_figure(
        dataclasses.replace(result, trials={"smart": trial}), {}
    )
    (words,) = (t for t in texts(figure.axes[1]) if "sum of rises" in t)
    assert words.startswith(f"sum of rises {said}")


def test_all_panels_have_one_scale_with_the_shut_down(
    result: HeatResult, frames: dict[str, pd.DataFrame]
) -> None:
    figure = temperature_figure(result, frames)
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    low, high = figure.axes[0].get_ylim()
    assert low < 30.0
    assert high > 80.0
    for axes in figure.axes:
        assert any(np.allclose(line.get_ydata(), 80.0) for line in axes.lines)


def test_every_axis_has_its_unit_and_the_foot_names_the_run(
    result: HeatResult, frames: dict[str, pd.DataFrame]
) -> None:
    figure = temperature_figure(result, frames)
    assert {axes.get_ylabel() for axes in figure.axes[::2]} == {"Temperature (°C)"}
    assert {axes.get_xlabel() for axes in figure.axes[2:]} == {TIME}
    foot = figure.get_supxlabel().replace("\n", " ")
    for word in (
        "PoseInit",
        "15 min",
        "10 joints by up to 0.88°",
        "seed 7",
        "document",
    ):
        assert word in foot


@pytest.mark.parametrize("n", [1, 2, 3])
def test_there_is_a_column_for_each_controller(make_heat_result: Make, n: int) -> None:
    result = make_heat_result(*("fixed", "smart", "constant:0.6")[:n])
    assert len(temperature_figure(result, {}).axes) == 2 * n


def test_a_run_without_a_frame_is_a_line_from_start_to_end(result: HeatResult) -> None:
    figure = temperature_figure(result, {})
    row = result.trials["fixed"].joints["LAnklePitch"]
    np.testing.assert_array_equal(
        curve(figure.axes[2], "LAnklePitch"),
        [[0.0, row.start_degc], [15.0, row.end_degc]],
    )


def test_bars_are_the_mean_torques_and_marks_the_limits(
    result: HeatResult, frames: dict[str, pd.DataFrame], legs: tuple[str, ...]
) -> None:
    """Stiffness 0.5 of 3.2 N·m is a limit of 1.6 N·m."""
    figure = effort_figure(result, frames, dict.fromkeys(legs, LIMIT))
    for axes, side in zip(figure.axes, "RL", strict=True):
        heights = [p.get_height() for p in axes.patches if isinstance(p, Rectangle)]
        expected = [
            trial.joints[side + joint].mean_abs_effort_nm
            for trial in result.trials.values()
            for joint in LEG_JOINTS
        ]
        np.testing.assert_allclose(heights, expected)
        assert "N·m" in axes.get_ylabel()
        marks = np.concatenate(
            [c.get_segments() for c in axes.collections]  # type: ignore[attr-defined]
        )
        np.testing.assert_allclose(marks[:, :, 1], 0.5 * LIMIT)


@pytest.mark.slow
def test_files_hold_the_settings_of_their_run(
    result: HeatResult, frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    paths = draw_heat_figures(result, frames, tmp_path)
    assert [path.name for path in paths] == ["temperatures.png", "effort.png"]
    for path in paths:
        with Image.open(path) as image:
            assert image.size[0] > 800
            settings = json.loads(image.info["Description"])
        assert settings["seed"] == 7
        assert settings["misalignment_deg"] == result.misalignment_deg
        svg = path.with_suffix(".svg").read_text(encoding="utf-8")
        assert "LAnklePitch" in svg


def test_a_robot_with_other_legs_gets_one_row(
    two_leg_result: HeatResult, tmp_path: Path
) -> None:
    figure = temperature_figure(two_leg_result, {})
    assert len(figure.axes) == 2
    assert len(curve(figure.axes[0], "right_knee")) == 2
    assert len(effort_figure(two_leg_result, {}, {}).axes) == 1


def test_a_folder_that_cannot_be_written_is_named(
    result: HeatResult, tmp_path: Path
) -> None:
    with pytest.raises(WriteError, match="nowhere"):
        draw_heat_figures(result, {}, tmp_path / "nowhere")


def test_an_early_ended_run_is_drawn_to_its_end(
    result: HeatResult, frames: dict[str, pd.DataFrame]
) -> None:
    trial = dataclasses.replace(result.trials["fixed"], sim_s=300.0)
    early = dataclasses.replace(result, trials={"fixed": trial})
    figure = temperature_figure(early, {"fixed": frames["fixed"].loc[:300.0]})
    assert curve(figure.axes[0], "RHipPitch")[-1, 0] == pytest.approx(5.0, abs=0.01)


@given(st.lists(st.floats(0.0, 100.0), max_size=8), st.floats(0.5, 10.0))
def test_labels_keep_their_distance_and_their_order(
    values: list[float], gap: float
) -> None:
    heights = spread_labels(values, gap)
    order = np.argsort(values, kind="stable")
    assert (np.diff(heights[order]) >= gap - 1e-9).all()
    if (np.diff(np.sort(values)) >= gap).all():
        np.testing.assert_allclose(heights, values, atol=1e-9)


@pytest.mark.slow
def test_importing_the_figures_does_not_import_matplotlib() -> None:
    code = (
        "import sys; import nao_testbed.experiments.heat.figures.temperatures; "
        "import nao_testbed.experiments.heat.figures.robot_picture; "
        "import nao_testbed.experiments.heat.figures.tables; "
        "print({'matplotlib', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "set()"
