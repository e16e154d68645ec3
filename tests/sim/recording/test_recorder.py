"""Recordings: content of a run folder, which opens after any failure."""

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose

from nao_testbed.models import BadInput, UnknownName, default_robot_folder, load_robot
from nao_testbed.models.system import KILL
from nao_testbed.sim.recording.channels import Channel, observation_channels
from nao_testbed.sim.recording.recorder import LastSecond, Recorder, RecordingError
from nao_testbed.sim.recording.run_folder import create_run_folder, plain_name, read_run
from nao_testbed.sim.recording.run_meta import RunMeta, describe_run
from tests.like_windows.windows_files import NO_NAME
from tests.processes import can_signal

ROOT = Path(__file__).resolve().parents[3]

CHANNELS = (
    Channel(name="q", unit="rad", members=("Hip", "Knee")),
    Channel(name="temperature", unit="degC", members=("Hip",), stored="float64"),
    Channel(name="height", unit="m"),
)


@dataclass(frozen=True, kw_only=True)
class _Cfg:
    minutes: float = 15.0
    misalignment_deg: tuple[float, ...] = (2.0, math.inf)
    out: Path = Path("somewhere")


def _meta() -> RunMeta:
    return describe_run(
        experiment="small",
        robot="two-leg",
        seed=7,
        config=_Cfg(),
        command=("nao-testbed", "heat"),
    )


def _record(recorder: Recorder, times: np.ndarray) -> None:
    for t in times.tolist():
        recorder.append(t, np.array([t, -t]), np.array([25.0 + t]), 0.3)


def _times(duration_s: float, start_s: float = 0.02) -> np.ndarray:
    return start_s + 0.02 * np.arange(round(duration_s / 0.02))


def test_a_run_names_the_commit_of_its_source_if_available() -> None:
    assert bool(_meta().commit) is (ROOT / ".git").exists()


def test_a_run_opens_as_it_was_recorded(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path / "runs", "small")
    times = _times(70.0)
    with Recorder(folder, CHANNELS, _meta()) as recorder:
        _record(recorder, times)
        recorder.event("fell", 3.5, joint="Knee", values=np.array([1.0, math.nan]))
        assert read_run(folder).state == "running"
    run = read_run(folder)
    assert run.state == "done"
    assert list(run.frame.columns) == ["q.Hip", "q.Knee", "temperature.Hip", "height"]
    assert run.frame.index.name == "time_s"
    assert np.array_equal(run.frame.index, times)
    assert_allclose(run.frame["q.Knee"], -times, rtol=1e-7)
    assert np.array_equal(run.frame["temperature.Hip"], 25.0 + times)
    (event,) = run.events
    assert (event.kind, event.time_s) == ("fell", 3.5)
    assert event.data == {"joint": "Knee", "values": [1.0, "nan"]}
    assert list(run.channel("q").columns) == ["Hip", "Knee"]
    assert run.last_second is None
    assert not list(folder.glob("*.tmp"))


def test_repr_of_a_run_is_one_line(tmp_path: Path) -> None:
    """A notebook shows the last value of a cell: all columns would fill a page."""
    folder = create_run_folder(tmp_path, "small")
    about = f"Run({str(folder)!r}: small of two-leg, seed 7"
    with Recorder(folder, CHANNELS, _meta()) as recorder:
        _record(recorder, _times(1.0))
        recorder.event("fell", 0.5)
        assert repr(read_run(folder)) == f"{about}, 1 event, running)"
    assert repr(read_run(folder)) == f"{about}, 50 rows, 1 event, done)"


def test_error_for_a_parent_folder_lists_the_runs_in_it(
    tmp_path: Path,
) -> None:
    for name in ("smart", "fixed"):
        Recorder(create_run_folder(tmp_path, name), CHANNELS, _meta()).close("done")
    inside = f"{tmp_path / 'fixed'}, {tmp_path / 'smart'}"
    with pytest.raises(BadInput, match=f"in it: {re.escape(inside)}\\."):
        read_run(tmp_path)


@pytest.mark.parametrize("pace", [1.0, 50.0])
def test_a_part_holds_at_most_30_seconds_of_physics(
    tmp_path: Path, pace: float
) -> None:
    folder = create_run_folder(tmp_path, "small")
    with Recorder(folder, CHANNELS, _meta()) as recorder:
        _record(recorder, pace * _times(70.0))  # 50: fast-forward, a row per second
    parts = sorted(folder.glob("part-*.parquet"))
    spans = [pq.read_table(part)["time_s"].to_numpy() for part in parts]
    assert [part.name for part in parts] == [f"part-0000{i}.parquet" for i in range(3)]
    assert all(span[-1] - span[0] < 30.0 * pace for span in spans)


@pytest.mark.parametrize("before", [0, 3, 4000])
def test_a_channel_added_later_is_nan_before(tmp_path: Path, before: int) -> None:
    late = Channel(name="shift", unit="rad", members=("Hip",), about="How far.")
    folder = create_run_folder(tmp_path, "small")
    times = _times(0.02 * (before + 5))
    with Recorder(folder, CHANNELS, _meta()) as recorder:
        _record(recorder, times[:before])
        recorder.add(late)
        with pytest.raises(BadInput, match=r"'shift.Hip' is recorded twice"):
            recorder.add(late)
        for t in times[before:].tolist():
            recorder.append(t, np.array([t, -t]), np.array([25.0]), 0.3, np.array([t]))
        meta = read_run(folder).meta
        assert (meta.columns["shift.Hip"], meta.channels) == (
            "rad",
            {"shift": "How far."},
        ), "while the run continues"
    run = read_run(folder)
    assert run.meta.rows == len(run.frame) == before + 5
    assert np.array_equal(run.frame.index, times)
    assert_allclose(run.frame["q.Hip"], times, rtol=1e-7)
    shift = run.frame["shift.Hip"].to_numpy()
    assert shift.dtype == np.float32
    assert np.isnan(shift[:before]).all()
    assert_allclose(shift[before:], times[before:], rtol=1e-7)
    assert len(list(folder.glob("part-*.parquet"))) == 1 + -(-before // 1500)


def test_an_added_channel_without_saved_rows_is_nan(
    tmp_path: Path,
) -> None:
    late = Channel(name="shift", unit="rad", members=("Hip",))
    recorder = Recorder(create_run_folder(tmp_path, "small"), CHANNELS, _meta())
    _record(recorder, _times(0.1))
    recorder.add(late)
    recorder.append(0.12, np.zeros(2), np.zeros(1), 0.0, np.ones(1))
    run = read_run(recorder.folder)  # as after a kill
    assert len(run.frame) == 5
    assert list(run.frame.columns) == [c for c in run.meta.columns if c != "time_s"]
    assert np.isnan(run.channel("shift").to_numpy()).all()
    recorder.close()


def test_a_channel_that_cannot_be_added_leaves_rows_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with Recorder(create_run_folder(tmp_path, "small"), CHANNELS, _meta()) as recorder:
        _record(recorder, _times(0.1))
        with monkeypatch.context() as patch:
            patch.setattr("nao_testbed.sim.recording.recorder.write_meta", full)
            with pytest.raises(RecordingError, match="No space left on device"):
                recorder.add(Channel(name="shift", unit="rad"))
        _record(recorder, _times(0.1, start_s=0.12))
    run = read_run(recorder.folder)
    assert len(run.frame) == run.meta.rows == 10
    assert "shift" not in run.meta.columns


def test_a_channel_without_elements_has_no_column(tmp_path: Path) -> None:
    """For example the force sensors of a robot that has none."""
    folder = create_run_folder(tmp_path, "small")
    none = Channel(name="fsr", unit="N", members=(), about="Normal forces.")
    with Recorder(folder, (none, CHANNELS[2]), _meta()) as recorder:
        recorder.append(0.02, np.empty(0), 0.3)
    run = read_run(folder)
    assert list(run.frame.columns) == ["height"]
    assert "fsr" not in run.meta.channels


def test_more_rows_than_the_block_become_more_parts(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, "small")
    times = 0.001 * np.arange(1, 6001)
    with Recorder(folder, CHANNELS, _meta()) as recorder:
        _record(recorder, times)
    assert len(list(folder.glob("part-*.parquet"))) == 4
    assert np.array_equal(read_run(folder).frame.index, times)


def test_rows_do_not_wait_for_a_slow_simulation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill -9 loses at most the second half of a run, and at most 30 s."""
    now = 100.0
    monkeypatch.setattr(
        "nao_testbed.sim.recording.recorder.time.monotonic", lambda: now
    )
    folder = create_run_folder(tmp_path, "small")
    recorder = Recorder(folder, CHANNELS, _meta())
    last_s, written = 0.0, []
    for second in range(300):
        now = 100.0 + second
        last_s += 0.01
        n_parts = len(list(folder.glob("part-*.parquet")))
        _record(recorder, np.array([last_s]))
        if len(list(folder.glob("part-*.parquet"))) > n_parts:
            written.append(second)
    assert written[:6] == [2, 4, 8, 16, 32, 62]
    assert set(np.diff(written[4:])) == {30}
    kept = read_run(folder).frame.index
    assert len(kept) == written[-1]
    recorder.close()


def test_meta_holds_the_command_to_rerun(tmp_path: Path) -> None:
    folder = create_run_folder(tmp_path, "small")
    Recorder(folder, CHANNELS, _meta()).close("failed: fell at 3.5 s")
    text = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    assert text["state"] == "failed: fell at 3.5 s"
    assert text["seed"] == 7
    assert text["config"] == {
        "minutes": 15.0,
        "misalignment_deg": [2.0, "inf"],
        "out": "somewhere",
    }
    assert text["columns"] == {
        "time_s": "s",
        "q.Hip": "rad",
        "q.Knee": "rad",
        "temperature.Hip": "degC",
        "height": "m",
    }
    assert text["command"] == ["nao-testbed", "heat"]
    assert {"python", "numpy", "pyarrow"} <= set(text["versions"])
    run = read_run(folder)
    assert run.meta.command == ("nao-testbed", "heat")
    assert run.state == "failed: fell at 3.5 s"
    assert run.frame.empty
    assert list(run.frame.columns) == ["q.Hip", "q.Knee", "temperature.Hip", "height"]


def test_a_part_has_types_and_units_without_meta(tmp_path: Path) -> None:
    with Recorder(tmp_path, CHANNELS, _meta()) as recorder:
        _record(recorder, _times(1.0))
    schema = pq.read_schema(tmp_path / "part-00000.parquet")
    types = [str(field.type) for field in schema]
    units = [field.metadata[b"unit"].decode() for field in schema]
    assert types == ["double", "float", "float", "double", "float"]
    assert units == ["s", "rad", "rad", "degC", "m"]


_CHILD = """
import sys
from pathlib import Path
import numpy as np
from nao_testbed.sim.recording.channels import Channel
from nao_testbed.sim.recording.recorder import Recorder
from nao_testbed.sim.recording.run_meta import describe_run

channels = [Channel(name="q", unit="rad", members=tuple("abcdefgh"))]
meta = describe_run(experiment="child", robot="none", seed=0, config=None)
with Recorder(Path(sys.argv[1]), channels, meta) as recorder:
    for i in range(1, 10**9):
        t = 0.02 * i
        recorder.append(t, np.full(8, t))
        if i % 500 == 0:
            recorder.event("ten seconds", t)
        print(t, flush=True)
"""


@contextmanager
def _child(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _run_until(
    process: subprocess.Popen[str], time_s: float, end: signal.Signals
) -> float:
    """Send a signal once a simulated time has passed; return the last row's time."""
    assert process.stdout is not None
    for line in process.stdout:
        if float(line) >= time_s:
            break
    process.send_signal(end)
    rest, _ = process.communicate(timeout=120)
    whole = rest[: rest.rfind("\n") + 1].split()
    return float(whole[-1]) if whole else time_s


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("time_s", [5.0, 61.0, 119.98])
def test_kill_9_loses_at_most_30_seconds(tmp_path: Path, time_s: float) -> None:
    with _child(tmp_path) as process:
        last_s = _run_until(process, time_s, KILL)
    run = read_run(tmp_path)
    assert run.state == "interrupted"
    kept = run.frame.index.to_numpy()
    assert last_s - (kept[-1] if len(kept) else 0.0) <= 30.0
    assert_allclose(kept, 0.02 * np.arange(1, len(kept) + 1))
    assert_allclose(run.frame["q.c"], kept, rtol=1e-6)
    happened = [event.time_s for event in run.events]
    assert_allclose(
        happened[: int(last_s / 10.0)], 10.0 * np.arange(1, int(last_s / 10.0) + 1)
    )


@pytest.mark.slow
@can_signal
def test_ctrl_c_loses_no_row_and_is_noted(tmp_path: Path) -> None:
    with _child(tmp_path) as process:
        last_s = _run_until(process, 40.0, signal.SIGINT)
    run = read_run(tmp_path)
    assert run.state == "failed: stopped by the user (Ctrl-C)"
    assert run.frame.index[-1] >= last_s


def test_incomplete_files_of_a_killed_process_are_ignored(tmp_path: Path) -> None:
    with Recorder(tmp_path, CHANNELS, _meta()) as recorder:
        _record(recorder, _times(40.0))
        recorder.event("step", 1.0)
    (tmp_path / "part-00002.tmp").write_bytes(b"PAR1 and no more")
    (tmp_path / "meta.json.tmp").write_text('{"experiment": "sm', "utf-8")
    with (tmp_path / "events.jsonl").open("a", encoding="utf-8") as events:
        events.write('{"kind": "fell", "ti')
    run = read_run(tmp_path)
    assert len(run.frame) == 2000
    assert [event.kind for event in run.events] == ["step"]


@pytest.mark.parametrize(
    "line",
    [
        "{no event",
        "[1, 2]",
        "null",
        "",
        '{"kind": "fell", "time_s": "soon", "data": {}}',
        '{"kind": "fell", "time_s": 1.0}',
        "\0\0\0",
    ],
)
def test_events_around_a_damaged_line_are_read_and_it_is_counted(
    tmp_path: Path, line: str
) -> None:
    with Recorder(tmp_path, CHANNELS, _meta()) as recorder:
        recorder.event("step", 1.0)
        recorder.event("fell", 2.0, name="two\u2028lines")
    first, second, rest = (tmp_path / "events.jsonl").read_text("utf-8").split("\n")
    (tmp_path / "events.jsonl").write_text(
        "\n".join([first, line, second, rest]), "utf-8"
    )
    run = read_run(tmp_path)
    assert [event.kind for event in run.events] == ["step", "fell"]
    assert run.events[1].data == {"name": "two\u2028lines"}
    assert run.damaged_events == 1


def test_rows_written_twice_are_read_once(tmp_path: Path) -> None:
    with Recorder(tmp_path, CHANNELS, _meta()) as recorder:
        _record(recorder, _times(10.0))
    part = tmp_path / "part-00000.parquet"
    (tmp_path / "part-00001.parquet").write_bytes(part.read_bytes())
    assert np.array_equal(read_run(tmp_path).frame.index, _times(10.0))


def test_an_error_in_the_run_is_recorded(tmp_path: Path) -> None:
    def run_and_break() -> None:
        with Recorder(tmp_path, CHANNELS, _meta()) as recorder:
            _record(recorder, _times(1.0))
            raise ZeroDivisionError("solver broke")

    with pytest.raises(ZeroDivisionError):
        run_and_break()
    run = read_run(tmp_path)
    assert run.state == "failed: solver broke"
    assert len(run.frame) == 50


def test_nan_saves_the_last_second_and_names_its_source(tmp_path: Path) -> None:
    last = LastSecond(CHANNELS[:2], rows=1000)
    recorder = Recorder(tmp_path, CHANNELS, _meta())
    times = 0.001 * np.arange(1, 2501)
    for t in times.tolist():
        last.push_row(t, np.array([t, 0.0, 30.0]))
    last.push_row(2.501, np.array([2.501, math.nan, 30.0]))
    last.save(recorder.folder)
    recorder.close("failed: not a number in q.Knee")
    run = read_run(tmp_path)
    assert run.state == "failed: not a number in q.Knee"
    assert run.last_second is not None
    assert np.array_equal(run.last_second.index, [*times[-999:], 2.501])
    newest = run.last_second.iloc[-1]
    assert list(newest.index[newest.isna()]) == ["q.Knee"]
    assert run.last_second["q.Hip"].iloc[0] == np.float32(times[-999])


def test_a_partial_last_second_is_saved(tmp_path: Path) -> None:
    last = LastSecond(CHANNELS[:1], rows=10)
    for t in (0.001, 0.002):
        last.push_row(t, np.array([t, t]))
    assert len(pq.read_table(last.save(tmp_path))) == 2


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    first = create_run_folder(tmp_path, "heat")
    second = create_run_folder(tmp_path, "heat")
    third = create_run_folder(tmp_path, "heat")
    assert [f.name for f in (first, second, third)] == ["heat", "heat-2", "heat-3"]
    Recorder(first, CHANNELS, _meta()).close()
    with pytest.raises(BadInput, match="already has a run"):
        Recorder(first, CHANNELS, _meta())


def test_a_folder_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way", "utf-8")
    with pytest.raises(BadInput, match=r"cannot be written: .*--out"):
        create_run_folder(file, "heat")
    with pytest.raises(BadInput, match=r"cannot be written: .*--out"):
        create_run_folder(file / "below", "heat")
    with pytest.raises(BadInput, match=r"run name is '\.\./heat'"):
        create_run_folder(tmp_path, "../heat")


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("smart", "smart"),
        ("constant:0.6", "constant-0.6"),
        ("mine/of_a:<b>|c?*", "mine-of_a--b--c--"),
        ("aux", "aux-"),
        ("Con.yaml", "Con-.yaml"),
        ("console", "console"),
        ("my com1", "my com1"),
        ("ends. .", "ends-"),
        ("..", "-"),
    ],
)
def test_a_run_name_is_valid_on_every_system(name: str, folder: str) -> None:
    assert plain_name(name) == folder
    assert not NO_NAME.fullmatch(folder)
    assert (plain_name(name) == name) == (NO_NAME.fullmatch(name) is None)


@pytest.mark.parametrize("content", [None, "{", "[]", '{"state": "done"}'])
def test_a_folder_without_a_run_is_bad_input(
    tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / "meta.json").write_text(content, "utf-8")
    with pytest.raises(BadInput, match=r"meta\.json"):
        read_run(tmp_path)
    with pytest.raises(BadInput, match="is not a run folder"):
        read_run(tmp_path / "nowhere")


def test_invalid_rows_are_rejected(tmp_path: Path) -> None:
    with Recorder(tmp_path, CHANNELS, _meta()) as recorder:
        _record(recorder, np.array([1.0]))
        with pytest.raises(BadInput, match=r"row at 1\.0 s after one at 1\.0 s"):
            _record(recorder, np.array([1.0]))
        with pytest.raises(BadInput, match="2 values for 3 channels"):
            recorder.append(2.0, np.zeros(2), np.zeros(1))
    assert list(read_run(tmp_path).frame.index) == [1.0]


def test_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    twice = (CHANNELS[0], Channel(name="q.Hip", unit="rad"))
    with pytest.raises(BadInput, match=r"column 'q\.Hip' is recorded twice"):
        Recorder(tmp_path, twice, _meta())
    with pytest.raises(BadInput, match="'time_s' is recorded twice"):
        Recorder(tmp_path, (Channel(name="time_s", unit="s"),), _meta())
    with pytest.raises(BadInput, match="without columns"):
        Recorder(tmp_path, (), _meta())
    with pytest.raises(BadInput, match="stored as 'int8'"):
        Channel(name="q", unit="rad", stored="int8")  # type: ignore[arg-type] # on purpose
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_reported_and_the_run_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(tmp_path, CHANNELS, _meta())
    _record(recorder, _times(29.0))
    recorder.flush()
    _record(recorder, _times(1.0, start_s=29.5))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordingError, match=r"part-00001.*: No space left on device"):
        recorder.close()
    run = read_run(tmp_path)
    assert run.state.startswith("failed: cannot write")
    assert len(run.frame) == 1450


def test_an_unknown_channel_is_named(tmp_path: Path) -> None:
    Recorder(tmp_path, CHANNELS, _meta()).close()
    with pytest.raises(UnknownName, match="Did you mean 'temperature'"):
        read_run(tmp_path).channel("temperatur")


def test_every_run_of_a_robot_has_the_same_columns() -> None:
    robot = load_robot(default_robot_folder())
    channels = observation_channels(robot)
    sizes = {channel.name: len(channel.columns) for channel in channels}
    n, m = len(robot.joints), len(robot.motors)
    assert sizes == {
        **dict.fromkeys(("q", "v", "target", "effort", "stiffness"), n),
        **dict.fromkeys(("temperature", "current"), m),
        "fsr": len(robot.force_sensors),
        "sonar": len(robot.sonars),
        "battery": 1,
        **dict.fromkeys(("gyro", "accelerometer", "gravity"), 3),
    }
    assert "q.LKneePitch" in channels[0].columns
    assert all(channel.about.endswith(".") for channel in channels)
