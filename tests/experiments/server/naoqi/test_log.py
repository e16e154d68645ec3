"""A recording behind the endpoint: it replays values and ignores commands."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from nao_testbed.experiments.cli import main
from nao_testbed.experiments.closed_loop.trial import run_trial
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials, record_trials
from nao_testbed.experiments.server.naoqi.run_serve import open_log
from nao_testbed.models import BadInput
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.common.recorded_runs import RecordedRuns
from tests.experiments.heat.xray.conftest import stand
from tests.experiments.server.naoqi.conftest import TIMEOUT_S, Served, serve
from tests.processes import go_on, pause

TCP = Path(os.sep, "proc", "net", "tcp")
"""Connections of this machine, as Linux lists them."""
Started: TypeAlias = "subprocess.Popen[str]"
JOINTS = ("HeadYaw", "LKneePitch")
COMMANDED_RAD = 0.3
PROGRAM = f"""
dcm = session.service("DCM")
keys = [
    f"Device/SubDeviceList/{{joint}}/{{device}}/Value"
    for joint in {JOINTS}
    for device in ("Position/Sensor", "Position/Actuator", "Temperature/Sensor")
]
keys.append("Device/SubDeviceList/InertialSensor/GyroscopeX/Sensor/Value")
motion.setAngles("HeadPitch", 0.1, 0.5)
motion.angleInterpolation("HeadYaw", {COMMANDED_RAD}, 0.2, True)
rows = []
for _ in range(80):
    before = dcm.getTime(0)
    values = memory.getListData(keys)
    angles = motion.getAngles({list(JOINTS)}, True)
    rows.append([before, dcm.getTime(0), values, angles])
    time.sleep(0.03)
tell(rows)
"""


@pytest.fixture(scope="session")
def standing(recorded: RecordedRuns) -> Path:
    """Run folder of one controller: three seconds of the NAO."""

    def record(folder: Path) -> None:
        cfg = HeatCfg(
            controllers=("fixed",), minutes=0.05, start_degc={"HeadYaw": 41.0}
        )
        _, (trial,) = record_trials(plan_trials(cfg), folder / "heat")
        run_trial(trial)

    return recorded("standing nao", record) / "heat" / "fixed"


@pytest.mark.slow
@pytest.mark.requirement("JD-18")
def test_recording_answers_like_the_robot_and_compares_commands(
    standing: Path, tmp_path: Path
) -> None:
    ended_file = tmp_path / "ended.json"
    options = ("--speed", "0.1", "--json", str(ended_file))
    served = serve(tmp_path, "--log", str(standing), *options)
    rows = served.told(connected(served, lambda: served.start(PROGRAM)))
    served.process.send_signal(signal.SIGTERM)
    _, err = served.process.communicate(timeout=TIMEOUT_S)

    frame = read_run(standing).frame
    names = [
        f"{channel}.{joint}"
        for joint in JOINTS
        for channel in ("q", "target", "temperature")
    ] + ["gyro.x"]
    recorded = frame[names].to_numpy(float)
    seen = frame["observed_s"].to_numpy(float) - frame["observed_s"].iloc[0]
    n_sure = 0
    for before_ms, after_ms, values, angles in rows:
        first = int(np.searchsorted(seen, before_ms / 1000.0 - 0.02)) - 1
        last = int(np.searchsorted(seen, after_ms / 1000.0 + 0.02)) + 1
        there = recorded[max(first, 0) : last]
        for i, value in enumerate(values):
            assert value in there[:, i], (before_ms, names[i])
        for i, angle in zip((0, 3), angles, strict=True):
            assert angle in there[:, i], (before_ms, names[i])
        n_sure += (after_ms - before_ms) < 100
    assert n_sure > 20, "the reading times are too uncertain"
    assert len({values[-1] for _, _, values, _ in rows}) > 5, (
        "the recording did not advance"
    )

    told = json.loads(ended_file.read_text("utf-8"))["compared"]
    assert list(told["joints"]) == ["HeadYaw", "HeadPitch"]
    target = float(recorded[-1, 1])
    difference = abs(np.rad2deg(COMMANDED_RAD - target))
    assert told["joints"]["HeadYaw"]["max_abs_deg"] == pytest.approx(
        difference, abs=1e-3
    )
    assert "LKneePitch" in told["never_commanded"]
    assert "HeadYaw, commanded from" in err
    assert "Never commanded: LShoulderPitch" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.requirement("JD-18")
def test_controller_runs_on_a_recording_until_its_end(
    standing: Path, tmp_path: Path
) -> None:
    """It reports the end and exits with 0; a later client exits with 2."""
    served = serve(tmp_path, "--log", str(standing), "--speed", "0.1")
    words = ("run", "--address", served.url.replace("tcp:", "naoqi:"), "--late", "5")
    ended_file = tmp_path / "run.json"
    out = ("--out", str(tmp_path / "robot"), "--json", str(ended_file))
    process = connected(served, lambda: begin(*words, "--controller", "minheat", *out))
    _, said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said
    assert "serves has ended" in said
    assert "serves has ended" in json.loads(ended_file.read_text("utf-8"))["reason"]
    run = read_run(tmp_path / "robot")
    assert run.state == "done"
    assert len(run.frame) > 10
    status, said = command(*words, "--dry-run")
    assert status == 2
    assert "restart `naoqi serve --log`" in said
    served.process.send_signal(signal.SIGTERM)
    served.process.communicate(timeout=TIMEOUT_S)


def connected(served: Served, start: Callable[[], Started]) -> Started:
    """Start a program; the recording is paused until the program has connected.

    So it does not end while a slow machine imports the program's libraries.
    """
    remote = f"0100007F:{int(served.url.rpartition(':')[2]):04X}"
    pause(served.process)
    program = start()
    while program.poll() is None:
        rows = TCP.read_text("utf-8").splitlines()
        if any(row.split()[2:4] == [remote, "01"] for row in rows):  # established
            break
        time.sleep(0.05)
    go_on(served.process)
    return program


def begin(*words: str) -> Started:
    return subprocess.Popen(
        [sys.executable, "-m", "nao_testbed.experiments.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def command(*words: str) -> tuple[int, str]:
    """Run a command; return its exit status and output."""
    process = begin(*words)
    _, said = process.communicate(timeout=TIMEOUT_S)
    assert "Traceback" not in said
    return process.returncode, said


@pytest.mark.requirement("JD-18")
@pytest.mark.parametrize(
    ("log", "seed", "said"),
    [
        ("run", ["--seed", "3"], "--seed has no effect with --log"),
        ("nothing", [], "nothing"),
    ],
)
def test_unusable_options_and_recordings_are_refused(
    log: str,
    seed: list[str],
    said: str,
    tmp_path: Path,
    recorded: RecordedRuns,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = recorded("xray", stand) / log if seed else tmp_path / log
    line = ["nao-testbed", "naoqi", "serve", "--port", "0", "--log", str(path), *seed]
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.requirement("JD-18")
def test_invalid_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        open_log(tmp_path)
