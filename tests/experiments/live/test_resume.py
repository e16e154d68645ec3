"""Live from a moment of a recording: state taken over, and refused recordings."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

from nao_testbed.experiments.live import player
from nao_testbed.experiments.live.player import (
    LiveFromHere,
    ReplayedRun,
    Seek,
    Show,
    read_recording,
)
from nao_testbed.experiments.live.resume import RECORDED, ResumedCfg, plan_resumed
from nao_testbed.experiments.live.robot.live_robot import LiveRobot, play_of
from nao_testbed.experiments.live.robot.operation import HeatNow, Misalign
from nao_testbed.experiments.report.run_source import RecordedTrial
from nao_testbed.models import BadInput
from tests.experiments.live.robot.test_live_robot import run


@pytest.fixture
def trial(recording: ReplayedRun) -> RecordedTrial:
    """A live robot of the preset `document`; a joint is heated after 0.4 s."""
    (trial,) = recording.trials
    return trial


def with_run(trial: RecordedTrial, **meta: Any) -> RecordedTrial:
    told = dataclasses.replace(trial.run.meta, **meta)
    return dataclasses.replace(trial, run=dataclasses.replace(trial.run, meta=told))


def resumed(trial: RecordedTrial, time_s: float) -> ResumedCfg:
    (cfg,) = plan_resumed([trial], time_s).trials
    assert isinstance(cfg, ResumedCfg)
    return cfg


def test_resumed_run_starts_with_recorded_temperatures_and_targets(
    trial: RecordedTrial,
) -> None:
    robot = resumed(trial, 0.2).load_robot()
    for time_s, hot in ((0.2, False), (0.8, True)):
        live = LiveRobot(play_of(resumed(trial, time_s)))
        try:
            moment = live.moment()
            row = trial.frame.loc[:time_s].iloc[-1]
            names = [f"true_temperature.{name}" for name in robot.motor_names]
            wanted = row[names].to_numpy(float)[list(robot.servo_of_joint)]
            np.testing.assert_allclose(moment.degc, wanted, atol=0.02)
            assert bool(moment.degc.max() > 60.0) is hot
            goal = row[[f"target.{name}" for name in robot.joint_names]]
            run(live, 250)  # reaching a posture takes 2 s
            now = live.body.sim.read()
            np.testing.assert_allclose(now.target, goal.to_numpy(float), atol=1e-4)
            assert not live.moment().has_fallen
        finally:
            live.close("done")


def test_resumed_setting_is_that_of_the_recording(trial: RecordedTrial) -> None:
    plan = plan_resumed([trial], 0.5)
    config: Any = trial.run.meta.config
    cfg = resumed(trial, 0.5)
    assert plan.controllers == (trial.name,)
    assert cfg.simulation.misalignment_deg == config["simulation"]["misalignment_deg"]
    assert cfg.simulation.misalignment_deg["LAnklePitch"] == 0.78
    assert cfg.simulation.seed == trial.run.meta.seed
    assert plan.robot.posture(RECORDED).state == "Stand"


def test_shift_is_removed_from_resumed_set_points(trial: RecordedTrial) -> None:
    """The controller decides its shift again; a kept shift would count twice."""
    frame = trial.frame.copy()
    frame["shift.LHipRoll"] = 0.03
    cfg = resumed(dataclasses.replace(trial, frame=frame), 0.5)
    plain = resumed(trial, 0.5)
    robot = cfg.load_robot()
    less = np.array(plain.set_points) - np.array(cfg.set_points)
    assert less[robot.joint_index("LHipRoll")] == pytest.approx(0.03)
    assert np.count_nonzero(less) == 1


def test_posture_unlike_any_stored_one_has_no_state(
    trial: RecordedTrial,
) -> None:
    frame = trial.frame.copy()
    frame["target.LShoulderRoll"] += 0.6
    robot = plan_resumed([dataclasses.replace(trial, frame=frame)], 0.5).robot
    assert robot.posture(RECORDED).state is None
    assert robot.posture(RECORDED).effectors == ()


def test_incomplete_recording_is_refused(trial: RecordedTrial) -> None:
    with pytest.raises(BadInput, match="lacks the robot setting"):
        plan_resumed([with_run(trial, config={})], 0.5)
    bare = trial.frame.drop(columns=["target.HeadYaw"])
    with pytest.raises(BadInput, match=r"no set-points or temperatures at 0\.5 s"):
        plan_resumed([dataclasses.replace(trial, frame=bare)], 0.5)
    with pytest.raises(BadInput, match="ghost"):
        plan_resumed([dataclasses.replace(trial, name="ghost")], 0.5)


def plans(show: Show) -> list[Any]:
    return [] if show.plan is None else list(show.plan.trials)


@pytest.mark.slow(covers=True)
def test_replay_ends_when_going_live_unless_the_robot_lies(
    live_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = Show(live_run)
    (upright,) = show.recording.moments(0.5)
    with monkeypatch.context() as patch:
        lying = [dataclasses.replace(upright, has_fallen=True)]
        patch.setattr(player.ReplayedRun, "moments", lambda *_: lying)
        with pytest.raises(
            BadInput, match=r"is lying on the ground at 0\.0 s; choose an earlier"
        ):
            show._do(0, LiveFromHere())
    assert not plans(show)
    show._do(0, Seek(time_s=0.6))
    show._do(0, LiveFromHere())
    (first,) = plans(show)
    assert first.at_s == pytest.approx(0.6)
    show._do(0, LiveFromHere())  # from a second robot or tab
    assert plans(show) == [first]


@pytest.mark.slow(covers=True)
def test_resumed_robot_can_be_steered(trial: RecordedTrial, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    cfg = dataclasses.replace(resumed(trial, 0.8), folder=tmp_path / "again")
    live = LiveRobot(play_of(cfg))
    live.act(Misalign(joint="LAnklePitch", error_deg=0.0))
    live.act(HeatNow(joint="LAnklePitch", degc=50.0))
    run(live, 100)
    index = live.body.sim.robot.joint_index("LAnklePitch")
    assert live.body.sim.misalignment[index] == 0.0
    live.close("done")
    (again,) = read_recording(tmp_path / "again").trials
    start_degc = resumed(again, 0.9).simulation.start_degc
    assert start_degc["LAnklePitch"] == pytest.approx(50.0, abs=0.5)
