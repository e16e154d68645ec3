"""Ctrl-C and kill -9: every run folder opens, no process remains, ends are reported."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nao_testbed.models.system import KILL
from nao_testbed.sim.recording.run_folder import Run, read_run
from tests.experiments.command.helpers import Launch
from tests.processes import send_to_all

ROOT = Path(__file__).resolve().parents[3]
TWO_LEG = ROOT / "tests" / "data" / "two_leg"
LINE = f"heat --full --minutes 600 --robot {TWO_LEG} --posture Stand"
PATIENCE_S = 120.0
"""Timeout in s, also on a busy machine."""
IMPORTING_S = 0.4
"""Time after the run folders exist: the workers import for about a second."""
STEPPING_S = 2.0
"""CPU time in s after which two workers have recorded rows."""
TRIALS = ("fixed", "smart")

pytestmark = pytest.mark.slow


def wait_for(what: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not what():
        if time.monotonic() > end:
            pytest.fail(f"waited {PATIENCE_S} s in vain; status {process.poll()}")
        time.sleep(0.05)


def recording(here: Path) -> bool:
    return all(
        (here / "runs" / "heat" / trial / "meta.json").exists() for trial in TRIALS
    )


def runs(here: Path) -> list[Run]:
    return [read_run(here / "runs" / "heat" / trial) for trial in TRIALS]


def group_is_empty(group: int) -> bool:
    """Return True if no process of a group is alive, zombies excluded."""
    listed = subprocess.run(
        ["ps", "-o", "stat=", "-g", str(group)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return all(line.startswith("Z") for line in listed.stdout.split())


@pytest.fixture
def running(here: Path, launch: Launch) -> "subprocess.Popen[str]":
    """Wait until both trials step their physics."""
    process = launch(LINE)
    wait_for(lambda: recording(here), process)
    enough_s = cpu_s(process.pid) + STEPPING_S
    wait_for(lambda: cpu_s(process.pid) > enough_s, process)
    return process


def cpu_s(group: int) -> float:
    """Return the CPU time of a process group in s."""
    listed = subprocess.run(
        ["ps", "-e", "-o", "pgid=,cputimes="],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    return sum(float(seconds) for pgid, seconds in rows if int(pgid) == group)


@pytest.mark.parametrize(
    ("to_whom", "number", "why"),
    [
        ("the terminal's group", signal.SIGINT, "stopped by the user (Ctrl-C)"),
        ("the parent alone", signal.SIGINT, "stopped by the user (Ctrl-C)"),
        ("the group, as by timeout", signal.SIGTERM, "stopped by SIGTERM"),
    ],
)
def test_ctrl_c_closes_both_run_folders(
    here: Path,
    running: "subprocess.Popen[str]",
    to_whom: str,
    number: signal.Signals,
    why: str,
) -> None:
    if to_whom == "the parent alone":
        running.send_signal(number)
    else:
        send_to_all(running, number)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert err == f"{why}; runs/heat holds what was recorded.\n"
    assert out == ""
    assert running.returncode == (130 if number == signal.SIGINT else 143)
    for run in runs(here):
        assert run.state == f"failed: {why}"
        assert len(run.frame) > 1
        assert run.frame.index[-1] > 0.0


def test_ctrl_c_while_the_workers_start_prints_no_traceback(
    here: Path, launch: Launch
) -> None:
    process = launch(LINE)
    wait_for((here / "runs" / "heat" / "smart").exists, process)
    time.sleep(IMPORTING_S)
    send_to_all(process, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err
    assert out == ""
    assert process.returncode == 130


def test_kill_9_leaves_folders_that_open(
    here: Path, running: "subprocess.Popen[str]"
) -> None:
    send_to_all(running, KILL)
    running.communicate(timeout=PATIENCE_S)
    wait_for(lambda: group_is_empty(running.pid), running)
    for run in runs(here):
        assert run.state == "interrupted"
        assert list(run.frame.columns)[:1] == ["q.left_hip"]
        assert run.meta.robot == "two_leg"


def test_workers_stop_when_their_parent_is_killed(
    here: Path, running: "subprocess.Popen[str]"
) -> None:
    """No orphaned worker continues for hours."""
    running.kill()
    wait_for(lambda: group_is_empty(running.pid), running)
    for run in runs(here):
        assert run.state == "failed: the process that started it was killed"
        assert len(run.frame) > 1
