"""The prediction of the published column `with`: weights, starts, bands."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.heat.published import load_preset
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.robot import SimulationCfg
from studies.predict_published import robot_cache, sampling
from studies.predict_published.prediction import (
    GIVEN,
    HELD_FIXED,
    Band,
    PredictionCfg,
    as_json,
)
from studies.predict_published.prediction_figures import (
    prediction_figure,
    prediction_table,
    run_prediction,
)
from studies.predict_published.sampling import (
    ENGINE_SPREAD,
    StartModel,
    constants,
    document_robot,
    predict,
)
from studies.predict_published.surrogate import Surrogate, log_normal
from studies.preset_search import (
    JOINTS,
    TARGETS,
    TOLERANCE,
    reached_of,
)
from tests.messages import Messages, each

pytestmark = pytest.mark.slow

ROBOT = document_robot()
SMALL = PredictionCfg(robots=60, rounds=2, training=80)


@pytest.fixture(scope="module")
def starts() -> StartModel:
    square = np.zeros(len(ROBOT.motors))
    return StartModel(rows=reached_of(ROBOT, SimulationCfg(), square).rows)


def _smooth(
    _: Robot, x: FloatArray, controller: str, engine: str = "pybullet"
) -> FloatArray:
    """Return targets from starts of 0 °C as a formula of five misalignments."""
    heat = np.array([x @ x, x[0] ** 2 + x[1], x[4] ** 2 + x[1] * x[2], x[1] ** 2])
    share = 1.0 if controller == "fixed" else 0.4
    apart = np.zeros(4) if engine == "pybullet" else ENGINE_SPREAD * np.tanh(x[4] ** 2)
    return np.array([150.0, 120.0, 35.0, 30.0]) + share * heat * 8.0 + apart


@pytest.fixture
def smooth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "constants", _smooth)
    for module in (sampling, robot_cache):  # a formula needs no engine
        monkeypatch.setattr(module, "engine_version", str)
    monkeypatch.setattr(sampling, "POOL", 5000)


def test_the_density_matches_scipy() -> None:
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(4, 4))
    covariance = factor @ factor.T + np.eye(4)
    distance = rng.normal(size=(7, 4))
    wanted = multivariate_normal(np.zeros(4), covariance).logpdf(distance)
    assert_allclose(log_normal(distance, covariance), wanted)
    assert_allclose(log_normal(distance, np.stack([covariance] * 7)), wanted)


def test_starts_given_the_first_column_reproduce_it(starts: StartModel) -> None:
    """The mean is that of the linear Gaussian model, the targets are close."""
    constant = (
        TARGETS - starts.rows.sum(axis=1) * 36.0 + np.array([3.0, -2.0, 1.0, 0.0])
    )
    drawn = starts.posterior(constant, 40_000, np.random.default_rng(0))
    gain = 100.0 * starts.rows.T @ np.linalg.inv(starts.covariance)
    mean = 35.0 + gain @ (TARGETS - starts.typical(constant[np.newaxis])[0])
    assert_allclose(drawn.mean(axis=0), mean, atol=0.2)  # K, 4 standard errors
    reached = constant + drawn @ starts.rows.T
    assert (np.abs(reached.mean(axis=0) - TARGETS) < TOLERANCE).all()
    assert (reached.std(axis=0) < 1.1 * TOLERANCE).all()


def test_surrogate_variance_grows_away_from_data() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 5))
    y = np.array([_smooth(ROBOT, one, "fixed") for one in x])
    surrogate = Surrogate.fitted(x, y)
    mean, variance = surrogate(x[:20] + 0.01)
    assert np.abs(mean - y[:20]).max() < 0.1 * y.std(axis=0).max()
    _, far = surrogate(x[:20] + 20.0)
    assert (far > 10.0 * variance).all()


@pytest.mark.parametrize("screen", [None, "mujoco"])
def test_weighted_robots_match_the_prior(
    starts: StartModel,
    smooth: None,
    screen: EngineName | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mean squares of misalignments equal those of many robots of the prior.

    Most near robots of the pool are drawn and few are kept. On the screen, robots
    with a large last error deviate as expected of another engine.
    """
    monkeypatch.setattr(sampling, "POOL", 2000)
    monkeypatch.setattr(sampling, "MIN_SHARE", 1.5)
    cfg = PredictionCfg(robots=150, rounds=2, training=100, repeats=6, screen=screen)
    found = predict(cfg, lambda *_: None)
    x = np.random.default_rng(9).normal(size=(60_000, 5))
    constant = np.array([_smooth(ROBOT, one, "fixed") for one in x])
    weight = np.exp(log_normal(TARGETS - starts.typical(constant), starts.covariance))
    weight /= weight.sum()
    squares = found.weights @ found.x_deg**2
    error = np.sqrt(found.weights**2 @ (found.x_deg**2 - squares) ** 2)
    assert (np.abs(squares - weight @ x**2) < 4.0 * error).all()
    assert (found.robots_fixed < 6 * cfg.robots_each) == (screen is not None)


def test_points_are_chosen_by_probability() -> None:
    """Ten groups of 40 of the 400 drawn points, within four standard errors.

    Points of probability 1 are always chosen.
    """
    rng = np.random.default_rng(2)
    log_fit = np.append(rng.normal(size=10_000), np.full(20, 9.0))
    log_fit.sort()
    chance = np.exp(np.minimum(sampling._log_scale(log_fit, 400) + log_fit, 0.0))
    group = np.minimum(np.cumsum(chance) / 40.0, 9.0).astype(np.intp)
    counts = np.zeros(len(chance))
    for _ in range(500):
        chosen = sampling._chosen(chance, 400, rng)
        assert len(np.unique(chosen)) == 400
        counts[chosen] += 1.0
    assert (counts[-20:] == 500.0).all()
    expected = 500.0 * np.bincount(group, chance)
    error = np.sqrt(500.0 * np.bincount(group, chance * (1.0 - chance)))
    assert (np.abs(np.bincount(group, counts) - expected) < 4.0 * error).all()


@pytest.mark.parametrize("screen", [None, "mujoco"])
@pytest.mark.usefixtures("smooth")
def test_no_prediction_if_all_robots_fall(
    monkeypatch: pytest.MonkeyPatch, screen: EngineName | None
) -> None:
    def falls(
        robot: Robot, x: FloatArray, controller: str, engine: str
    ) -> FloatArray | None:
        stands = engine == screen or (controller == "fixed" and screen is None)
        return _smooth(robot, x, controller, engine) if stands else None

    monkeypatch.setattr(sampling, "constants", falls)
    with pytest.raises(BadInput, match=r"all \d+ robots fell"):
        predict(replace(SMALL, screen=screen), lambda *_: None)


def test_an_equal_screen_gives_equal_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights are inverse to selection probability: no robot is thinned twice."""

    def alike(_: Robot, x: FloatArray, controller: str, __: str) -> FloatArray:
        return _smooth(_, x, controller)

    monkeypatch.setattr(sampling, "constants", alike)
    monkeypatch.setattr(sampling, "POOL", 5000)
    monkeypatch.setattr(sampling, "ENGINE_SPREAD", np.zeros(4))
    monkeypatch.setattr(sampling, "MIN_SHARE", 0.7)
    found = predict(replace(SMALL, screen="mujoco"), lambda *_: None)
    assert found.robots_fixed < 0.9 * SMALL.robots_each
    assert found.robots_fixed - len(found.weights) < 3


@pytest.mark.usefixtures("smooth")
def test_the_screen_only_selects_robots_to_simulate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Robots far off on the screen are not simulated; falls there are counted."""
    simulated: dict[str, list[bytes]] = {"pybullet": [], "mujoco": []}

    def noted(
        robot: Robot, x: FloatArray, controller: str, engine: str
    ) -> FloatArray | None:
        if controller == "fixed":
            simulated[engine].append(x.tobytes())
            if engine == "mujoco" and x[3] > 1.0:
                return None
        return _smooth(robot, x, controller, engine)

    monkeypatch.setattr(sampling, "constants", noted)
    cfg = replace(SMALL, screen="mujoco")
    found = predict(cfg, lambda *_: None)
    assert len(simulated["mujoco"]) == cfg.robots_each
    assert len(simulated["pybullet"]) == found.robots_fixed < cfg.robots_each
    assert set(simulated["pybullet"]) < set(simulated["mujoco"])
    assert found.fell["fixed on mujoco"] > 0
    assert found.fell["fixed"] == found.fell["smart"] == 0
    assert found.x_deg[:, 3].max() <= 1.0
    told = as_json(found)
    assert told["screen"] == "mujoco"
    assert told["robots_proposed"] == cfg.robots_each
    assert "screened on mujoco" in prediction_table(found).note


@pytest.mark.usefixtures("smooth")
def test_the_second_column_is_never_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    first = predict(SMALL, lambda *_: None)
    monkeypatch.setattr(sampling, "WITH", np.array([1.0, 2.0, 3.0, 4.0]))
    second = predict(SMALL, lambda *_: None)
    assert_array_equal(first.weights, second.weights)
    for assumption, bands in first.bands.items():
        for one, other in zip(bands, second.bands[assumption], strict=True):
            assert_array_equal(one.values, other.values)
    assert second.bands["equal"][2].published == 3.0


@pytest.mark.usefixtures("smooth")
def test_a_robot_that_falls_is_left_out_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def falls(
        robot: Robot, x: FloatArray, controller: str, engine: str
    ) -> FloatArray | None:
        is_wide = abs(x[3]) > (1.0 if controller == "fixed" else 0.8)
        return None if is_wide else _smooth(robot, x, controller, engine)

    monkeypatch.setattr(sampling, "constants", falls)
    found = predict(SMALL, lambda *_: None)
    assert found.fell["fixed"] > 0
    assert found.fell["smart"] > 0
    assert np.abs(found.x_deg[:, 3]).max() <= 0.8
    assert found.weights.sum() == pytest.approx(1.0)


@pytest.mark.usefixtures("smooth")
def test_prediction_is_given_as_json_table_and_figure() -> None:
    found = predict(SMALL, lambda *_: None)
    told: dict[str, Any] = json.loads(json.dumps(as_json(found)))
    assert len(told["weights"]) == told["robots_smart"]
    ankle = told["outcomes"]["equal"]["LAnklePitch ends at, °C"]
    assert ankle["published"] == 48.0
    low, high = ankle["band_90"]
    assert low < ankle["band_50"][0] < ankle["median"] < ankle["band_50"][1] < high
    table = prediction_table(found)
    assert [row.cells[0] for row in table.rows] == ["equal"] * 4 + ["free"] * 4
    assert len(prediction_figure(found).axes) == 4


BAND = re.compile(r"%| to |inside|outside")


@pytest.mark.usefixtures("smooth")
def test_every_band_states_its_assumptions() -> None:
    """Gear friction, ambient and heat flow are fixed: all bands depend on them."""
    found = predict(SMALL, lambda *_: None)
    table = prediction_table(found)
    for k, column in enumerate(table.columns):
        if any(BAND.search(text) for text in (column.label, table.rows[0].cells[k])):
            assert GIVEN in column.label
    assert all(name in table.note for name in HELD_FIXED)
    told = as_json(found)
    assert told["held_fixed"] == list(HELD_FIXED)
    outcomes = told["outcomes"]
    assert isinstance(outcomes, dict)
    for bands in outcomes.values():
        assert {one["bands_hold"] for one in bands.values()} == {GIVEN}
    figure = prediction_figure(found)
    assert GIVEN in figure.legends[0].get_title().get_text()


def test_bands_in_documents_do_so_too() -> None:
    """Each paragraph and table head with a band states them."""
    page = Path(__file__).parents[2] / "docs/measured/prediction.md"
    text = page.read_text("utf-8")
    part = text[text.index("# Prediction: all robots that fit") :].partition("\n# ")[0]
    heads = (rows.partition("\n| ---")[0] for rows in part.split("\n\n"))
    banded = [head for head in heads if re.search(r"\d %|band", head)]
    assert banded
    assert [head for head in banded if GIVEN not in head] == []


@pytest.mark.usefixtures("smooth")
def test_repeats_weigh_as_their_effective_numbers() -> None:
    first = predict(SMALL, lambda *_: None)
    second = predict(replace(SMALL, seed=1), lambda *_: None)
    both = predict(replace(SMALL, repeats=2), lambda *_: None)
    assert both.effective == pytest.approx(first.effective + second.effective)
    assert both.weights.sum() == pytest.approx(1.0)
    of_first = both.weights[: len(first.weights)].sum()
    assert of_first == pytest.approx(first.effective / both.effective)
    assert both.fell["fixed"] == first.fell["fixed"] + second.fell["fixed"]
    for k, band in enumerate(both.bands["equal"]):
        each = [found.bands["equal"][k] for found in (first, second)]
        assert_array_equal(band.values, np.concatenate([b.values for b in each]))
        assert min(b.share_below for b in each) <= band.share_below
        assert band.share_below <= max(b.share_below for b in each)
    assert "seeds 0 to 1" in prediction_table(both).note
    assert as_json(both)["robots_fixed"] == 2 * (80 + 2 * 60)


def test_an_unknown_figure_format_is_rejected_early(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"x\.pdf .* ends in \.png or \.svg"):
        run_prediction(PredictionCfg(), tmp_path / "x.pdf", None, None)
    assert not list(tmp_path.iterdir())


def test_a_band_uses_the_weights() -> None:
    weights = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    band = Band(values=np.arange(5.0), weights=weights, published=1.0)
    assert band.median == pytest.approx(2.0)
    assert band.share_below == pytest.approx(0.3)
    assert band.holds_published
    low, high = band.within(0.5)
    assert 1.0 < low < 2.0 < high < 3.0


def test_one_robot_in_full_physics_equals_the_preset(starts: StartModel) -> None:
    """Its misalignments heat the preset's starts to the result of the search."""
    preset = load_preset("document")
    x = np.array(
        [
            preset.misalignment_deg[f"L{j}"]
            for j in ("HipRoll", "HipPitch", "KneePitch", "AnkleRoll", "AnklePitch")
        ]
    )
    constant = constants(ROBOT, x, "fixed", "pybullet")
    assert constant is not None
    begin = np.array([preset.start_degc[j] for j in JOINTS])
    reached = constant + starts.rows @ begin
    assert_allclose(reached, [108.7, 50.2, 80.4, 60.0], atol=0.3)


def test_messages(messages: Messages) -> None:
    messages(
        numbers_that_predict_nothing=each(
            PredictionCfg,
            robots=[0, 10_001],
            rounds=[0],
            repeats=[0],
            training=[3],
            seed=[-1],
            engine=["ode"],
            screen=["ode", "pybullet"],
        )
    )
