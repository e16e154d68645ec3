"""How a run over a real connection ends, and the state of the robot afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nao_testbed.sim.recording.run_folder import read_run
from tests.processes import go_on, pause

COMMAND = [sys.executable, "-m", "nao_testbed.experiments.cli"]
LET_TIME_PASS = """
import sys, time
import qi
session = qi.Session()
session.connect(sys.argv[1])
dcm = session.service("DCM")
end = dcm.getTime(0) + 1000 * float(sys.argv[2])
while dcm.getTime(0) < end:
    time.sleep(0.1)
"""
"""Program that waits on the robot's clock, which is slow on a busy machine."""
WAIT_FOR_SHIFT = """
import sys, time
import qi
session = qi.Session()
session.connect(sys.argv[1])
read = session.service("ALMemory").getData
key = "Device/SubDeviceList/LAnklePitch/Position/Actuator/Value"
while abs(read(key) - float(sys.argv[2])) < 6e-3:
    time.sleep(0.05)
"""
"""Program that waits until the controller has moved the ankle's set-point."""
HOME_RAD = -0.35874
"""Set-point of the ankles in the endpoint's posture."""


@dataclass
class Both:
    """Endpoint, and a run that controls its robot."""

    endpoint: subprocess.Popen[str]
    run: subprocess.Popen[str]
    folder: Path
    url: str

    def said(self) -> str:
        """Wait for the end of the run; return its output."""
        out, err = self.run.communicate(timeout=60)
        return out + err

    def robot(self) -> Any:
        """Advance 3 s of robot time, end the endpoint, return its recording."""
        let_time_pass(self.url, 3.0)
        self.endpoint.terminate()
        self.endpoint.communicate(timeout=60)
        return read_run(self.folder / "endpoint").frame

    @property
    def state(self) -> str:
        meta = json.loads((self.folder / "run" / "meta.json").read_text("utf-8"))
        return str(meta["state"])


def let_time_pass(url: str, seconds: float) -> None:
    """Wait until the robot's clock has advanced by a time."""
    run_client(LET_TIME_PASS, url, seconds)


def run_client(program: str, url: str, number: float) -> None:
    """Run a program with the endpoint's address and a number until it ends."""
    passed = subprocess.run(
        [sys.executable, "-c", program, url, str(number)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert passed.returncode == 0, passed.stderr


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture
def both(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Both]:
    options = getattr(request, "param", ())
    to = ("--port", "0", "--out", str(tmp_path / "endpoint"))
    endpoint = start("naoqi", "serve", *to, "--misalign", "LAnklePitch=2")
    assert endpoint.stdout is not None
    address = endpoint.stdout.readline().strip()
    let_time_pass(address, 3.0)  # it has reached its posture
    run = start(
        *(
            "run",
            "--address",
            address.replace("tcp:", "naoqi:"),
            "--controller",
            "minheat",
            "--minutes",
            "5",
        ),
        *("--late", "1.0", "--out", str(tmp_path / "run"), *options),
    )
    events = tmp_path / "run" / "events.jsonl"
    for _ in range(600):
        if events.exists() and "taken" in events.read_text("utf-8"):
            break
        time.sleep(0.1)
    if run.poll() is None and "--hottest" not in options:
        run_client(WAIT_FOR_SHIFT, address, HOME_RAD)
    yield Both(endpoint=endpoint, run=run, folder=tmp_path, url=address)
    for process in (run, endpoint):
        if process.poll() is None:
            go_on(process)
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            stream.close()


HELD_RAD = 1e-3
"""Joints without an owner are held by the endpoint's gate, within the servo lag of the
set-point."""


def check_is_home(rows: Any) -> None:
    """Check that the ankle's set-point and the stiffness were changed and restored.

    A shift by the robot's own guard is not the set-point of the run.
    """
    target = rows["target.LAnklePitch"].to_numpy(float)
    if "shift.LAnklePitch" in rows:
        target = target - rows["shift.LAnklePitch"].fillna(0.0).to_numpy(float)
    stiffness = rows["stiffness.LAnklePitch"].to_numpy(float)
    later = rows.index > 3.0
    assert np.abs(target - HOME_RAD)[later].max() > 4.0 * HELD_RAD
    assert abs(target[-1] - HOME_RAD) < HELD_RAD
    assert stiffness[later].min() < 0.9


def user_stiffness(rows: Any) -> float:
    """Return the largest stiffness in the last half second."""
    return float(rows["stiffness.LKneePitch"].to_numpy(float)[-25:].max())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_signal_returns_the_robot_home(both: Both, number: signal.Signals) -> None:
    both.run.send_signal(number)
    both.said()
    assert both.run.returncode == 128 + number
    assert both.state.startswith("failed: stopped")
    check_is_home(both.robot())


@pytest.mark.slow
def test_robot_returns_home_after_its_run_is_killed(both: Both) -> None:
    both.run.kill()
    both.said()
    rows = both.robot()
    check_is_home(rows)
    assert user_stiffness(rows) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_killed_endpoint_ends_the_run_and_keeps_its_folder(both: Both) -> None:
    both.endpoint.kill()
    said = both.said()
    assert "Traceback" not in said
    assert both.run.returncode == 1, said
    assert "the connection to" in said
    assert both.state.startswith("failed: the connection to")


@pytest.mark.slow
def test_hanging_endpoint_ends_the_run_and_returns_home_later(both: Both) -> None:
    pause(both.endpoint)
    said = both.said()
    assert both.run.returncode == 1, said
    assert "did not answer within 1 s" in said
    go_on(both.endpoint)
    rows = both.robot()
    check_is_home(rows)
    assert user_stiffness(rows) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("both", [("--hottest", "25")], indirect=True)
def test_hot_robot_is_returned_home(both: Both) -> None:
    said = both.said()
    assert both.run.returncode == 1
    assert "hot: " in said
    rows = both.robot()
    assert (
        abs(rows["target.LKneePitch"].iloc[-1] - rows["target.LKneePitch"].iloc[-50])
        < 1e-4
    )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:9559", "give naoqi://HOST:PORT"),
        ("naoqi://", "host is missing"),
        ("naoqi://127.0.0.1:1", "no robot at 127.0.0.1:1"),
    ],
)
@pytest.mark.slow
def test_wrong_address_is_one_message_and_exit_2(address: str, said: str) -> None:
    run = start("run", "--address", address)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err
