"""A live robot: unaffected by viewers; steered by an owner, disturbed, recorded."""

import contextlib
import wave
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nao_testbed.controllers.interface.robot_interface import READINGS
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.live.robot import process_link
from nao_testbed.experiments.live.robot.live_robot import (
    PANEL_SLOTS,
    LiveRobot,
    play_of,
)
from nao_testbed.experiments.live.robot.operation import (
    ChangeController,
    GiveBack,
    HeatNow,
    Misalign,
    PushNow,
    Say,
    SleepSchema,
    Stop,
    Take,
    TakePicture,
    TurnHead,
    WakeSchema,
)
from nao_testbed.models import BadInput
from nao_testbed.sim.effectors import SOUND_FILE
from nao_testbed.sim.recording.run_folder import read_run

MakeLive = Callable[..., LiveRobot]


@contextlib.contextmanager
def live_robots() -> Iterator[MakeLive]:
    """Yield a function that makes live robots of the preset `document`."""
    made: list[LiveRobot] = []

    def make(controller: str = "fixed", folder: Path | None = None) -> LiveRobot:
        cfg = HeatCfg(preset="document", controllers=(controller,))
        values = vars(plan_trials(cfg)[0]) | {"folder": folder}
        made.append(LiveRobot(play_of(TrialCfg(**values))))
        return made[-1]

    yield make
    for live in made:
        live.close("done")


@pytest.fixture
def make_live() -> Iterator[MakeLive]:
    with live_robots() as make:
        yield make


def run(live: LiveRobot, slots: int) -> None:
    for _ in range(slots):
        live.slot()


def owner_of(live: LiveRobot, name: str) -> str:
    return ", ".join({g.name: g.holders for g in live.moment().groups}[name])


def test_reading_moments_does_not_change_the_robot(make_live: MakeLive) -> None:
    ends = []
    for looks in (True, False):
        live = make_live()
        for _ in range(20):
            live.slot()
            if looks:
                live.moment()
        ends.append(live.moment())
    for name in ("q", "position", "degc"):
        assert_array_equal(getattr(ends[0], name), getattr(ends[1], name), name)
    for name in READINGS:
        assert_array_equal(
            getattr(ends[0].seen, name), getattr(ends[1].seen, name), name
        )


@pytest.mark.requirement("JD-23")
def test_only_the_holder_of_the_head_moves_it(make_live: MakeLive) -> None:
    """The gate refuses without a token; high priority preempts; release returns it."""
    live = make_live()
    run(live, 4)
    live.act(TurnHead(yaw_deg=20.0, pitch_deg=0.0))
    assert "the gate refused HeadYaw" in live.moment().said[-1]
    assert "NO_TOKEN; held by posture" in live.moment().said[-1]
    live.act(Take(resource="Head", priority=0))
    said = live.moment().said[-1]
    assert "blocked by: HeadPitch: posture; HeadYaw: posture" in said
    assert "posture (priority 1, since 0.0 s, until released)" in said
    run(live, 4)
    assert abs(np.rad2deg(live.moment().q[0])) < 1.0
    live.act(Take(resource="Head"))
    assert "Head taken from posture" in live.moment().said[-1]
    live.act(TurnHead(yaw_deg=20.0, pitch_deg=0.0))
    run(live, 60)
    assert owner_of(live, "Head") == "operator"
    assert np.rad2deg(live.moment().q[0]) == pytest.approx(20.0, abs=2.0)
    live.act(GiveBack(resource="Head"))
    run(live, 80)
    assert owner_of(live, "Head") == "posture"
    assert abs(np.rad2deg(live.moment().q[0])) < 2.0


@pytest.mark.requirement("JD-23")
def test_moment_contains_all_sensors(make_live: MakeLive) -> None:
    live = make_live()
    run(live, 4)
    moment, robot = live.moment(), live.body.sim.robot
    for name, reading in READINGS.items():
        shown = getattr(moment.seen, name)
        assert shown.shape == (len(reading.members(robot)),), name
        assert_array_equal(shown, getattr(live.body.sim.read(), name))
    assert moment.seen.accelerometer[2] > 8.0
    assert moment.seen.fsr.sum() > 30.0
    assert moment.picture is None


@pytest.mark.requirement("JD-23")
def test_requested_picture_is_shown_once(make_live: MakeLive) -> None:
    pytest.importorskip("pybullet", reason="PyBullet draws the pictures")
    live = make_live()
    run(live, 4)
    before = live.moment().q
    live.act(TakePicture(camera="CameraTop"))
    moment = live.moment()
    assert moment.picture is not None
    assert moment.picture.rgb.shape == (240, 320, 3)
    assert moment.picture.rgb.std() > 1.0
    assert live.moment().picture is None
    assert_array_equal(live.moment().q, before)
    live.act(TakePicture(camera="CameraSide"))
    assert "CameraTop" in live.moment().said[-1]


def test_taking_the_head_twice_leaves_it_with_the_operator(make_live: MakeLive) -> None:
    live = make_live()
    run(live, 4)
    live.act(Take(resource="Head"))
    live.act(Take(resource="Head", priority=9))
    run(live, 4)
    assert owner_of(live, "Head") == "operator"
    live.act(GiveBack(resource="Head"))
    run(live, 4)
    assert owner_of(live, "Head") == "posture"


def test_reservations_are_sent_when_they_change(make_live: MakeLive) -> None:
    live = make_live()
    live.act(WakeSchema(schema="wave", priority=3))
    run(live, PANEL_SLOTS)
    now = live.moment().reservations
    assert now is not None
    row = {one.name: one for one in now.resources}["RElbowYaw"]
    assert row.users == ("wave",)
    waits = {wait.owner: wait.priority for wait in row.waiters}
    assert waits == {"posture": 1}
    assert [one.state for one in now.groups] == ["running"]
    assert "RElbowYaw" in now.groups[0].leaves
    live.act(SleepSchema(schema="wave"))
    run(live, PANEL_SLOTS)
    now = live.moment().reservations
    assert now is not None
    assert {one.name: one for one in now.resources}["RElbowYaw"].users == ("posture",)
    assert now.groups == ()
    run(live, PANEL_SLOTS)
    assert live.moment().reservations is None
    live.act(Take(resource="Head"))
    run(live, PANEL_SLOTS)
    assert live.moment().reservations is not None


def test_push_moves_the_robot_and_ends(make_live: MakeLive) -> None:
    """To its left, +y, by 2.5 mm compared with an unpushed robot; it swings back."""
    pushed, still = make_live(), make_live()
    for live in (pushed, still):
        run(live, 4)
    pushed.act(PushNow(direction_deg=90.0, force_n=10.0, duration_s=0.1))
    for live in (pushed, still):
        run(live, 10)
    moved = pushed.moment().position - still.moment().position
    assert moved[1] > 1e-3
    assert abs(moved[0]) < 0.1 * moved[1]
    run(pushed, 2)
    assert pushed.body.disturb is None


def test_motor_temperature_and_controller_can_be_changed(
    make_live: MakeLive,
) -> None:
    live = make_live()
    run(live, 4)
    live.act(HeatNow(joint="LKneePitch", degc=90.0))
    knee = live.body.sim.robot.joint_index("LKneePitch")
    assert live.moment().degc[knee] == pytest.approx(90.0)
    assert live.stiffness.limits.min() == 1.0
    live.act(ChangeController(controller="smart"))
    run(live, 20)
    assert live.moment().controller == "smart"
    assert live.stiffness.limits.min() < 0.9


@pytest.mark.slow
def test_encoder_error_changes_slowly_while_standing(
    make_live: MakeLive,
) -> None:
    """Corrected, the ankle of the preset no longer works against the other leg."""
    live, untouched = make_live(), make_live()
    sim = live.body.sim
    ankle = sim.robot.joint_index("LAnklePitch")
    begin = np.rad2deg(sim.misalignment[ankle])
    assert begin > 0.6
    live.act(Misalign(joint="LAnklePitch", error_deg=0.0))
    run(live, 50)
    assert np.rad2deg(sim.misalignment[ankle]) == pytest.approx(begin - 0.5)
    for one in (live, untouched):
        run(one, 500)
    assert sim.misalignment[ankle] == 0.0
    moment = live.moment()
    assert moment.q[ankle] == pytest.approx(moment.seen.q[ankle], abs=2e-3)
    assert not moment.has_fallen
    loss = [
        float((one.body.sim.read().current ** 2).sum()) for one in (live, untouched)
    ]
    assert loss[0] < 0.8 * loss[1]
    live.act(Misalign(joint="LAnklePich", error_deg=0.0))
    assert "LAnklePitch" in live.moment().said[-1]
    with pytest.raises(BadInput, match="error"):
        Misalign(joint="LAnklePitch", error_deg=10.5)


def test_invalid_action_is_refused_and_the_robot_stands(
    make_live: MakeLive,
) -> None:
    live = make_live()
    run(live, 4)
    for action, word in (
        (HeatNow(joint="LKnePitch", degc=50.0), "LKneePitch"),
        (ChangeController(controller="smrt"), "smart"),
    ):
        live.act(action)
        said = live.moment().said[-1]
        assert "refused" in said
        assert word in said
    live.act(Take(resource="Head"))
    live.act(TurnHead(yaw_deg=170.0, pitch_deg=0.0))
    assert "accepted: -2.08567 to 2.08567" in live.moment().said[-1]
    assert live.controller == "fixed"
    run(live, 4)
    for force in (np.nan, np.inf, -1.0, 101.0):
        with pytest.raises(BadInput):
            PushNow(direction_deg=0.0, force_n=force, duration_s=0.1)


def test_run_is_recorded_with_its_actions(make_live: MakeLive, tmp_path: Path) -> None:
    live = make_live(folder=tmp_path)
    run(live, 10)
    live.act(HeatNow(joint="LKneePitch", degc=70.0))
    run(live, 10)
    live.close("done")
    recorded = read_run(tmp_path)
    assert recorded.state == "done"
    assert len(recorded.frame) == 10
    assert recorded.frame["true_temperature.LKneePitch"].iloc[-1] == pytest.approx(
        70.0, abs=0.1
    )
    assert any(event.kind == "operator" for event in recorded.events)


def test_speech_of_the_operator_is_in_the_sound_of_the_run(
    make_live: MakeLive, tmp_path: Path
) -> None:
    live = make_live(folder=tmp_path)
    live.act(Take(resource="TTS"))
    live.act(Say(text="hello"))
    run(live, 200)
    live.close("done")
    with wave.open(str(tmp_path / SOUND_FILE)) as file:
        rate, n = file.getframerate(), file.getnframes()
        samples = np.frombuffer(file.readframes(n), "<i2")
    assert n / rate == pytest.approx(live.body.time_s, abs=0.01)
    assert np.abs(samples).max() > 1000


class _Clock:
    """Clock that advances only by the costs of calls."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class _SlowActions:
    """Replaces a robot: an action costs 1.5 ms, a slot 3 ms."""

    def __init__(self, clock: _Clock) -> None:
        self.clock, self.acts = clock, [0]
        self.tick, self.cfg = 0, SimpleNamespace(tick_s=0.01)
        self.moments: list[tuple[float, int]] = []
        self.body = self.ledger = self

    @property
    def time_s(self) -> float:
        return 0.01 * self.tick

    def act(self, action: object) -> None:
        del action
        self.clock.now += 0.0015
        self.acts[-1] += 1

    def slot(self) -> None:
        self.clock.now += 0.003
        self.tick += 1
        self.acts.append(0)

    def moment(self, late_s: float, n_taken: int) -> tuple[float, int]:
        self.moments.append((late_s, n_taken))
        return late_s, n_taken


def test_many_requests_do_not_delay_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = _Clock()
    monkeypatch.setattr(process_link, "time", clock)
    live, (ours, theirs) = _SlowActions(clock), Pipe()
    for _ in range(40):
        ours.send(TakePicture(camera="CameraTop"))
    ours.send(Stop())
    process_link._run_in_real_time(live, process_link.RobotEnd(theirs))  # type: ignore[arg-type]
    assert sum(live.acts) == 40
    assert max(live.acts) == 2  # the second one exceeded 2 ms
    assert live.tick == 20
    assert [late for late, _ in live.moments] == [0.0]
    assert live.moments[0][1] == 8  # in four slots: as many more may be sent
