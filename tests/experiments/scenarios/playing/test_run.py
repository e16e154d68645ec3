"""The scenario runner: all events occur, and an interrupted run is saved."""

import gzip
import json
import subprocess
import sys
import wave
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import (
    Frozen,
    Granted,
    Revoked,
    Thawed,
    event_from_record,
    event_to_line,
)
from nao_testbed.controllers.transmitter.events import Sent, StreamEnded
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.common.signals import StoppedBySignal
from nao_testbed.experiments.scenarios.playing import runner
from nao_testbed.experiments.scenarios.playing.runner import (
    RunStopped,
    ScenarioRun,
    run_scenario,
)
from nao_testbed.experiments.scenarios.playing.trace_file import TRACE_FILE, read_trace
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.scenarios.timeline.spans import holding_spans
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models import BadInput
from nao_testbed.sim.body import SimulationDiverged
from nao_testbed.sim.recording.run_folder import read_run
from nao_testbed.sim.robot import SimulatedRobot
from nao_testbed.testing import check_trace

OLD_TRACE = Path(__file__).parents[3] / "data" / "trace_with_modes.jsonl"
EVENTS = """\
name: everything
about: One event of each kind.
duration_s: 5
reservations: {preemption: by_priority}
behaviours:
  - {name: arm, schema: hold, needs: [Left arm], policy: lock}
  - {name: leg, schema: hold, needs: [LKneePitch]}
  - {name: later, schema: hold, needs: [HeadYaw], start: waits}
  - {name: greeting, schema: move, with: {command: say hello and wave}, start_s: 3.0}
events:
  - {at_s: 0.5, push: {link: torso, newton: [0, 0, 30], for_s: 0.1}}
  - {at_s: 0.6, heat: {joint: RHipPitch, degc: 66}, name: warm}
  - {when: {event: warm}, after_s: 0.1, say: "It is warm"}
  - {at_s: 1.0, break: [Left arm]}
  - {at_s: 1.5, repair: [Left arm]}
  - {at_s: 1.6, body: T14}
  - {at_s: 1.8, body: H25}
  - {at_s: 2.0, ground: {friction: 0.5, slope_deg: 1.0}}
  - {at_s: 2.0, controller: smart}
  - {at_s: 2.1, set_down: StandInit}
  - {at_s: 2.2, start: later}
  - {at_s: 2.4, stop: later}
  - when: {group_started: say hello and wave}
    after_s: 0.3
    delete_group: say hello and wave
expect:
  - {happens: {revoked: arm}, at_s: 1.0}
  - {happens: {granted: arm}, at_s: 1.5} # asked for again, given back with the repair
  - {happens: {revoked: leg}, at_s: 1.6}
  - {happens: {granted: leg}, at_s: 1.8}
  - {happens: {said: "It is warm"}, after: {event: warm}, within_slots: 40}
  - {joint: RHipPitch, degc_above: 60, from_s: 0.7}
  - {happens: {started: later}, at_s: 2.2}
  - {happens: {stopped: later}, at_s: 2.4}
  - {happens: {group_ended: say hello and wave, reason: revoked}}
  - {never: {fallen: true}}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> ScenarioRun:
    folder = tmp_path_factory.mktemp("run")
    scenario = load_scenario(write(tmp_path_factory.mktemp("file"), EVENTS))
    return run_scenario(scenario, folder, command=("nao-testbed", "scenario"))


T = TypeVar("T")


def of_kind(run: ScenarioRun, kind: type[T]) -> list[T]:
    return [event for event in run.events if isinstance(event, kind)]


@pytest.mark.scenario
def test_every_event_occurs_at_its_time(everything: ScenarioRun) -> None:
    broken = [v for v in everything.result.verdicts if not v.holds]
    assert not broken
    assert everything.result.failure is None
    assert len(everything.happened) == len(everything.scenario.events)
    ticks = [tick for tick, _ in everything.happened]
    assert ticks == sorted(ticks)


@pytest.mark.scenario
def test_broken_and_missing_parts_revoke_their_owners(
    everything: ScenarioRun,
) -> None:
    lost = {
        (event.tick, event.owner, event.by) for event in of_kind(everything, Revoked)
    }
    assert (100, "arm", "brokenArm") in lost
    assert (160, "leg", "RobotModel") in lost
    frozen = {(event.tick, event.by) for event in of_kind(everything, Frozen)}
    thawed = {(event.tick, event.by) for event in of_kind(everything, Thawed)}
    assert {(100, "brokenArm"), (160, "RobotModel")} <= frozen
    assert {(150, "brokenArm"), (180, "RobotModel")} <= thawed


@pytest.mark.scenario
@pytest.mark.requirement("SY-18")
def test_deleting_a_running_group_ends_all_its_streams(
    everything: ScenarioRun,
) -> None:
    ends = [
        event
        for event in of_kind(everything, StreamEnded)
        if event.group == "say hello and wave"
    ]
    assert {event.reason for event in ends} <= {EndReason.REVOKED, EndReason.DONE}
    assert EndReason.REVOKED in {event.reason for event in ends}
    assert not of_kind(everything, Sent), "sent packets must not be kept"


@pytest.mark.scenario
def test_run_folder_contains_the_complete_run(everything: ScenarioRun) -> None:
    assert everything.result.folder is not None
    run = read_run(everything.result.folder)
    assert (run.state, run.meta.experiment) == ("done", "scenario")
    assert run.meta.config["scenario"] == EVENTS
    assert run.meta.config["controller"] == "fixed"
    assert run.frame.index[-1] == pytest.approx(5.0, abs=0.03)
    assert len(run.frame) == 250  # every 20 ms
    kinds = [event.kind for event in run.events]
    assert kinds.count("scenario event") == len(everything.happened)
    told = [
        event_from_record({"event": e.kind, "tick": round(e.time_s / 0.01), **e.data})
        for e in run.events
        if e.kind != "scenario event"
    ]
    # The outcome in a notice holds the token itself, which is not written.
    assert list(map(event_to_line, told)) == list(map(event_to_line, everything.events))
    with wave.open(str(Path(everything.result.folder) / "sound.wav")) as sound:
        assert sound.getnframes() == pytest.approx(5.0 * 16_000, abs=160)


@pytest.mark.scenario
def test_tracking_error_agrees_with_the_recording(
    everything: ScenarioRun,
) -> None:
    assert everything.result.folder is not None
    robot, tracking = everything.scenario.robot, everything.result.tracking
    frame = read_run(everything.result.folder).frame
    legs = list(robot.leg_joints)
    others = [name for name in robot.joint_names if name not in legs]

    def root_mean_square_deg(joints: list[str]) -> float:
        error = [frame[f"target.{name}"] - frame[f"q.{name}"] for name in joints]
        return float(np.degrees(np.sqrt(np.mean(np.square(error)))))

    currents = [frame[f"current.{motor.name}"] for motor in robot.motors]
    stiffness = [frame[f"stiffness.{name}"] for name in robot.joint_names]
    assert tracking.legs_error_deg == pytest.approx(root_mean_square_deg(legs))
    assert tracking.others_error_deg == pytest.approx(root_mean_square_deg(others))
    assert tracking.current_a2s == pytest.approx(0.02 * np.sum(np.square(currents)))
    assert tracking.mean_stiffness == pytest.approx(np.mean(stiffness))


def test_eye_colours_are_recorded(everything: ScenarioRun) -> None:
    """The greeting turns them green within 0.3 s, before it is deleted."""
    assert everything.result.folder is not None
    frame = read_run(everything.result.folder).frame
    green, red = frame["leds.LeftFaceLeds.green"], frame["leds.LeftFaceLeds.red"]
    assert (green[:3.0] == 0.0).all()
    assert green.iloc[-1] == pytest.approx(1.0)
    assert (red == 0.0).all()


@pytest.mark.scenario
def test_push_upwards_lowers_the_foot_forces(everything: ScenarioRun) -> None:
    assert everything.result.folder is not None
    fsr = read_run(everything.result.folder).channel("fsr").sum(axis=1)
    standing = fsr[0.3:0.5].mean()
    assert fsr[0.55:0.6].mean() < standing - 15.0, "push of 30 N upwards, weight 52 N"
    assert everything.degc[-1].max() > 60.0


HELLO = """\
name: short
about: A second of standing.
duration_s: 1
behaviours:
  - {name: head, schema: look around}
"""


def test_diverged_run_keeps_its_data_and_reports_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = SimulatedRobot.step

    def fail_late(sim: SimulatedRobot, ticks: int) -> None:
        step(sim, ticks)
        if sim.tick >= 500:
            raise SimulationDiverged("at 0.500 s the torque of HeadYaw is not finite")

    monkeypatch.setattr(SimulatedRobot, "step", fail_late)
    folder = tmp_path / "run"
    folder.mkdir()
    run = run_scenario(load_scenario(write(tmp_path, HELLO)), folder)
    assert run.result.failure == "at 0.500 s the torque of HeadYaw is not finite"
    assert not run.result.all_hold
    kept = read_run(folder)
    assert kept.state == f"failed: {run.result.failure}"
    assert len(kept.frame) >= 24
    assert kept.last_second is not None


@pytest.mark.parametrize("error", [StoppedBySignal(15), RuntimeError("a bug")])
def test_interrupted_run_closes_its_folder_and_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    closed: list[Setup] = []
    close = Setup.close

    def note(setup: Setup) -> None:
        closed.append(setup)
        close(setup)

    def stop(time_s: float) -> None:
        raise error

    monkeypatch.setattr(Setup, "close", note)
    monkeypatch.setattr(runner, "PROGRESS_S", 0.0)
    folder = tmp_path / "run"
    folder.mkdir()
    expected = RunStopped if isinstance(error, KeyboardInterrupt) else type(error)
    with pytest.raises(expected) as caught:
        run_scenario(load_scenario(write(tmp_path, HELLO)), folder, on_time=stop)
    if isinstance(caught.value, RunStopped):
        assert caught.value.run.result.failure == "stopped by SIGTERM"
        assert len(caught.value.run.events) > 10
    assert len(closed) == 1
    state = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["state"]
    assert state.startswith("failed: ")


def test_failed_event_fails_the_run_and_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HELLO + "events:\n  - {at_s: 0.2, repair: [Head]}\n"
    text += "  - {at_s: 0.1, break: [Head]}\n"
    text += "  - {at_s: 0.3, heat: {joint: HeadYaw, degc: 40}}\n"
    scenario = load_scenario(write(tmp_path, text))
    monkeypatch.setattr(
        "nao_testbed.experiments.shared_robot.robot_with_ledger.RobotWithLedger.break_parts",
        lambda body, parts: None,
    )
    run = run_scenario(scenario)
    assert run.result.failure is not None
    assert "event of line 7 at 0.20 s: Fault 'Head' is not in" in run.result.failure
    assert [tick for tick, _ in run.happened] == [10, 20, 30]
    assert run.result.sim_s == pytest.approx(1.0)


@pytest.mark.slow
def test_verdicts_are_the_same_without_proof(tmp_path: Path) -> None:
    text = HELLO + "expect:\n  - {owner: head, granted: 1, executed: [10, 1000]}\n"
    scenario = load_scenario(write(tmp_path, text))
    proved, fast = run_scenario(scenario), run_scenario(scenario, proves=False)
    assert proved.result.verdicts[:-1] == fast.result.verdicts
    assert np.array_equal(proved.degc, fast.degc)
    scenario = load_scenario(write(tmp_path, HELLO))  # no command counts
    proved, fast = run_scenario(scenario), run_scenario(scenario, proves=False)
    assert proved.result.trace_hash == fast.result.trace_hash
    assert proved.result.n_events > fast.result.n_events
    assert proved.result.whole_trace_hash is not None
    assert fast.result.whole_trace_hash is None


def test_trace_file_can_be_checked_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    run = run_scenario(load_scenario(write(tmp_path, HELLO)), folder)
    events = list(read_trace(folder))
    assert len(events) > run.result.n_events  # includes the marks of calls and slots
    assert not check_trace(events)
    lie = [event for event in events if not isinstance(event, Granted)]
    assert check_trace(lie), "a trace without a grant must fail"
    with pytest.raises(BadInput, match="--no-proof"):
        list(read_trace(tmp_path))


def test_trace_reader_knows_all_event_kinds() -> None:
    code = (
        "import nao_testbed.experiments.scenarios.playing.trace_file\n"
        "from nao_testbed.controllers.arbitration.events import event_classes\n"
        "print(*event_classes())"
    )
    known = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    ).stdout.split()
    assert {"Granted", "Woken", "GroupStarted", "OrderReceived"} <= {*known}


def test_trace_of_an_earlier_version_is_checked_and_drawn(tmp_path: Path) -> None:
    """Its requests have a mode, `use` or `reserve`, which is ignored."""
    text = OLD_TRACE.read_bytes()
    assert text.count(b'"mode": "reserve"') == 2
    (tmp_path / TRACE_FILE).write_bytes(gzip.compress(text))
    events = list(read_trace(tmp_path))
    assert len(events) == text.count(b"\n")
    assert check_trace(events) == ()
    spans = holding_spans(events, 0.01, 50)["HeadPitch"]
    had = [(s.name, s.kind.value) for s in spans if s.name != "look"]
    assert had[:3] == [("show", "holds"), ("nod", "holds"), ("show", "lent")]


@pytest.mark.scenario
def test_failed_behaviour_is_reported_with_its_reason(tmp_path: Path) -> None:
    """It requested a hand instead of speech."""
    text = HELLO + '  - {name: me, schema: say, with: {text: "Hi"}, needs: [LHand]}\n'
    run = run_scenario(load_scenario(write(tmp_path, text)))
    assert any(m.what.startswith("me failed: ") for m in run.result.failures)
    assert run.result.all_hold, "it has no expectations"
    assert run.result.as_json()["failures"][0]["time_s"] == 0.0


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-18")
def test_group_is_deleted_during_its_initial_motion(tmp_path: Path) -> None:
    """The robot still completes standing up, since no posture lies between."""
    text = """\
name: deleted
about: A greeting is taken back while the robot stands up for it.
duration_s: 4
posture: Crouch
behaviours:
  - name: greeting
    schema: move
    with: {command: say hello and wave}
    needs: [All motors, Left eye, Right eye, TTS]
events:
  - {at_s: 1.0, delete_group: say hello and wave}
expect:
  - {never: {group_started: say hello and wave}}
  - {never: {said: Hello}}
  - {order: [{state: Stand}, {stopped: greeting}]}
  - {at_s: 3.9, state: Stand, posture: Stand, within_deg: 6}
  - {never: {fallen: true}}
"""
    run = run_scenario(load_scenario(write(tmp_path, text)))
    assert run.result.all_hold, run.result.verdicts


@pytest.mark.scenario
@pytest.mark.requirement("SY-7", "SY-8")
def test_two_behaviours_complete_a_group(tmp_path: Path) -> None:
    """Behaviours with 40 and 60 points, the second 0.3 s later, start in one slot."""
    text = """\
name: duet
about: Two behaviours send one group.
duration_s: 1.9
commands:
  my arm: {motion: nod, points: {motion: 40}}
  my voice: {sound: beep, light: blink, points: {sound: 50, light: 10}}
behaviours:
  - {name: moves, schema: move, with: {command: my arm, group: duo}}
  - {name: shines, schema: move, with: {command: my voice, group: duo}, start_s: 0.3}
  - {name: heat, schema: hot joint watch}
events:
  - {when: {motion_started: nod}, after_s: 0.1, name: seen, say: Oh}
expect:
  - {group: duo, skew_slots: 0}
  - {happens: {group_started: duo}, from_s: 0.3, to_s: 0.6, times: 1}
  - {happens: {motion_started: nod}, after: {group_started: duo}, within_slots: 0}
  - {happens: {light_started: blink}, after: {group_started: duo}, within_slots: 0}
  - {happens: {event: seen}, times: 1}
  - {happens: {output_above: {heat.degc: 29}}, at_s: 1.0}
  - {never: {output_below: {heat.degc: 29}}, from_s: 0.2}
  - {never: {motion_started: wave}}
"""
    run = run_scenario(load_scenario(write(tmp_path, text)))
    assert run.result.all_hold, run.result.verdicts


LEAST = "name: least\nabout: Nothing but a robot.\nduration_s: 0.2\n"


def test_trace_hash_covers_the_physics(tmp_path: Path) -> None:
    """Gear friction changes no event, but every motion."""

    def hashes(text: str) -> tuple[str, str | None]:
        result = run_scenario(load_scenario(write(tmp_path, text))).result
        return result.trace_hash, result.whole_trace_hash

    plain = hashes(LEAST)
    assert hashes(LEAST) == plain
    stuck = hashes(LEAST + "simulation: {gear_friction: 1e6}\n")
    assert stuck[0] != plain[0]
    assert stuck[1] != plain[1]


def test_no_temperature_rises_before_the_heating_event(tmp_path: Path) -> None:
    text = LEAST.replace("0.2", "2") + (
        "events: [{at_s: 0.8, heat: {joint: HeadYaw, degc: 60}},"
        " {at_s: 0, heat: {joint: HeadPitch, degc: 50}}]\n"
    )
    run = run_scenario(load_scenario(write(tmp_path, text)), proves=False)
    names = run.scenario.robot.joint_names
    yaw, pitch = run.degc[:, names.index("HeadYaw")], names.index("HeadPitch")
    before = np.interp(0.799, run.times_s, yaw)
    assert before == pytest.approx(30.0, abs=0.1)
    assert run.degc[0, pitch] == pytest.approx(30.0)
    assert run.degc[1, pitch] == pytest.approx(50.0)
    assert yaw[run.times_s > 0.8].min() > 55.0
    assert (np.diff(run.times_s) >= 0.0).all()


def test_failed_event_does_not_mark_the_run_as_ended_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = LEAST + "events: [{at_s: 0.1, break: [Head]}, {at_s: 0.15, repair: [Head]}]"
    monkeypatch.setattr(
        "nao_testbed.experiments.shared_robot.robot_with_ledger.RobotWithLedger.break_parts",
        lambda body, parts: None,
    )
    result = run_scenario(load_scenario(write(tmp_path, text))).result
    assert result.is_whole
    assert result.failure_text.startswith("failed: event of line 4 at 0.15 s")


IDLE = """\
name: idle
about: Who never acts says why.
duration_s: 1
posture: Stand
behaviours:
  - {name: holder, schema: hold, needs: [Head], policy: lock}
  - {name: waiting, schema: hold, needs: [HeadYaw], timeout_s: 5, start_s: 0.2}
  - {name: refused, schema: hold, needs: [HeadPitch], timeout_s: 0.1, start_s: 0.2}
  - {name: asleep, schema: hold, needs: [LHand], start: waits}
  - {name: sits, schema: move, with: {motion: Sit to Stand}}
  - name: choice
    schema: choose
    children:
      - {name: first, schema: hold, needs: [RHand]}
      - {name: second, schema: hold, needs: [RHand]}
"""


def test_behaviour_that_never_acted_reports_the_reason(tmp_path: Path) -> None:
    result = run_scenario(load_scenario(write(tmp_path, IDLE))).result
    assert result.never_acted == {
        "waiting": "it did not get its resources: 'holder' holds HeadYaw",
        "refused": "it did not get its resources: 'holder' holds HeadPitch (timeout)",
        "asleep": "it was never activated",
        "sits": "it was never ready: its precondition was false; the robot is in "
        "state Stand",
        "choice/second": "it was ready, but choice/first won",
    }
    assert json.dumps(result.as_json())


def test_report_is_empty_if_every_behaviour_acted(everything: ScenarioRun) -> None:
    assert everything.result.never_acted == {}
