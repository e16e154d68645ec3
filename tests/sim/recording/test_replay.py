"""A recording behind the robot interface: exact values, invalid recordings."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from nao_testbed.controllers.interface.robot_interface import (
    READINGS,
    Command,
    Observation,
    Reading,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim import replayed_robot
from nao_testbed.sim.recording import channels
from nao_testbed.sim.recording.run_folder import read_run
from nao_testbed.sim.recording.run_meta import recorded_robot
from nao_testbed.sim.replayed_robot import RecordingOver, ReplayRobot, read_observations
from tests.sim.recording.answering_controller import Answering
from tests.sim.recording.short_recordings import invented, record

ROOT = Path(__file__).resolve().parents[3]


def open_replay(folder: Path) -> ReplayRobot:
    run = read_run(folder)
    return ReplayRobot(read_observations(run, recorded_robot(run.meta)))


def answers(replay: ReplayRobot) -> Answering:
    """Run the recorded controller on the recording."""
    controller = Answering()
    controller.reset(replay.robot)
    while not replay.is_over:
        controller.step(replay.read())
        replay.step(20)
    return controller


def assert_same_input(a: list[Observation], b: list[Observation]) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        for field in dataclasses.fields(Observation):
            assert_array_equal(
                getattr(one, field.name), getattr(other, field.name), field.name
            )


@pytest.mark.parametrize("may_lack", [True, False])
def test_only_an_optional_reading_may_be_missing_in_old_runs(
    may_lack: bool, two_leg: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, two_leg, cycles=3)
    height = Reading("m", lambda _robot: ("base",), "Height by a barometer.")
    monkeypatch.setitem(READINGS, "height", height)
    monkeypatch.setattr(channels, "RECORDED", (*channels.RECORDED, "height"))
    monkeypatch.setattr(
        replayed_robot, "OPTIONAL_READINGS", {"height"} if may_lack else set()
    )
    if may_lack:
        assert "height" not in open_replay(tmp_path).recorded.values
    else:
        with pytest.raises(BadInput, match=r"no column 'height\.base'"):
            open_replay(tmp_path)


# -- exact replay ---------------------------------------------------------------------


@pytest.mark.requirement("JD-18")
def test_an_exact_recording_gives_the_same_bits(two_leg: Robot, tmp_path: Path) -> None:
    live = record(tmp_path, two_leg)
    replay = open_replay(tmp_path)
    again = answers(replay)
    assert replay.recorded.is_exact
    assert_same_input(again.seen, live.seen)
    assert_array_equal(again.said, live.said)
    assert replay.recorded.limits is not None
    assert_array_equal(replay.recorded.limits, live.said)


def test_a_rounded_recording_is_reported_as_such(
    two_leg: Robot, tmp_path: Path
) -> None:
    live = record(tmp_path, two_leg, exact=False)
    replay = open_replay(tmp_path)
    again = answers(replay)
    assert not replay.recorded.is_exact
    assert [seen.time_s for seen in again.seen] == [seen.time_s for seen in live.seen]
    assert not np.array_equal(again.said, live.said), (
        "the recording must have lost bits"
    )
    np.testing.assert_allclose(again.said, live.said, atol=1e-4)


@pytest.mark.requirement("JD-18")
def test_replay_skips_fast_forward_periods(two_leg: Robot, tmp_path: Path) -> None:
    """The clock jumps over fast-forward as it did for the recorded controller."""
    live = record(tmp_path, two_leg, cycles=30, parts=3, heat_s=4.0)
    replay = open_replay(tmp_path)
    again = answers(replay)
    assert_same_input(again.seen, live.seen)
    assert_array_equal(again.said, live.said)
    ends = [(0.58, 4.6), (5.18, 9.2)]
    np.testing.assert_allclose(replay.recorded.jumps, ends, atol=1e-9)


def test_a_run_without_a_controller_is_replayed_row_by_row(two_leg: Robot) -> None:
    recorded = invented(two_leg, [0.0, 0.02, 0.04])
    assert recorded.limits is None
    replay = ReplayRobot(recorded)
    assert [seen.q[0] for seen in answers(replay).seen] == [0.0, 1.0, 2.0]


# -- only recorded values -------------------------------------------------------------

PERIODS = st.lists(st.integers(1, 60), min_size=2, max_size=40)
STEPS = st.lists(st.integers(0, 90), min_size=1, max_size=60)


@given(periods=PERIODS, steps=STEPS)
def test_every_reading_is_the_newest_recorded_one(
    two_leg: Robot, periods: list[int], steps: list[int]
) -> None:
    ticks = np.cumsum(periods)
    recorded = invented(two_leg, (1e-3 * ticks).tolist())
    replay = ReplayRobot(recorded)
    usual = round(float(np.median(np.diff(ticks))))
    for step in [0, *steps]:
        before = replay.tick
        replay.step(step)
        if replay.is_over:
            assert before + step - ticks[-1] >= max(usual, 1)
            with pytest.raises(RecordingOver, match="the recording ended at"):
                replay.read()
            with pytest.raises(RecordingOver):
                replay.write(Command())
            return
        seen = replay.read()
        i = int(seen.q[0])
        assert seen.time_s == recorded.time_s[i]
        assert (seen.fsr == i).all()
        assert ticks[i] <= replay.tick
        assert i + 1 == len(ticks) or replay.tick < ticks[i + 1]
        jumped = replay.tick - (before + step)
        assert jumped >= 0
        assert not jumped or (replay.tick == ticks[i] and i > 0)
        assert replay.tick - ticks[i] < max(usual, 1)


def test_commands_are_stored_but_do_not_affect_sensors(two_leg: Robot) -> None:
    replay = ReplayRobot(invented(two_leg, [0.0, 0.02, 0.04]))
    n = len(two_leg.joints)
    replay.step(20)
    replay.write(Command(stiffness=np.full(n, 0.25)))
    replay.write(Command(stiffness=np.full(n, 0.75), target=np.zeros(n)))
    assert (replay.read().stiffness == 1.0).all(), "the recorded value of row 1"
    replay.step(20)
    assert (replay.read().target == 2.0).all()
    commanded = replay.commanded
    assert_array_equal(commanded["stiffness"][:, 0], [np.nan, 0.75, np.nan])
    assert_array_equal(commanded["target"][:, 0], [np.nan, 0.0, np.nan])


def test_time_is_monotonic(two_leg: Robot) -> None:
    with pytest.raises(BadInput, match="cannot go back"):
        ReplayRobot(invented(two_leg, [0.0, 0.02])).step(-1)


def test_a_tick_longer_than_the_period_is_refused(two_leg: Robot) -> None:
    with pytest.raises(BadInput, match=r"less than dt = 0\.05 s apart"):
        ReplayRobot(invented(two_leg, [0.0, 0.02]), dt=0.05)


# -- invalid recordings ---------------------------------------------------------------


def test_a_lost_part_is_named(two_leg: Robot, tmp_path: Path) -> None:
    record(tmp_path, two_leg, cycles=20, parts=3)
    lost = tmp_path / "part-00001.parquet"
    kept = lost.read_bytes()
    lost.unlink()
    with pytest.raises(BadInput, match=r"lacks part-00001\.parquet, but has part-0"):
        open_replay(tmp_path)
    lost.write_bytes(kept)
    (tmp_path / "part-00002.parquet").unlink()
    with pytest.raises(BadInput, match=r"has 40 of 60 recorded rows"):
        open_replay(tmp_path)


def test_a_damaged_part_is_named(two_leg: Robot, tmp_path: Path) -> None:
    record(tmp_path, two_leg, cycles=20, parts=2)
    part = tmp_path / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-300])
    with pytest.raises(
        BadInput, match=r"part-00001\.parquet cannot be read: .*[^.]\. Parts .*damaged"
    ):
        open_replay(tmp_path)


def test_another_robot_is_refused(two_leg: Robot, nao: Robot, tmp_path: Path) -> None:
    record(tmp_path, two_leg, cycles=5)
    run = read_run(tmp_path)
    with pytest.raises(BadInput, match=r"recorded on robot 'two_leg', but .* has 'nao"):
        recorded_robot(run.meta, nao.folder)
    with pytest.raises(
        BadInput, match=r"another robot: it has no column 'limits\.Head"
    ):
        read_observations(run, nao)
    fewer = dataclasses.replace(two_leg, joints=two_leg.joints[:-1])
    name = two_leg.joint_names[-1]
    with pytest.raises(BadInput, match=rf"another robot: it has a column 'q\.{name}'"):
        read_observations(run, fewer)


def test_the_robot_of_the_run_is_restored(nao: Robot, tmp_path: Path) -> None:
    had = nao.with_body("T14").with_effort_limits({"HeadYaw": 0.5})
    record(tmp_path, had, cycles=2)
    robot = recorded_robot(read_run(tmp_path).meta)
    assert robot.absent == had.absent
    assert_array_equal(robot.effort_limit, had.effort_limit)


def test_a_missing_robot_folder_is_requested(two_leg: Robot, tmp_path: Path) -> None:
    record(tmp_path, two_leg, cycles=2)
    meta = tmp_path / "meta.json"
    data = json.loads(meta.read_text(encoding="utf-8"))
    data["robot_data"]["folder"] = str(tmp_path / "gone")
    meta.write_text(json.dumps(data), encoding="utf-8")
    run = read_run(tmp_path)
    with pytest.raises(BadInput, match=r"from .*gone, which does not exist\..*--robot"):
        recorded_robot(run.meta)
    assert recorded_robot(run.meta, two_leg.folder).name == two_leg.name


def test_a_recording_from_before_the_replay_still_opens(
    two_leg: Robot, tmp_path: Path
) -> None:
    """Format 1 had neither times of observations nor the robot's data."""
    record(tmp_path, two_leg, cycles=5)
    meta = tmp_path / "meta.json"
    data = json.loads(meta.read_text(encoding="utf-8"))
    del data["robot_data"], data["rows"], data["channels"]
    data["format"] = 1
    data["columns"] = {
        name: unit
        for name, unit in data["columns"].items()
        if not name.startswith(("limits.", "observed_s"))
    }
    meta.write_text(json.dumps(data), encoding="utf-8")
    run = read_run(tmp_path)
    assert len(run.frame) == 5
    with pytest.raises(BadInput, match=r"without the times .* \(format 1\).*Record"):
        read_observations(run, two_leg)


def test_an_empty_run_is_rejected(two_leg: Robot, tmp_path: Path) -> None:
    record(tmp_path, two_leg, cycles=0)
    with pytest.raises(BadInput, match="has no rows"):
        open_replay(tmp_path)


_CHILD = """
import sys
from pathlib import Path
from nao_testbed.models import load_robot
from tests.sim.recording.short_recordings import record
record(Path(sys.argv[1]), load_robot(sys.argv[2]), cycles=50, parts=10**6)
"""


@pytest.mark.slow
@pytest.mark.requirement("JD-18")
def test_a_killed_run_is_replayed_to_its_last_part(
    two_leg: Robot, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(tmp_path), str(two_leg.folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        while not (tmp_path / "part-00002.parquet").exists():
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    run = read_run(tmp_path)
    assert run.state == "interrupted"
    replay = open_replay(tmp_path)
    parts = sorted(tmp_path.glob("part-*.parquet"))
    assert len(replay.recorded) == sum(pq.read_metadata(p).num_rows for p in parts)
    again = answers(replay)
    assert replay.recorded.limits is not None
    assert_array_equal(again.said, replay.recorded.limits)
