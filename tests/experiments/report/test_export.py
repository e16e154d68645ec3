"""`nao-testbed report --to`: exported files contain the values of the run.

MCAP is read by the reference library of Foxglove's and PlotJuggler's formats. It
decodes each message with the definition embedded in the file.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from nao_testbed.experiments.cli import main
from nao_testbed.experiments.report.export import (
    WRITERS,
    write_csv,
    write_mcap,
    write_rerun,
)
from nao_testbed.experiments.report.exported_run import ExportedRun
from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.models import BadInput
from nao_testbed.sim.recording.run_folder import Run, read_run
from tests.experiments.common.recorded_runs import RecordedRuns

ATOL_FK = 1e-6  # m; rows are recorded exactly, quaternions are of unit length to 1e-16
SCENARIO = """\
name: nod
about: A robot nods, and its head is warm.
duration_s: 1.2
simulation: {start_degc: {HeadYaw: 77, HeadPitch: 81}}
behaviours: [{name: nods, schema: move, with: {motion: nod}}]
"""

Messages = dict[str, list[tuple[float, str, Any]]]
"""Topic to time in s, type, and message."""


@pytest.fixture(scope="module")
def folder(recorded: RecordedRuns) -> Path:
    def nod(base: Path) -> None:
        (base / "nod.yaml").write_text(SCENARIO, "utf-8")
        (base / "run").mkdir()
        run_scenario(load_scenario(base / "nod.yaml"), base / "run", proves=False)

    return recorded("nod", nod) / "run"


@pytest.fixture(scope="module")
def exported(folder: Path) -> ExportedRun:
    return ExportedRun(folder)


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return read_run(folder)


@pytest.fixture(scope="module")
def messages(
    exported: ExportedRun, tmp_path_factory: pytest.TempPathFactory
) -> Messages:
    reader = pytest.importorskip("mcap.reader", reason="the extra export")
    decoder = pytest.importorskip("mcap_ros2.decoder", reason="the extra export")
    path = tmp_path_factory.mktemp("mcap") / "nod.mcap"
    told: list[float] = []
    assert list(write_mcap(exported, path, told.append)) == [path]
    assert told
    found: Messages = defaultdict(list)
    with path.open("rb") as file:
        source = reader.make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        assert source.get_header().profile == "ros2"
        last = 0
        for schema, channel, message, decoded in source.iter_decoded_messages():
            assert message.log_time >= last
            last = message.log_time
            assert (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
            one = (message.log_time / 1e9, schema.name, decoded)
            found[channel.topic].append(one)
    return found


def test_joint_states_are_those_of_the_run(messages: Messages, run: Run) -> None:
    states = messages["/joint_states"]
    assert {kind for _, kind, _ in states} == {"sensor_msgs/msg/JointState"}
    names = list(states[0][2].name)
    q, v, effort = (run.channel(c)[names].to_numpy() for c in ("q", "v", "effort"))
    np.testing.assert_array_equal([s.position for *_, s in states], q)
    np.testing.assert_array_equal([s.velocity for *_, s in states], v)
    np.testing.assert_array_equal([s.effort for *_, s in states], effort)
    times = np.array([time_s for time_s, *_ in states])
    np.testing.assert_allclose(times, run.frame.index, atol=1e-6)
    stamps = [s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for *_, s in states]
    np.testing.assert_allclose(stamps, times, atol=1e-9)
    targets = [s.position for *_, s in messages["/joint_targets"]]
    np.testing.assert_array_equal(targets, run.channel("target")[names])
    limits = [m.data for *_, m in messages["/stiffness"]]
    np.testing.assert_array_equal(limits, run.channel("stiffness")[names])


def test_transforms_place_the_feet_as_pinocchio_does(
    messages: Messages, exported: ExportedRun, run: Run
) -> None:
    """Oracle: Pinocchio with the same URDF, base pose and angles."""
    model = pin.buildModelFromUrdf(str(exported.robot.urdf), pin.JointModelFreeFlyer())
    data = model.createData()
    for i in (0, len(run.frame) - 1):
        row = run.frame.iloc[i]
        q = pin.neutral(model)
        q[:3] = [row[f"base_position.{a}"] for a in "xyz"]
        q[3:7] = [row[f"base_quaternion.{a}"] for a in "xyzw"]
        for name in exported.robot.joint_names:
            q[model.idx_qs[model.getJointId(name)]] = row[f"q.{name}"]
        pin.framesForwardKinematics(model, data, q)
        placed = {"world": pin.SE3.Identity()}
        for one in messages["/tf"][i][2].transforms:
            r, t = one.transform.rotation, one.transform.translation
            turn = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
            step = pin.SE3(turn, np.array([t.x, t.y, t.z]))
            placed[one.child_frame_id] = placed[one.header.frame_id] * step
        assert set(placed) == {"world", *(link.name for link in exported.robot.links)}
        for link in ("l_ankle", "r_ankle", "Head"):
            frame = data.oMf[model.getFrameId(link)]
            np.testing.assert_allclose(
                placed[link].translation, frame.translation, atol=ATOL_FK
            )
            np.testing.assert_allclose(
                placed[link].rotation, frame.rotation, atol=ATOL_FK
            )


def test_temperatures_and_diagnostics_identify_hot_motors(
    messages: Messages, exported: ExportedRun
) -> None:
    seconds = len(messages["/diagnostics"])
    assert seconds == 2, "at the start, and a second later"
    for motor in exported.robot.motor_names:
        assert len(messages[f"/temperature/{motor}"]) == seconds
    (_, _, warm), *_ = messages["/temperature/HeadYaw"]
    assert warm.temperature == pytest.approx(77.0, abs=1.0)
    (_, _, first), *_ = messages["/diagnostics"]
    levels = {status.name: bytes([status.level]) for status in first.status}
    assert levels["motor HeadYaw"] == b"\x01"
    assert levels["motor HeadPitch"] == b"\x02"
    assert levels["motor LKneePitch"] == b"\x00"
    assert [s.message for s in first.status if s.name == "run"] == ["done"]


def test_file_contains_events_and_robot_description(
    messages: Messages, exported: ExportedRun, run: Run
) -> None:
    said = [log.msg for *_, log in messages["/rosout"]]
    ordered = sorted(run.events, key=lambda event: event.time_s)
    assert [one.partition(" ")[0] for one in said] == [e.kind for e in ordered]
    assert any('"hotEngine"' in one for one in said)
    ((_, _, description),) = messages["/robot_description"]
    assert description.data == exported.robot.urdf.read_text(encoding="utf-8")


def test_csv_can_be_read_as_a_table(
    exported: ExportedRun, run: Run, tmp_path: Path
) -> None:
    table, events = write_csv(exported, tmp_path / "nod.csv", lambda _: None)
    again = pd.read_csv(table, index_col="time_s")
    assert list(again.columns) == list(run.frame.columns)
    np.testing.assert_allclose(again.to_numpy(), run.frame.to_numpy(), rtol=1e-8)
    kinds = pd.read_csv(events)["kind"]
    assert list(kinds) == [event.kind for event in run.events]


def test_rerun_can_read_its_recording(
    exported: ExportedRun, run: Run, tmp_path: Path
) -> None:
    reason = "rerun-sdk is not installed: the extra rerun, half a gigabyte"
    pytest.importorskip("rerun", reason=reason)
    from rerun.chunk import RrdReader  # type: ignore[import-not-found,unused-ignore]

    (path,) = write_rerun(exported, tmp_path / "nod.rrd", lambda _: None)
    chunks = RrdReader(path).stream().to_chunks()
    rows: dict[str, int] = defaultdict(int)
    for chunk in chunks:
        rows[chunk.entity_path.removeprefix("/")] += chunk.num_rows
    n = len(run.frame)
    for name in exported.robot.joint_names:
        assert rows[f"position/{name}"] == rows[f"target/{name}"] == n
    for name in exported.robot.motor_names:
        assert rows[f"temperature/{name}"] == n
    assert rows["world/torso"] == rows["world/torso/Neck/Head"] == n
    assert rows["events"] == len(run.events)


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["nao-testbed", "export", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_command_names_the_written_files(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "here.csv"
    assert call(monkeypatch, str(folder), "--to", "csv", "--out", str(out)) == 0
    said = capsys.readouterr()
    assert said.out.split() == [str(out), str(tmp_path / "here.events.csv")]
    assert said.err == ""


def test_json_output_lists_the_written_files(
    folder: Path,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "here.csv"
    words = ("--to", "csv", "--out", str(out), "--json", "-")
    assert call(monkeypatch, str(folder), *words) == 0
    assert json.loads(capsys.readouterr().out) == {
        "experiment": "export",
        "run": str(folder),
        "format": "csv",
        "files": [
            {"file": str(out), "rows": {"observations": len(run.frame)}},
            {
                "file": str(tmp_path / "here.events.csv"),
                "rows": {"events": len(run.events)},
            },
        ],
    }


def test_table_is_written_in_parts_with_progress(
    exported: ExportedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = write_csv(exported, tmp_path / "whole.csv", lambda _: None)
    monkeypatch.setattr("nao_testbed.experiments.report.export.ROWS_AT_ONCE", 7)
    told: list[float] = []
    parts, _ = write_csv(exported, tmp_path / "parts.csv", told.append)
    assert parts.read_bytes() == whole.read_bytes()
    assert told == [*exported.time_s[6::7], exported.time_s[-1]]


def test_message_counts_of_topics_are_returned(
    exported: ExportedRun, messages: Messages, tmp_path: Path
) -> None:
    (rows,) = write_mcap(exported, tmp_path / "x.mcap", lambda _: None).values()
    assert rows == {topic: len(said) for topic, said in messages.items()}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--to", "mcp"), "Did you mean 'mcap'?"),
        (("--to", "csv", "--out", "no/where.csv"), "--out no/where.csv cannot be"),
        (("--robot", "nowhere"), "'nowhere' is neither a directory"),
    ],
)
def test_bad_input_is_reported(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    says: str,
) -> None:
    assert call(monkeypatch, str(folder), *words) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("to", "module", "extra"),
    [("mcap", "mcap_ros2.writer", "export"), ("rerun", "rerun", "rerun")],
)
def test_missing_extra_is_named(
    exported: ExportedRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    to: str,
    module: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / "none"
    with pytest.raises(BadInput, match=rf"pip install '\.\[{extra}\]'"):
        WRITERS[to](exported, path, lambda _: None)
    assert not path.exists()
