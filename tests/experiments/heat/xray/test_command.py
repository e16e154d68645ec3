"""`nao-testbed xray`: table, JSON, figure; bad input ends with 2 and no traceback."""

import json
from pathlib import Path
from typing import TypeAlias

import pytest
from typer.testing import CliRunner, Result

from nao_testbed.experiments.cli import app, main

RUNNER = CliRunner()
Diagnosis: TypeAlias = tuple[Path, Result]


@pytest.fixture(scope="module")
def diagnosis(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """Return a folder with all files of the command, and its result."""
    folder = tmp_path_factory.mktemp("files")
    names = {"figure": "xray.svg", "json": "xray.json", "out": "diagnosis"}
    files = [f"--{option}={folder / name}" for option, name in names.items()]
    return folder, RUNNER.invoke(app, ["xray", str(run_folder), *files])


def test_a_run_gives_tables_json_and_figure(diagnosis: Diagnosis) -> None:
    folder, found = diagnosis
    figure, file = folder / "xray.svg", folder / "xray.json"
    assert found.exit_code == 0, found.output
    assert "LAnklePitch has an error of" in found.output
    assert "Internal wrench" in found.output
    assert figure.read_text("utf-8").startswith("<?xml")
    data = json.loads(file.read_text("utf-8"))
    assert data["experiment"] == "xray"
    legs = data["legs"]
    assert legs["loss_w"] == pytest.approx(legs["needed_w"] + legs["useless_w"])
    assert set(data["joints"]) == {
        f"{side}{joint}"
        for side in "LR"
        for joint in (
            *("HipYawPitch", "HipRoll", "HipPitch"),
            *("KneePitch", "AnklePitch", "AnkleRoll"),
        )
    }
    assert data["saving"]["saved_w"] > 0.0


def test_a_report_shows_diagnosis_tables_figure_and_limits(
    diagnosis: Diagnosis,
) -> None:
    out = diagnosis[0] / "diagnosis"
    assert RUNNER.invoke(app, ["report", str(out)]).exit_code == 0
    html = (out / "report.html").read_text("utf-8")
    for text in (
        "X-ray of xray/run",
        "LAnklePitch has an error of",
        "Cooler stance: ",
        "Heat of the legs",
        "Assumptions and limits",
        "assumed for the cooler stance",
        "data:image/svg+xml",
    ):
        assert text in html, text
    assert "no rows" not in html
    assert "no replay" not in html
    (out / "xray.json").write_text("[1]", encoding="utf-8")
    assert RUNNER.invoke(app, ["report", str(out)]).exit_code == 0
    html = (out / "report.html").read_text("utf-8")
    assert "xray.json cannot be read: it is no result of an X-ray" in html


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none"], "none cannot be read: No such file"),
        ([".", "--feet", "placed"], "meta.json"),
        (["RUN", "--feet", "apart"], "feet"),
        (["RUN", "--floor", "-1"], "--floor = -1.0; give"),
        (["RUN", "--com", "nan"], "--com = nan; give"),
        (["RUN", "--figure", "x.pdf"], "ends in .png or .svg"),
    ],
)
def test_bad_input_ends_with_two(
    arguments: list[str],
    said: str,
    run_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [str(run_folder) if word == "RUN" else word for word in arguments]
    monkeypatch.setattr("sys.argv", ["nao-testbed", "xray", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
