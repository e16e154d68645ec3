"""`nao-testbed replay`: output, files and exit status."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.command.helpers import Run

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
HEAT = (
    f"heat --robot {TWO_LEG} --posture Stand --minutes 0.02 --controllers smart "
    "--full --out here"
)


@pytest.mark.slow
@pytest.mark.requirement("JD-18")
def test_a_heat_experiment_is_replayed_exactly(
    nao_testbed: Run, undrawn: None, here: Path
) -> None:
    assert nao_testbed(f"{HEAT} --exact").status == 0
    line = "replay here/smart --controllers smart,fixed"
    ran = nao_testbed(f"{line} --out answers --json answers.json")
    assert (ran.status, ran.err) == (0, "")
    assert "60 observations, 0.00 to 1.18 s, every 20 ms" in ran.out
    assert "bit for bit" in ran.out
    assert "until 0.00 s" in ran.out
    data = json.loads((here / "answers.json").read_text(encoding="utf-8"))
    assert data == json.loads((here / "answers/replay.json").read_text("utf-8"))
    assert data["run"]["is_exact"] is True
    assert data["answers"]["smart"]["is_identical"] is True
    recorded = data["answers"]["recorded"]["joints"]
    assert data["answers"]["smart"]["joints"] == recorded
    fixed = read_run(here / "answers" / "fixed")
    assert (fixed.frame.to_numpy() == 1.0).all()
    assert np.allclose(fixed.frame.index, 0.02 * np.arange(60))
    with Image.open(here / "answers" / "stiffness.png") as picture:
        assert picture.width > 500

    again = nao_testbed("replay here/smart --json -")
    assert json.loads(again.out)["answers"]["smart"]["is_identical"] is True
    assert "bit for bit" in again.err, "the tables go to stderr"


@pytest.mark.slow
def test_a_rounded_recording_is_reported(nao_testbed: Run, undrawn: None) -> None:
    assert nao_testbed(HEAT).status == 0
    ran = nao_testbed("replay here/smart")
    assert ran.status == 0
    assert "Recorded with seven digits" in ran.out


def test_an_invalid_recording_is_bad_input(nao_testbed: Run, here: Path) -> None:
    ran = nao_testbed("replay nowhere")
    assert ran.status == 2
    assert ran.err.startswith("error: nowhere is not a run folder")
    assert not list(here.iterdir())
