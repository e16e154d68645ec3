"""`nao-testbed posture-search`: tables, files, check and errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nao_testbed.experiments.cli import main
from nao_testbed.experiments.common.drawing.power_unit import power_unit
from nao_testbed.experiments.heat.posture_search import (
    PostureTrial,
    hotter_than_requested,
    posture_angles,
    trial_table,
)
from nao_testbed.models import Robot, load_robot


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run the command line and return its exit status."""
    line = ["nao-testbed", "posture-search", *words, "--starts", "1"]
    monkeypatch.setattr("sys.argv", line)
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_json_alone_goes_to_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], nao: Robot
) -> None:
    assert run(monkeypatch, "PoseInit", "--within", "3", "--json", "-") == 0
    out, err = capsys.readouterr()
    data: dict[str, Any] = json.loads(out)
    assert data["posture"]["name"] == "PoseInitCool"
    assert data["after"]["least_loss_w"] < data["before"]["least_loss_w"]
    assert data["after"]["com_margin_m"] >= 0.02
    wanted = nao.posture("PoseInit").angles
    for name, angle in data["posture"]["angles"].items():
        change = angle - wanted[nao.joint_index(name)]
        assert abs(change) <= np.deg2rad(3.0) + 1e-6, name
    assert "minimum joule loss, W" in err
    assert "LKneePitch" in err
    assert "searching" not in err, "no progress in a pipe"


def test_the_folder_it_writes_is_a_robot_with_the_posture(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nao: Robot
) -> None:
    folder, file = tmp_path / "cool", tmp_path / "cool.json"
    words = ("PoseInit", "--out", str(folder), "--name", "Cooler", "--json", str(file))
    assert run(monkeypatch, *words) == 0
    robot = load_robot(folder)
    cooler, wanted = robot.posture("Cooler"), robot.posture("PoseInit")
    assert cooler.effectors == wanted.effectors
    assert cooler.offset == wanted.offset
    assert cooler.state == wanted.state
    data = json.loads(file.read_text(encoding="utf-8"))
    angles = [data["posture"]["angles"][name] for name in robot.joint_names]
    assert cooler.angles.tolist() == angles
    assert robot.urdf.parent == folder.resolve()
    assert robot.urdf.read_bytes() == nao.urdf.read_bytes()
    assert set(robot.postures) == {*nao.postures, "Cooler"}


@pytest.mark.slow(covers=True)
def test_the_check_simulates_both_postures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The minimum of the true posture is near the prediction.

    The servos deflect by some tenths of a degree, and the engine has a friction of
    0.7 where the search assumes 0.5.
    """
    words = ("StandInit", "--margin", "0.03", "--check", "--json", "-")
    assert run(monkeypatch, *words) == 0
    data = json.loads(capsys.readouterr().out)
    predicted = {
        "StandInit": data["before"]["legs_least_loss_w"],
        "StandInitCool": data["after"]["legs_least_loss_w"],
    }
    power = {}
    assert len(data["trials"]) == 4
    for trial in data["trials"]:
        assert trial["failure"] is None
        posture = trial["posture"]
        assert trial["least_power_w"] == pytest.approx(predicted[posture], rel=0.08)
        power[posture, trial["controller"]] = trial["legs_power_w"]
    for controller in ("fixed", "smart"):
        cooler = power["StandInitCool", controller]
        assert cooler < 0.8 * power["StandInit", controller]


def test_a_load_carrying_stop_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In Crouch the knees rest on their stops; away from them motors carry the load."""
    assert run(monkeypatch, "Crouch") == 0
    err = capsys.readouterr().err
    assert "in Crouch, LKneePitch, RKneePitch may rest on the joint stop" in err
    assert "in CrouchCool" not in err
    assert "Crouch violates: sole of RFoot level" in err


def test_a_posture_that_is_hotter_in_the_simulation_is_a_failure() -> None:
    watts = {
        ("Crouch", "fixed"): 1.47,
        ("CrouchCool", "fixed"): 3.14,
        ("Crouch", "smart"): 1.47,
        ("CrouchCool", "smart"): 1.475,
    }
    trials = [
        PostureTrial(
            posture=posture,
            controller=controller,
            legs_power_w=power,
            least_power_w=None,
            failure=None,
        )
        for (posture, controller), power in watts.items()
    ]
    (words,) = hotter_than_requested(trials, "Crouch", "CrouchCool")
    assert "CrouchCool is hotter under fixed than Crouch: 3.140 W" in words
    assert not hotter_than_requested(trials, "CrouchCool", "Crouch")
    unit = power_unit("estimate", "minimum of the legs", 0.5)
    (words,) = hotter_than_requested(trials, "Crouch", "CrouchCool", unit)
    assert "6.280 × instead of 2.940 ×" in words
    table = trial_table(trials, {"Crouch": 0.5, "CrouchCool": None}, unit)
    assert [c.header for c in table.columns[2:5]] == [
        "predicted ×",
        "minimum ×",
        "legs ×",
    ]
    assert "guesses" in str(table.caption)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("PoseInt",), 2, "Did you mean 'PoseInit'"),
        (("Sit",), 2, "also rests on LButtock"),
        (("PoseInit", "--within", "0"), 2, "--within = 0.0; give"),
        (("PoseInit", "--keep", "LLegs"), 2, "LLegs"),
        (("PoseInit", "--name", "Stand"), 2, "has a posture 'Stand' already"),
        (("PoseInit", "--name", "a b"), 2, "not a valid name"),
        (("PoseInit", "--out", "."), 2, "exists"),
        (("PoseInit", "--json", "no/such/dir/x.json"), 2, "cannot be written"),
        (("PoseInit", "--slope", "28"), 2, "stands on less than"),
        (("PoseInit", "--margin", "0.06"), 1, "centre of mass 60 mm inside"),
    ],
)
def test_invalid_requests_are_rejected(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    status: int,
    message: str,
) -> None:
    assert run(monkeypatch, *words) == status
    out, err = capsys.readouterr()
    assert message in err
    assert not out
    assert "Traceback" not in err


def test_angles_are_rounded_into_the_ranges(nao: Robot) -> None:
    stops = posture_angles(nao, nao.upper + 1e-9)
    assert (stops <= nao.upper).all()
    left, right = map(nao.joint_index, ("LHipYawPitch", "RHipYawPitch"))
    assert stops[left] == stops[right]
