"""Three log formats give equal results; errors name place and value."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.heat.identification.identify import IdentifyCfg, identify
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.record import Log
from nao_testbed.experiments.heat.logs.sensor_checks import check_sensors
from nao_testbed.experiments.heat.xray.standing import Standing, find_standing
from nao_testbed.experiments.heat.xray.xray import XrayCfg, undetermined, xray
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.sim.recording.run_folder import read_run

SENSORS = ("q", "target", "current", "temperature", "fsr", "accelerometer")


@pytest.fixture(scope="module")
def frame(run_folder: Path) -> pd.DataFrame:
    """The columns of the run that a real robot's log has."""
    rows = read_run(run_folder).frame
    kept = [name for name in rows.columns if name.partition(".")[0] in SENSORS]
    return rows[kept].astype(np.float64).reset_index()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[pd.DataFrame], Path]:
    def written(frame: pd.DataFrame) -> Path:
        path = tmp_path / "log.csv"
        frame.to_csv(path, index=False)
        return path

    return written


@pytest.mark.slow(covers=True)
def test_folder_csv_and_parquet_give_the_same_answer(
    frame: pd.DataFrame, run_folder: Path, robot: Robot, tmp_path: Path
) -> None:
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    found = []
    for path in (run_folder, tmp_path / "log.csv", tmp_path / "log.parquet"):
        answer = xray(XrayCfg(source=path), robot).as_json()
        for of_file in ("log", "remarks", "column_faults"):
            answer.pop(of_file)
        found.append(answer)
    assert found[1] == found[0]
    assert found[2] == found[0]
    assert found[0]["best"]["joints"].keys() == {"LAnklePitch"}


def test_other_units_give_the_same_columns(
    frame: pd.DataFrame, log: Log, robot: Robot, write: Callable[..., Path]
) -> None:
    units = {
        "time_s": ("time_ms", 1000.0),
        "q": ("q_deg", 180.0 / np.pi),
        "current": ("current_ma", 1000.0),
        "fsr": ("fsr_kg", 1.0 / 9.81),
    }
    columns = {}
    for name in frame.columns:
        prefix, dot, member = name.partition(".")
        new, factor = units.get(prefix, (prefix, 1.0))
        columns[f"{new}{dot}{member}"] = factor * frame[name]
    read = read_log(write(pd.DataFrame(columns)))
    for channel in ("q", "current", "fsr"):
        for member, values in log.signals[channel].items():
            np.testing.assert_allclose(read.signals[channel][member], values)


def refused(
    path: Path, robot: Robot, match: str, kind: type[Exception] = BadInput
) -> None:
    with pytest.raises(kind, match=match):
        find_standing(read_log(path), robot)


def test_a_missing_leg_joint_is_named(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    path = write(frame.drop(columns=["q.LKneePitch"]))
    refused(path, robot, r"no angle of LKneePitch.*q\.NAME, q_deg\.NAME")
    path = write(frame.drop(columns=["current.LHipYawPitch"]))
    refused(path, robot, r"no current of LHipYawPitch")


def test_an_unknown_joint_is_refused_with_the_right_name(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    path = write(frame.rename(columns={"q.LKneePitch": "q.LKneePich"}))
    refused(path, robot, "LKneePich.*LKneePitch", UnknownName)


@pytest.mark.parametrize(
    ("column", "factor", "said"),
    [
        ("q.LKneePitch", 180.0 / np.pi, r"q\.LKneePitch is .* rad.*q_deg\.LKneePitch"),
        ("current.LAnklePitch", 1000.0, r"LAnklePitch is .* A .*current_ma"),
        ("temperature.LAnklePitch", 10.0, r"temperature\.LAnklePitch is .* °C"),
    ],
)
def test_a_value_in_another_unit_is_refused(
    column: str,
    factor: float,
    said: str,
    frame: pd.DataFrame,
    robot: Robot,
    write: Callable[..., Path],
) -> None:
    wrong = frame.copy()
    wrong[column] *= factor
    refused(write(wrong), robot, said)


def test_a_strong_motor_may_exceed_nao_currents(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    """25 A indicate a wrong unit for a NAO, but are 20 N·m at 0.8 N·m/A of a G1."""
    drawn = frame.copy()
    drawn["current.LAnklePitch"] = 25.0
    path = write(drawn)
    refused(path, robot, "LAnklePitch is 25 A")
    joints = tuple(replace(joint, effort_limit=50.0) for joint in robot.joints)
    strong = replace(robot, joints=joints)
    assert (
        check_sensors(read_log(path), strong).signals["current"]["LAnklePitch"][0]
        == 25.0
    )


def test_force_sensors_in_kg_and_gravity_in_g_are_refused(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    for prefix, said in (("fsr", "fsr_kg"), ("accelerometer", "accelerometer_g")):
        wrong = frame.copy()
        for name in wrong.columns:
            if name.startswith(prefix):
                wrong[name] /= 9.81
        refused(write(wrong), robot, said)


def test_two_units_of_one_joint_are_refused(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    twice = frame.assign(**{"q_deg.LKneePitch": 0.0})
    refused(write(twice), robot, r"q\.LKneePitch and q_deg\.LKneePitch; keep one")


def test_a_log_without_time_or_rows_is_refused(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path], tmp_path: Path
) -> None:
    refused(
        write(frame.drop(columns=["time_s"])),
        robot,
        "no column time_s or time_ms or time_min",
    )
    refused(write(frame.head(0)), robot, "a header and no rows")
    refused(write(frame.head(40)), robot, "0.78 s long with 40 rows")
    refused(
        tmp_path / "none.csv", robot, "cannot be read: No such file.* give a run folder"
    )
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(b"no parquet")
    refused(bad, robot, "cannot be read as Parquet")
    words = frame.astype({"q.LKneePitch": str})
    words.to_parquet(tmp_path / "words.parquet")
    refused(tmp_path / "words.parquet", robot, r"'q\.LKneePitch' holds .*give")


def test_a_robot_that_moves_to_the_end_is_refused(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    moving = frame.copy()
    moving["q.LKneePitch"] += 0.02 * np.arange(len(moving)) / 50.0
    refused(write(moving), robot, r"LKneePitch moves by \d")
    lifted = frame.copy()
    for name in lifted.columns:
        if name.startswith("fsr"):
            lifted.loc[lifted.index[-20:], name] = 0.0
    refused(write(lifted), robot, "soles do not carry its weight")


def test_missing_values_are_excluded_from_means(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    holes = frame.copy()
    holes.loc[::7, "q.LKneePitch"] = np.nan
    holes.loc[::5, "current.LKneePitch"] = np.nan
    seen = find_standing(read_log(write(holes)), robot)
    assert np.isfinite(seen.q).all()
    assert np.isfinite(seen.effort).all()
    empty = frame.assign(**{"q.LKneePitch": np.nan})
    refused(write(empty), robot, "no angle of LKneePitch")
    holes.loc[holes.index[-150:], "q.LKneePitch"] = np.nan
    refused(write(holes), robot, r"q\.LKneePitch has no value in the last 2 s")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_xray_and_identify_read_a_file_alike(
    robot: Robot, tmp_path: Path, ending: str
) -> None:
    """The file has °F, mA and motor names; each command uses its columns."""
    k = np.arange(60.0)
    columns = {"time_s": k}
    for joint in robot.leg_joints:
        columns[f"q.{joint}"] = 0.0 * k
    for motor in robot.motor_names:
        columns[f"current_ma.{motor}"] = 500.0 + 1000.0 * (k > 20.0)
        columns[f"temperature_degf.{motor}"] = 86.0 + np.floor(k / 3.0)
    path = tmp_path / f"log.{ending}"
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    sensors = check_sensors(read_log(path), robot)
    cfg = IdentifyCfg(source=path, joints=("LKneePitch",), ambient_degc=25.0)
    (log,) = identify(cfg, robot).logs
    degc, current = (sensors.signals[s] for s in ("temperature", "current"))
    square = current["LKneePitch"] ** 2
    np.testing.assert_array_equal(log.records[0].time_s, sensors.time_s)
    np.testing.assert_array_equal(log.records[0].degc, degc["LKneePitch"])
    np.testing.assert_allclose(
        log.records[0].mean_square_current, (square[1:] + square[:-1]) / 2.0
    )
    assert degc["LKneePitch"][0] == pytest.approx(30.0)
    assert "temperature_degf converted to °C" in [r.what for r in sensors.repairs]


@pytest.mark.slow(covers=True)
def test_missing_sensors_are_reported(
    frame: pd.DataFrame, robot: Robot, write: Callable[..., Path]
) -> None:
    poor = frame[
        [n for n in frame.columns if n.partition(".")[0] in {"time_s", "q", "current"}]
    ]
    poor = poor.drop(columns=["q.HeadYaw", "q.LHand"])
    found = xray(XrayCfg(source=write(poor)), robot)
    said = " ".join(undetermined(found))
    for word in ("set-points", "force sensors", "accelerometer", "temperatures"):
        assert f"no {word}" in said
    assert "HeadYaw, LHand" in " ".join(found.standing.remarks)
    assert all(m.time_to_limit_s is None for m in found.losses.motors)
    assert found.losses.useless_w > 1.0  # currents alone determine the heat


def test_torques_replace_currents(
    frame: pd.DataFrame, robot: Robot, log: Log, write: Callable[..., Path]
) -> None:
    columns = {}
    constants = {m.name: m.one_node.torque_constant for m in robot.motors}
    for name in frame.columns:
        prefix, _, member = name.partition(".")
        if prefix == "current":
            columns[f"torque.{member}"] = constants[member] * frame[name]
        else:
            columns[name] = frame[name]
    seen = find_standing(read_log(write(pd.DataFrame(columns))), robot)
    np.testing.assert_allclose(seen.effort, find_standing(log, robot).effort)


def test_repeated_readings_count_once(log: Log, robot: Robot) -> None:
    """Fast-forward rows repeat the last reading, so its noise does not average out."""

    def held(first: int, repeats: int = 30) -> Standing:
        rows = np.r_[first : log.time_s.size, [log.time_s.size - 1] * repeats]
        signals = {
            signal: {name: values[rows] for name, values in columns.items()}
            for signal, columns in log.signals.items()
        }
        signals["time_s"][""][-repeats - 1 :] += np.arange(repeats + 1.0)
        return find_standing(replace(log, signals=signals), robot)

    own, seen = find_standing(log, robot), held(0)
    assert seen.still_s > 20.0
    off = np.abs(seen.effort - own.effort)
    assert (off <= 4.0 * np.hypot(seen.effort_sd, own.effort_sd)).all()
    noise = robot.imu.accelerometer_noise
    assert seen.accelerometer_sd == pytest.approx(noise / np.sqrt(50.0), rel=0.4)
    assert held(log.time_s.size - 1).accelerometer_sd == noise


def test_a_head_motor_without_a_reading_does_not_matter(
    frame: pd.DataFrame, standing: Standing, robot: Robot, write: Callable[..., Path]
) -> None:
    """An idle motor repeats its current, which counts as missing."""
    frame = frame.copy()
    frame.loc[frame.index[60:], "current.HeadYaw"] = 0.001
    seen = find_standing(read_log(write(frame), robot), robot)
    legs = robot.motors_of(robot.leg_joints)
    np.testing.assert_allclose(seen.effort[legs], standing.effort[legs], atol=1e-6)
    frame.loc[frame.index[60:], "current.LKneePitch"] = 0.5
    with pytest.raises(BadInput, match="LKneePitch has no current while"):
        find_standing(read_log(write(frame), robot), robot)


def test_times_that_cannot_be_read_are_refused(log: Log, robot: Robot) -> None:
    signals = {**log.signals, "time_s": {"": np.full(log.time_s.size, np.nan)}}
    with pytest.raises(BadInput, match="no row has a readable time; give it in s"):
        check_sensors(replace(log, signals=signals), robot)
