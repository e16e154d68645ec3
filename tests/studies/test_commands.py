"""Each study runs from the checkout, as a module and as a `nao-testbed` command."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nao_testbed.models.values import FloatArray
from studies.commands import app
from studies.predict_published import sampling
from studies.preset_search import JOINTS, PresetCandidate

ROOT = Path(__file__).resolve().parents[2]
TWO_LEG = ROOT / "tests" / "data" / "two_leg"

pytestmark = pytest.mark.slow


def python(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize(
    "name",
    [
        "preset-search",
        "predict-published",
        "hand-guiding",
        "example-log",
        "xray-calibration",
        "stand-30",
    ],
)
def test_a_study_runs_by_either_name(name: str) -> None:
    alone = python(f"studies.{name.replace('-', '_')}", "--help")
    ours = python("nao_testbed.experiments.cli", "study", name, "--help")
    assert (alone.returncode, ours.returncode) == (0, 0), alone.stderr + ours.stderr
    usage, _, rest = alone.stdout.partition("[OPTIONS]")
    assert usage == f"Usage: python -m studies {name} "
    assert ours.stdout.partition("[OPTIONS]")[2] == rest


def test_a_bad_option_is_a_usage_error() -> None:
    ran = python("studies.hand_guiding", "--link", "l_wirst")
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: Link 'l_wirst' is not in robot 'nao'.")


def test_hand_guiding_pulls(tmp_path: Path) -> None:
    words = ["--posture", "Stand", "--controllers", "fixed", "--most", "2"]
    words += ["--rate", "20"]
    to = str(tmp_path / "pulls.json")
    ran = python("studies.hand_guiding", "--robot", str(TWO_LEG), *words, "--json", to)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(Path(to).read_text("utf-8"))
    assert told["experiment"] == "hand-guiding"
    assert len(told["pulls"]) == 6
    assert "Force at trunk" in ran.stdout


def test_the_example_log_equals_the_shipped_one(tmp_path: Path) -> None:
    ran = python("studies.example_log", "--out", str(tmp_path / "knee.csv"))
    assert ran.returncode == 0, ran.stderr
    shipped = ROOT / "notebooks" / "data" / "knee_log.csv"
    assert (tmp_path / "knee.csv").read_bytes() == shipped.read_bytes()


def test_a_prediction_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    def constants(_: object, x: FloatArray, controller: str, __: str) -> FloatArray:
        share = 1.0 if controller == "fixed" else 0.4
        heat = np.array([x @ x, x[0] ** 2, x[4] ** 2, x[1] ** 2])
        return np.array([150.0, 120.0, 35.0, 30.0]) + share * 8.0 * heat

    monkeypatch.setattr(sampling, "constants", constants)
    monkeypatch.setattr(sampling, "engine_version", str)
    monkeypatch.setattr(sampling, "POOL", 3000)
    words = "predict-published --robots 40 --rounds 1 --training 60 --json -"
    ran = CliRunner().invoke(app, words.split())
    assert ran.exit_code == 0, ran.exception
    told = json.loads(ran.stdout)
    assert told["experiment"] == "predict-published"


def test_a_preset_search_reports_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = PresetCandidate(
        misalignment_deg={"LHipRoll": 1.5},
        start_degc=dict.fromkeys(JOINTS, 30.0),
        reached=np.array([108.0, 51.0, 80.0, 60.5]),
        cost=2.5,
    )
    monkeypatch.setattr("studies.preset_search.find_preset", lambda *_: best)
    words = ["preset-search", "--out", str(tmp_path / "new.yaml"), "--json", "-"]
    ran = CliRunner().invoke(app, words)
    told = json.loads(ran.stdout)
    assert (told["cost"], told["misalignment_deg"]) == (2.5, {"LHipRoll": 1.5})
    assert told["reached"]["left_rise_k"] == {"value": 108.0, "target": 109.0}
    assert told["file"] == str(tmp_path / "new.yaml")
    assert (tmp_path / "new.yaml").exists()
