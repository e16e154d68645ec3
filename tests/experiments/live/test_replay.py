"""A recording on the page: its player, and the moment shown at a time."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

from nao_testbed.experiments.closed_loop.recording import BASE_QUATERNION
from nao_testbed.experiments.live.player import (
    PLAYER_ACTIONS,
    GoOn,
    Pause,
    Player,
    ReplayedRun,
    Seek,
    read_recording,
)
from nao_testbed.experiments.live.robot.operation import HeatNow, action_of
from nao_testbed.experiments.report.run_source import read_source
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.sim.recording.run_folder import read_run


def test_player_keeps_its_speed_and_stays_within_the_run() -> None:
    player = Player(10.0)
    assert player.step(1.0) == (0.0, 0.0)
    player.act(GoOn(speed=4.0))
    assert player.step(0.5) == (2.0, 4.0)
    player.act(Pause())
    assert player.step(5.0) == (2.0, 0.0)
    player.act(Seek(time_s=1e9))
    assert player.step(1.0) == (10.0, 0.0)
    player.act(GoOn(speed=0.5))
    assert player.step(1.0) == (0.5, 0.5)
    player.act(Seek(time_s=9.9))
    assert player.step(1.0) == (10.0, 0.0)


@pytest.mark.parametrize(
    "action",
    [
        '{"do": "Seek", "time_s": -1}',
        '{"do": "Seek", "time_s": NaN}',
        '{"do": "Seek", "time_s": Infinity}',
        '{"do": "Seek", "time_s": "3"}',
        '{"do": "Seek"}',
        '{"do": "GoOn", "speed": 0}',
        '{"do": "GoOn", "speed": 1e9}',
        '{"do": "Pause", "speed": 1}',
    ],
)
def test_invalid_time_or_speed_is_refused(action: str) -> None:
    with pytest.raises(BadInput):
        action_of(json.loads(action), PLAYER_ACTIONS)


def test_recording_cannot_be_steered() -> None:
    heat = {"do": "HeatNow", "joint": "HeadYaw", "degc": 70}
    assert isinstance(action_of(heat), HeatNow)
    with pytest.raises(UnknownName):
        action_of(heat, PLAYER_ACTIONS)


def test_invalid_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is empty"):
        read_recording(tmp_path)


@pytest.mark.requirement("JD-23")
def test_moment_shows_the_recorded_values(
    live_run: Path, recording: ReplayedRun
) -> None:
    (event,) = recording.about()["events"]
    assert "HeadYaw is set to 70" in event["what"]
    head = recording.robot.joint_index("HeadYaw")
    frame = read_run(live_run).frame
    (first,), (last,) = recording.moments(0.0), recording.moments(recording.end_s)
    assert first.degc[head] < 60.0 < last.degc[head]
    assert (first.said, len(last.said)) == ((), 1)
    for moment, row in ((first, frame.iloc[0]), (last, frame.iloc[-1])):
        names = [f"q.{name}" for name in recording.robot.joint_names]
        np.testing.assert_allclose(moment.seen.q, row[names].to_numpy(float))


def test_lying_robot_counts_as_fallen(live_run: Path) -> None:
    """The base is rotated by 60 degrees about y in the last row."""
    (trial,) = read_source(live_run).trials
    frame = trial.frame.copy()
    lies = np.array([0.0, np.sin(np.pi / 6.0), 0.0, np.cos(np.pi / 6.0)])
    columns = [f"{BASE_QUATERNION}.{part}" for part in "xyzw"]
    for name, value in zip(columns, lies, strict=True):
        frame[name] = [*frame[name].iloc[:-1], value]
    recording = ReplayedRun([replace(trial, frame=frame)])
    assert not recording.moments(0.0)[0].has_fallen
    assert recording.moments(recording.end_s)[0].has_fallen
