"""Short recorded runs and the page of one of them."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from nao_testbed.experiments.closed_loop.trial import Push, run_trial
from nao_testbed.experiments.common.options import json_text
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials, record_trials
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.experiments.report.write import ReportCfg, write_report
from tests.experiments.common.recorded_runs import RecordedRuns

MARKUP = "<b>bold</b>"
"""Name that would change the page if it were not escaped."""


@pytest.fixture(scope="session")
def heat_folder(recorded: RecordedRuns) -> Path:
    """Run folder of the document's experiment: three seconds with a push."""
    return recorded("runs", record_heat) / "heat"


def record_heat(runs: Path) -> None:
    cfg = HeatCfg(preset="document", minutes=0.05, command=("nao-testbed", MARKUP))
    trials = plan_trials(cfg)
    folder, trials = record_trials(trials, runs / "heat")
    push = Push(at_s=2.5, force_n=(3.0, 0.0, 0.0))
    results = {}
    for trial in trials:
        results[trial.controller] = run_trial(
            dataclasses.replace(trial, pushes=(push,))
        )
    result = HeatResult(
        minutes=0.05,
        posture="PoseInit",
        seed=0,
        misalignment_deg=dict(trials[0].simulation.misalignment_deg),
        trials=results,
        settings={"preset": "document", "robot": "nao"},
    )
    text = json_text(result.as_json())
    (folder / "heat.json").write_text(text, encoding="utf-8")


@pytest.fixture
def copy_of(heat_folder: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies the run to a named folder, for damaging it."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(heat_folder, tmp_path / name))

    return copy


@pytest.fixture
def killed(copy_of: Callable[[str], Path]) -> Path:
    """Run folder after kill -9: no result, both robots still `running`."""
    folder = copy_of("killed")
    (folder / "heat.json").unlink()
    for path in folder.glob("*/meta.json"):
        meta = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**meta, "state": "running", "rows": None}), "utf-8")
    return folder


@pytest.fixture(scope="session")
def page_file(heat_folder: Path, recorded: RecordedRuns) -> Path:
    """Page of the run with figures and replay; one controller has an unusual name."""
    folder = recorded("page", lambda page: write_page(heat_folder, page / "run"))
    (page,) = folder.glob("run/*.html")
    return page


def write_page(heat_folder: Path, folder: Path) -> None:
    shutil.copytree(heat_folder, folder)
    result = json.loads((folder / "heat.json").read_text(encoding="utf-8"))
    result["trials"][MARKUP] = result["trials"].pop("smart")
    (folder / "heat.json").write_text(json.dumps(result), encoding="utf-8")
    meta = json.loads((folder / "smart" / "meta.json").read_text(encoding="utf-8"))
    meta["config"]["controller"] = MARKUP
    (folder / "smart" / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    Image.new("RGB", (8, 6), "white").save(folder / "robot.png")
    write_report(ReportCfg(runs=(folder,)))
