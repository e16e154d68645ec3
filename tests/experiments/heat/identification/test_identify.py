"""`nao-testbed identify`: from a file or a run to constants with intervals."""

import dataclasses
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nao_testbed.experiments.cli import app, main
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.heat.identification.heat_log import heat_log_of_run
from nao_testbed.experiments.heat.identification.identify import IdentifyCfg, identify
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.models import BadInput, Robot, UnknownName, default_robot_folder
from nao_testbed.sim import SimulationCfg
from nao_testbed.sim.thermal.identification import fit_one_node
from tests.experiments.common.recorded_runs import RecordedRuns
from tests.messages import Messages, each

ROOT = Path(__file__).resolve().parents[4]
SHIPPED = ROOT / "notebooks" / "data" / "knee_log.csv"
PITCH = tuple(s + j for s in "LR" for j in ("HipPitch", "KneePitch", "AnklePitch"))


@pytest.fixture(scope="module")
def run_folder(recorded: RecordedRuns) -> Path:
    """Ten minutes of a robot with a misaligned ankle, mostly fast-forward."""
    return recorded("bad-ankle", stand_on_a_bad_ankle)


@pytest.fixture(scope="module")
def short_run(recorded: RecordedRuns) -> Path:
    """One second of it, for tests that use no numbers."""
    return recorded("bad-ankle-1s", lambda folder: stand_on_a_bad_ankle(folder, 1.0))


def stand_on_a_bad_ankle(folder: Path, seconds: float = 600.0) -> None:
    result = run_trial(
        TrialCfg(
            controller="fixed",
            robot_folder=default_robot_folder(),
            posture="PoseInit",
            duration_s=seconds,
            simulation=SimulationCfg(misalignment_deg={"LAnklePitch": 1.5}),
            fast_forward=FastForwardCfg(),
            folder=folder,
        )
    )
    assert result.failure is None


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("seen", ["sensor", "truth"])
def test_a_run_recovers_the_table_of_the_robot(
    run_folder: Path, nao: Robot, seen: str
) -> None:
    """Six motors of one type together; their sensors have steps of 1 °C."""
    log = read_log(run_folder)
    logs = [
        heat_log_of_run(log, joint, nao, seen=seen, step_s=3.0)  # type: ignore[arg-type]
        for joint in PITCH
    ]
    fit = fit_one_node([record for log in logs for record in log.records])
    table = nao.motors[nao.motor_names.index("LKneePitch")].one_node
    share = 1e-3 if seen == "truth" else 0.1
    heating = table.resistance / table.heat_capacity
    rate = table.conductance / table.heat_capacity
    assert fit.heating.value == pytest.approx(heating, rel=share)
    assert fit.rate.value == pytest.approx(rate, rel=2.0 * share)
    if seen == "sensor":  # exact temperatures: only the time steps of the record remain
        assert fit.heating.holds(heating)
        assert fit.rate.holds(rate)
        assert fit.ambient.holds(table.ambient_degc)


@pytest.mark.slow(covers=True)
def test_the_command_prints_fitted_and_stored_constants(run_folder: Path) -> None:
    joints = " ".join(f"--joint {joint}" for joint in PITCH)
    ran = CliRunner().invoke(app, f"identify {run_folder} {joints} --json -".split())
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    assert found["fit"]["C"]["value"] == pytest.approx(43.6, rel=0.1)
    assert found["table"]["heat_capacity"] == 43.6
    assert len(found["sources"]) == 6
    assert "robot data" in ran.stderr


def test_the_command_lists_repairs() -> None:
    ran = CliRunner().invoke(app, ["identify", str(SHIPPED)])
    assert ran.exit_code == 0
    assert "a gap of 90 s after 1310 s" in ran.stderr
    assert "gap" not in ran.stdout
    assert "697 temperatures" in ran.stdout


def test_an_unbounded_interval_end_is_null(nao: Robot, tmp_path: Path) -> None:
    """One minute is too short to identify cooling; the JSON stays valid."""
    file = tmp_path / "minute.csv"
    rows = [f"{k},{30 + (k + 5) // 10},1.0" for k in range(60)]
    text = "\n".join(["time_s,temperature_degc,current_a", *rows])
    file.write_text(text, encoding="utf-8")
    found = identify(IdentifyCfg(source=file, ambient_degc=27.0), nao)
    assert any("λ/C may be 0" in remark for remark in found.fit.remarks)
    numbers = json.loads(json.dumps(found.as_json(), allow_nan=False))["fit"]
    assert numbers["C/λ"]["high"] is None if "C/λ" in numbers else True


def test_a_known_resistance_gives_capacity_and_conductance(nao: Robot) -> None:
    cfg = IdentifyCfg(source=SHIPPED, ambient_degc=25.0)
    assert identify(cfg, nao).known is None
    known = identify(dataclasses.replace(cfg, resistance=10.0), nao).known
    assert known is not None
    heating = identify(cfg, nao).fit.heating.value
    assert known.heat_capacity.value == pytest.approx(10.0 / heating)


def test_joints_of_a_run_are_named(short_run: Path, nao: Robot) -> None:
    with pytest.raises(BadInput, match="is a run of all joints; give one or more"):
        identify(IdentifyCfg(source=short_run), nao)


def test_file_options_are_rejected_for_a_run(short_run: Path, nao: Robot) -> None:
    cfg = IdentifyCfg(source=short_run, joints=PITCH)
    for other in ({"gap_s": 3.0}, {"trusts_units": True}):
        with pytest.raises(BadInput, match="which are for CSV files"):
            identify(dataclasses.replace(cfg, **other), nao)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("nowhere.csv", "nowhere.csv cannot be read: No such file"),
        (f"{SHIPPED} --joint LKneePich", "Did you mean 'LKneePitch'"),
        (f"{SHIPPED} --ambient 300", "--ambient = 300.0; give "),
        (f"{SHIPPED} --gap 0", "--gap = 0.0; give a finite number above 0 up to 86400"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    words: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.argv", ["nao-testbed", "identify", *words.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert message in told.err


def test_a_run_of_a_crashed_process_is_reported(
    short_run: Path, nao: Robot, tmp_path: Path
) -> None:
    """No part is complete: the error says that there are no data."""
    (tmp_path / "meta.json").write_bytes((short_run / "meta.json").read_bytes())
    with pytest.raises(BadInput, match="has 0 rows; give a run with more"):
        heat_log_of_run(read_log(tmp_path), "LKneePitch", nao)
    with pytest.raises(UnknownName):
        heat_log_of_run(read_log(short_run), "Knee", nao)


def test_messages(
    messages: Messages, short_run: Path, nao: Robot, tmp_path: Path
) -> None:
    messages(
        joints_of_a_run=each(
            lambda joints: identify(IdentifyCfg(source=short_run, joints=joints), nao),
            (("LKneePitch", "LAnkleRoll"),),
            (("LKneePich",),),
        ),
        a_folder_that_is_no_run_is_not_called_one=lambda: identify(
            IdentifyCfg(source=tmp_path), nao
        ),
        a_resistance_that_is_none=each(
            lambda value: identify(IdentifyCfg(source=SHIPPED, resistance=value), nao),
            0.0,
            -6.44,
            float("nan"),
        ),
        a_file_holds_one_motor=lambda: identify(
            IdentifyCfg(source=SHIPPED, joints=PITCH), nao
        ),
    )
