"""Logs of different programs give equal data; unknown columns are asked for."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mcap.writer import Writer as McapWriter
from typer.testing import CliRunner

from nao_testbed.experiments.cli import app
from nao_testbed.experiments.heat.identification.identify import IdentifyCfg, identify
from nao_testbed.experiments.heat.logs.columns import read_map
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.xray.standing import Standing, find_standing
from nao_testbed.experiments.regression.replay.observations import read_recording
from nao_testbed.experiments.regression.replay.replay import (
    ReplayCfg,
    open_recording,
    replay_controllers,
)
from nao_testbed.experiments.server.naoqi.run_serve import open_log
from nao_testbed.models import BadInput, Robot, load_robot
from studies import log_writers as writers
from studies.log_writers import Writer
from tests.experiments.heat.logs.conftest import G1

SIDES = (
    *(("hip_pitch", "waist_yaw"), ("hip_roll", "waist_roll")),
    *(("hip_yaw", "waist_pitch"), ("knee", ""), ("shoulder_pitch", "")),
    *(("ankle_pitch", ""), ("shoulder_roll", ""), ("ankle_roll", "")),
    *((f"{name}", "") for name in ("shoulder_yaw", "elbow")),
    *((f"wrist_{axis}", "") for axis in ("roll", "pitch", "yaw")),
)
ISAAC = [
    name
    for pair, middle in SIDES
    for name in (f"left_{pair}", f"right_{pair}", middle)
    if name
]


def seen_in(path: Path, robot: Robot, *entries: str) -> Standing:
    return find_standing(read_log(path, robot, entries), robot)


@pytest.fixture(scope="module")
def nao_seen(nao_run: Path, nao: Robot) -> Standing:
    return seen_in(nao_run, nao)


@pytest.fixture(scope="module")
def g1_seen(g1_run: Path, g1: Robot) -> Standing:
    return seen_in(g1_run, g1)


def assert_alike(seen: Standing, own: Standing, robot: Robot) -> None:
    """Compare common signals; a G1's angles are noisier than the difference of rows."""
    np.testing.assert_allclose(seen.q, own.q, atol=1e-4)
    np.testing.assert_allclose(seen.effort, own.effort, atol=0.02)
    if seen.temperature is not None and own.temperature is not None:
        np.testing.assert_allclose(seen.temperature, own.temperature)
    if seen.accelerometer is not None and own.accelerometer is not None:
        np.testing.assert_allclose(seen.accelerometer, own.accelerometer, atol=0.01)


def mcap_of_json(
    frame: pd.DataFrame, robot: Robot, folder: Path, last: bytes = b""
) -> Path:
    """Write joint states as JSON, as programs without ROS do for Foxglove."""
    path, names = folder / "json.mcap", [joint.name for joint in robot.joints]
    with path.open("wb") as file:
        writer = McapWriter(file)
        writer.start()
        schema = writer.register_schema("State", "jsonschema", b"{}")
        channel = writer.register_channel("/joint_states", "json", schema)
        effort = {name: writers.torque(frame, robot, name) for name in names}
        angles = frame[[f"q.{name}" for name in names]].to_numpy()
        for k, time_s in enumerate(frame.index):
            message = {
                "name": names,
                "position": angles[k].tolist(),
                "effort": [float(effort[name][k]) for name in names],
            }
            stamp = int(1e9 * time_s)
            writer.add_message(channel, stamp, json.dumps(message).encode(), stamp)
        if last:
            writer.add_message(channel, 0, last, 0)
        writer.finish()  # type: ignore[no-untyped-call]
    return path


@pytest.mark.parametrize(
    ("writer", "has"),
    [
        (writers.plotjuggler, "target temperature accelerometer"),
        (writers.rostopic, ""),
        (writers.echo, ""),
        (writers.records, ""),
        (writers.almemory, "target temperature accelerometer fsr"),
        (writers.bag, "temperature"),
        (partial(writers.bag, kind="sqlite3"), "temperature"),
        (partial(writers.bag, kind="bag"), "temperature"),
        (mcap_of_json, ""),
        (writers.lerobot, "target"),
    ],
)
def test_a_nao_is_read_from_other_programs(
    writer: Writer,
    has: str,
    nao: Robot,
    nao_frame: pd.DataFrame,
    nao_seen: Standing,
    tmp_path: Path,
) -> None:
    seen = seen_in(writer(nao_frame, nao, tmp_path), nao)
    assert_alike(seen, nao_seen, nao)
    for name in ("target", "temperature", "accelerometer", "fsr"):
        assert (getattr(seen, name) is not None) == (name in has.split()), name


@pytest.mark.parametrize("name", ["motor_state[{}].{}", "/lowstate/motor_state[{}]/{}"])
def test_a_g1_is_read_by_the_numbers_of_its_motors(
    name: str, g1: Robot, g1_frame: pd.DataFrame, g1_seen: Standing, tmp_path: Path
) -> None:
    path = writers.unitree(g1_frame, g1, tmp_path, name=name)
    seen = seen_in(path, g1)
    assert_alike(seen, g1_seen, g1)
    assert "joints by number, in Unitree's order" in seen.remarks


def test_the_other_motor_order_of_a_g1_is_detected_by_angles(
    g1: Robot, g1_frame: pd.DataFrame, g1_seen: Standing, tmp_path: Path
) -> None:
    path = writers.unitree(g1_frame, g1, tmp_path, order=ISAAC)
    seen = seen_in(path, g1)
    assert "joints by number, in Isaac Lab's order" in seen.remarks
    assert_alike(seen, g1_seen, g1)


def test_numbers_of_another_robot_are_refused(
    nao: Robot, g1: Robot, g1_frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = writers.unitree(g1_frame, g1, tmp_path)
    with pytest.raises(BadInput, match=r"35 numbered joints.*'nao' has 26.*--robot g1"):
        read_log(path, nao)


def test_identify_reads_the_same_files(
    g1: Robot, g1_frame: pd.DataFrame, tmp_path: Path
) -> None:
    """Torques become currents; of two temperatures the winding's is read."""
    hot = pd.concat([g1_frame] * 4, ignore_index=True)
    hot["time_s"] = 0.02 * np.arange(len(hot))
    hot["temperature.left_knee"] = np.floor(30.0 + hot["time_s"] / 2.0)
    path = writers.unitree(hot, g1, tmp_path)
    cfg = IdentifyCfg(source=path, joints=("left_knee",), ambient_degc=25.0)
    (log,) = identify(cfg, g1).logs
    constant = g1.motors[g1.motor_index("left_knee")].one_node.torque_constant
    square = np.mean(writers.torque(g1_frame, g1, "left_knee") ** 2) / constant**2
    assert np.mean(log.records[0].mean_square_current) == pytest.approx(square, rel=0.1)
    assert log.records[0].degc[0] == 30.0


def test_a_map_assigns_the_columns_of_any_file(
    nao: Robot, nao_frame: pd.DataFrame, nao_seen: Standing, tmp_path: Path
) -> None:
    columns = {"clock": 1000.0 * nao_frame["time_s"]}
    for n in writers.members(nao_frame, "current"):
        columns[f"w.{n}.measured"] = np.rad2deg(nao_frame[f"q.{n}"])
        columns[f"i of {n}"] = 1000.0 * nao_frame[f"current.{n}"]
    path = tmp_path / "lab.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    with pytest.raises(BadInput, match="there is no column time_s"):
        read_log(path, nao)
    entries = (
        "time_ms=clock",
        "q_deg.{joint}=w.{joint}.measured",
        "current_ma.{joint}=i of {joint}",
    )
    assert_alike(seen_in(path, nao, *entries), nao_seen, nao)
    file = tmp_path / "map.yaml"
    lines = [": ".join(repr(part) for part in one.split("=")) for one in entries]
    file.write_text("\n".join(lines), encoding="utf-8")
    assert_alike(seen_in(path, nao, str(file)), nao_seen, nao)
    with pytest.raises(BadInput, match=r"--map q\.\{joint\}=nothing: no column fits"):
        read_log(path, nao, ("q.{joint}=nothing",))
    with pytest.raises(BadInput, match=r"--map heat=clock: 'heat' is no signal; give"):
        read_log(path, nao, ("heat=clock",))


@pytest.mark.parametrize(
    ("header", "rows", "unit"),
    [
        ("__time", [1700000000.0, 1700000000.5], "s"),
        ("timestamp", [1700000000000, 1700000000500], "ms"),
        ("timestamp", [1700000000000000, 1700000000500000], "us"),
        ("stamp", [1700000000000000000, 1700000000500000000], "ns"),
        ("t", [0.0, 0.5], "s"),
        ("Time [ms]", [0, 500], None),
        ("time", ["2026-11-27T10:00:00.000Z", "2026-11-27T10:00:00.500Z"], "s"),
    ],
)
def test_the_unit_of_time_is_inferred_from_values(
    header: str, rows: list[object], unit: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    lines = [header + ",temperature_degc", *(f"{t},30" for t in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    log = read_log(path)
    assert np.diff(log.time_s) == pytest.approx([0.5], abs=1e-6)
    said = [repair.what for repair in log.repairs]
    assert any(f"read as {unit}" in what for what in said) == (unit is not None)


def test_ambiguous_seconds_or_milliseconds_are_asked_for(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time,temperature_degc\n0,30\n20,30\n40,31\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"step of column 'time' is 20.*--map time_ms"):
        read_log(path)
    assert read_log(path, None, ("time_ms=time",)).time_s[-1] == pytest.approx(0.04)


@pytest.mark.parametrize(
    "text",
    [
        "time_s,temperature_degc\n0,30\n1,31\n",
        "\ufefftime_s;temperature_degc\r\n0,0;30,0\n1,0;31,0\r\n",
        "# a lab\n// and more\ntime_s|temperature_degc|\n0|30|\n1|31|\n",
        "# time_s temperature_degc\n0 30\n1 31\n",
        "time (s)\tTemperature (°C)\n0\t30\n1\t31\n",
        "time [s], temperature_degc\n0, 30\n1, 31\n",
        "time_s,temperature\ns,degC\n0,30\n1,31\n",
        "Zeit [s];Temperatur;temperature (C)\n0,0;x;30,0\n1,0;y;31,0\n",
        "Uhr [ms],temperature_degc\n0,30\n1000,31\n",
        "Date,Time,temperature_degc\n1.2.26,10:59:59.5,30\n1.2.26,11:00:00.5,31\n",
        "stamp.sec,stamp.nanosec,temperature_degc\n7,500000000,30\n8,500000000,31\n",
        "datetime,temperature (C)\n2026-11-27 10:00:00,30\n2026-11-27 10:00:01,31\n",
    ],
)
def test_a_table_of_any_layout_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    log = read_log(path)
    np.testing.assert_allclose(log.time_s - log.time_s[0], [0.0, 1.0])
    np.testing.assert_allclose(log.signals["temperature"][""], [30.0, 31.0])


def test_parquet_with_an_index_of_dates_is_read(tmp_path: Path) -> None:
    times = pd.date_range("2026-11-27 10:00", periods=3, freq="500ms", tz="UTC")
    frame = pd.DataFrame({"temperature_degc": [30.0, 30.0, 31.0]}, index=times)
    frame.to_parquet(tmp_path / "log.parquet")
    log = read_log(tmp_path / "log.parquet")
    np.testing.assert_allclose(np.diff(log.time_s), 0.5)


ENCODINGS = ("utf-8", "utf-16", "cp1252")
EXCEL = [
    "time (s);LKneePitch angle (rad);LKneePitch temperature (°C)",
    *("0,0;0,5;30", "0,02;0,5;30", "0,04;0,6;31"),
]
MATLAB = ["Time,q_LKneePitch,temperature_LKneePitch"]
MATLAB += ["0 sec,0.5,30", "0.02 sec,0.5,30", "0.04 sec,0.6,31"]
PANDAS = [",q.LKneePitch,temperature.LKneePitch"]
PANDAS += [
    f"2026-11-28 00:00:00.{k:02},{q},{t}"
    for k, q, t in zip((0, 2, 4), (0.5, 0.5, 0.6), (30, 30, 31), strict=True)
]
JSON = [
    json.dumps(
        {
            "tick": 20 * k,
            "LKneePitch": {"q": q, "temp": degc},
            "mode": [1, "stand", None],
        }
    )
    for k, q, degc in ((0, 0.5, 30), (1, 0.5, 30), (2, 0.6, 31))
]


ECHO = [
    f"header:\n  stamp:\n    sec: 17\n    nanosec: {k * 10**7}\nname:\n- LKneePitch\n"
    f"position: [{q}]\nLKneePitch:\n  temp: {t}\n---"
    for k, q, t in ((0, 0.5, 30), (2, 0.5, 30), (4, 0.6, 31))
]
LISTS = ["time,name,position,LKneePitch temp"]
LISTS += [
    "0,\"['LKneePitch', 'RKneePitch']\",\"[np.float64(0.5), 0.2]\",30",
    "0.02,,\"array('d', [0.5, 0.2])\",30",
    '0.04,,"array([0.6,\n       0.2], dtype=float32)",31',
]


@pytest.mark.parametrize(
    ("name", "lines", "encoding"),
    [
        *(("excel.csv", EXCEL, encoding) for encoding in ENCODINGS),
        ("timetable.csv", MATLAB, "utf-8"),
        ("frame.csv", PANDAS, "utf-8"),
        ("state.jsonl", JSON, "utf-8"),
        ("state.json", ["[", ",\n".join(JSON), "]"], "utf-8"),
        ("states.json", ['{"robot": "pi", "data": [', ",\n".join(JSON), "]}"], "utf-8"),
        ("echo.txt", ECHO, "utf-8"),
        ("lists.csv", LISTS, "utf-8"),
    ],
)
def test_files_of_office_programs_and_json_lines_are_read(
    name: str, lines: list[str], encoding: str, nao: Robot, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text("\n".join(lines), encoding=encoding)
    log = read_log(path, nao)
    np.testing.assert_allclose(log.time_s - log.time_s[0], [0.0, 0.02, 0.04], atol=1e-6)
    np.testing.assert_allclose(log.signals["q"]["LKneePitch"], [0.5, 0.5, 0.6])
    np.testing.assert_allclose(log.signals["temperature"]["LKneePitch"], [30, 30, 31])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "echo.csv",
            "1700000000,5,base,0.1,0.2\n1700000000,6,base,0.1,0.2\n",
            "the first row has numbers; add a row",
        ),
        ("a.jsonl", '{"t": 1}\n[1]\n', r"jsonl:2: this is not a JSON object"),
        ("a.jsonl", "[1]", r"jsonl, record 1: this is not a JSON object"),
        ("a.jsonl", "[" * 5000, r"jsonl:1: this is not a JSON object"),
        ("a.jsonl", 't,note\n0,"a\n1,b\n', r"jsonl:2: .*check its quotation marks"),
        (
            "echo.txt",
            "header:\n  stamp:\n    sec: 17\n  nanosec: {",
            r"echo\.txt cannot be read as messages of",
        ),
        (
            "echo.txt",
            't,q\n0,"[1, 2]"\n1,"[1]"\n',
            r"txt:3: the list of column 'q' has 1 items",
        ),
    ],
)
def test_a_file_without_names_or_objects_is_refused(
    name: str, text: str, said: str, nao: Robot, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=said):
        read_log(path, nao)


def test_a_state_of_booster_is_read_by_numbers(tmp_path: Path) -> None:
    robot = load_robot(G1.with_name("t1"))
    joints, motors = (enumerate(n) for n in (robot.joint_names, robot.motor_names))
    values = {f"{s}.{name}": 0.01 * k for k, name in joints for s in ("q", "v")}
    for k, name in motors:
        values |= {f"current.{name}": 0.1 * k, f"temperature.{name}": 30.0 + k}
    values |= {f"accelerometer.{axis}": 9.8 * (axis == "z") for axis in "xyz"}
    frame = pd.DataFrame({"time_s": [0.0, 0.02, 0.04], **values})
    log = read_log(writers.booster(frame, robot, tmp_path), robot)
    for signal in ("q", "temperature", "accelerometer"):
        for name, seen in log.signals[signal].items():
            np.testing.assert_allclose(seen, frame[f"{signal}.{name}"])
    assert set(robot.leg_joints) <= log.signals["q"].keys()


def test_replay_and_log_server_read_the_same_files(
    nao: Robot, nao_frame: pd.DataFrame, nao_run: Path, tmp_path: Path
) -> None:
    """They once read run folders only."""
    path = writers.almemory(nao_frame, nao, tmp_path)
    seen, own = (read_recording(one).observations for one in (path, nao_run))
    knee = nao.joint_names.index("LKneePitch")
    at = np.searchsorted(own.time_s, own.time_s[0] + seen.time_s + 1e-3) - 1
    for name in ("q", "target", "fsr"):
        there, here = own.values[name][at], seen.values[name]
        k = slice(None) if name == "fsr" else knee
        np.testing.assert_allclose(here[5:-5, k], there[5:-5, k], atol=0.02)
    assert np.isnan(seen.values["gyro"]).all()
    cfg = ReplayCfg(source=path, controllers=("fixed", "constant:0.5"))
    result, _ = replay_controllers(open_recording(cfg))
    assert result.answers["constant:0.5"].largest_difference == 0.5
    with pytest.raises(BadInput, match="does not name its controller"):
        open_recording(ReplayCfg(source=path))
    assert open_log(path).end_s == pytest.approx(seen.time_s[-1])


@pytest.mark.slow(covers=True)
def test_the_xray_of_a_plotjuggler_and_of_a_lowstate_file_gives_a_result(
    nao: Robot,
    g1: Robot,
    nao_frame: pd.DataFrame,
    g1_frame: pd.DataFrame,
    tmp_path: Path,
) -> None:
    run = CliRunner()
    path = writers.plotjuggler(nao_frame, nao, tmp_path)
    found = run.invoke(app, ["xray", str(path)])
    assert found.exit_code == 0, found.output
    assert "LAnklePitch" in found.output.splitlines()[0]
    path = writers.unitree(g1_frame, g1, tmp_path)
    found = run.invoke(app, ["xray", str(path), "--robot", str(G1)])
    assert found.exit_code == 0, found.output
    assert found.output.startswith("left_ankle_pitch has an error of +1.")


@pytest.mark.parametrize(
    "data", [b"{", b'{"name": ["a"], "position": {"x": "y"}}', b'{"hardware_id": 1}']
)
def test_mcap_with_a_message_that_cannot_be_read_is_refused(
    data: bytes, nao: Robot, nao_frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = mcap_of_json(nao_frame.iloc[:5], nao, tmp_path, last=data)
    with pytest.raises(BadInput, match=r"json\.mcap cannot be read as a bag.*JSON"):
        read_log(path)


def test_mcap_of_protobuf_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with path.open("wb") as file:
        writer = McapWriter(file)
        writer.start()
        schema = writer.register_schema("foxglove.State", "protobuf", b"\x0a\x00")
        channel = writer.register_channel("/state", "protobuf", schema)
        writer.add_message(channel, 0, b"\x09", 0)
        writer.finish()  # type: ignore[no-untyped-call]
    with pytest.raises(BadInput, match=r"run\.mcap has messages in protobuf, .* CSV"):
        read_log(path)


def test_an_invalid_bag_is_rejected_and_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.mcap"
    with pytest.raises(BadInput, match=r"run\.mcap cannot be read: No such file"):
        read_log(path)
    path.write_bytes(b"no bag")
    with pytest.raises(BadInput, match=r"run\.mcap cannot be read as a bag.*Give"):
        read_log(path)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(BadInput, match=r"needs rosbags.*\[logs\]"):
        read_log(path)


def test_log_columns_lists_known_and_missing_and_writes_map(
    nao: Robot, nao_frame: pd.DataFrame, nao_seen: Standing, tmp_path: Path
) -> None:
    path = writers.plotjuggler(nao_frame, nao, tmp_path)
    rows = pd.read_csv(path)
    rows = rows[[n for n in rows.columns if "acceleration" not in n]]
    other = pd.Series(1.0, rows.index, name="other")
    pd.concat([rows, other], axis=1).to_csv(path, index=False)
    file = tmp_path / "map.yaml"
    run = CliRunner()
    found = run.invoke(app, ["log-columns", str(path), "--write", str(file)])
    assert found.exit_code == 0, found.output
    assert "guessed: times in __time read as s" in found.output
    assert "unknown: other" in found.output
    assert "missing: xray: which leg: no accelerometer" in found.output
    assert "identify" not in found.output
    seen = seen_in(path, nao, str(file))
    assert_alike(seen, nao_seen, nao)


def test_a_written_map_is_read_with_any_quotes_in_columns(
    nao: Robot, tmp_path: Path
) -> None:
    path, file = tmp_path / "log.csv", tmp_path / "map.yaml"
    path.write_text("clock of 'pi',it's\n0,0.1\n0.1,0.2\n", encoding="utf-8")
    entries = ["--map", "time_s=clock of 'pi'", "--write", str(file)]
    found = CliRunner().invoke(app, ["log-columns", str(path), *entries])
    assert found.exit_code == 0, found.output
    assert read_map([str(file)]) == ("time_s=clock of 'pi'",)


def test_a_file_without_rows_is_refused(nao: Robot, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pd.DataFrame({"time_s": [], "q.LKneePitch": []}).to_parquet(path)
    with pytest.raises(BadInput, match=r"log\.parquet has no rows; give"):
        read_log(path, nao)
