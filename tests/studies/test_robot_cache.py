"""Robot cache file: a stopped prediction resumes, other files are rejected."""

import json
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import default_engine
from studies.predict_published import sampling
from studies.predict_published.prediction import PredictionCfg
from studies.predict_published.prediction_figures import run_prediction
from studies.predict_published.robot_cache import RobotCache
from studies.predict_published.sampling import document_robot, predict

pytestmark = pytest.mark.slow

ROBOT = document_robot()
ENGINE = default_engine()
SMALL = PredictionCfg(robots=40, rounds=1, training=60, engine=ENGINE)


class Simulation:
    """Fake simulation that stops the command after some robots."""

    def __init__(self, most: int = 10_000) -> None:
        self.most = most
        self.count = 0

    def __call__(
        self, _: Robot, x: FloatArray, controller: str, engine: str
    ) -> FloatArray | None:
        if self.count == self.most:
            raise KeyboardInterrupt
        self.count += 1
        if x[2] > 1.5:
            return None
        share = 1.0 if controller == "fixed" else 0.4
        heat = np.array([x @ x, x[0] ** 2, x[4] ** 2, x[1] ** 2])
        return np.array([150.0, 120.0, 35.0, 30.0]) + share * 8.0 * heat


def test_a_stopped_prediction_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is equal and no robot is simulated twice, despite a partial line."""
    monkeypatch.setattr(sampling, "POOL", 3000)
    keep = tmp_path / "robots.jsonl"
    whole = Simulation()
    monkeypatch.setattr(sampling, "constants", whole)
    expected = predict(SMALL, lambda *_: None)
    monkeypatch.setattr(sampling, "constants", Simulation(most=70))
    with pytest.raises(KeyboardInterrupt):
        predict(SMALL, lambda *_: None, keep)
    assert len(keep.read_text("utf-8").splitlines()) == 1 + 70
    with keep.open("a", encoding="utf-8") as file:
        file.write('{"engine": "bul')
    rest = Simulation()
    monkeypatch.setattr(sampling, "constants", rest)
    found = predict(SMALL, lambda *_: None, keep)
    assert rest.count == whole.count - 70
    again = Simulation(most=0)
    monkeypatch.setattr(sampling, "constants", again)
    once_more = predict(SMALL, lambda *_: None, keep)
    for one in (found, once_more):
        assert one.fell == expected.fell
        assert_array_equal(one.weights, expected.weights)
        assert_array_equal(
            one.bands["equal"][0].values, expected.bands["equal"][0].values
        )


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_stop_reports_the_rest(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_kept: bool,
) -> None:
    keep = tmp_path / "robots.jsonl" if is_kept else None
    monkeypatch.setattr(sampling, "constants", Simulation(most=5))
    assert run_prediction(SMALL, None, None, keep) == 130
    said = capsys.readouterr().err
    assert "stopped by the user (Ctrl-C)" in said
    assert (f"are in {keep}; the same command resumes" in said) == is_kept
    assert ("are lost; --keep FILE saves them" in said) != is_kept


def test_each_engine_and_controller_has_a_cache(tmp_path: Path) -> None:
    keep, x = tmp_path / "robots.jsonl", np.array([0.1, 0.2, 1.0 / 3.0, 0.4, 0.5])
    for said in (1.0, 2.0):  # the second time from the file
        simulate = partial(np.full, 4, said)
        with closing(RobotCache(keep, ROBOT)) as robots:
            for controller in ("fixed", "smart"):
                found = robots.constants(x, controller, ENGINE, simulate)
                assert found is not None
                assert_array_equal(found, np.ones(4))
            other = robots.constants(x + 1e-12, "fixed", ENGINE, lambda: None)
            assert other is None
    assert len(keep.read_text("utf-8").splitlines()) == 1 + 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("my notes", "line 1 is not a saved robot"),
        ("a,b\n1,2\n", "line 1 is not a saved robot"),
        ('{"format": 1, "setting": "x"}\n{"engine": 3}\n', "line 2 is not .*KeyError"),
        ('{"format": 1, "setting": "x"}\n', "with other robot data"),
        ('{"format": 9, "setting": "x"}\n', "with other robot data"),
    ],
)
def test_another_file_is_rejected_and_kept(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=said):
        RobotCache(path, ROBOT)
    assert path.read_text("utf-8") == text


def test_robots_of_another_kind_are_refused(tmp_path: Path) -> None:
    keep = tmp_path / "robots.jsonl"
    RobotCache(keep, ROBOT).close()
    head = json.loads(keep.read_text("utf-8"))
    assert head["format"] == 1
    with pytest.raises(BadInput, match="with other robot data"):
        RobotCache(keep, load_robot())


def test_a_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--keep"):
        RobotCache(tmp_path, ROBOT)
