"""A served robot, and client programs that run in separate processes."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.processes import go_on, pause

pytest.importorskip("qi", reason="qi is not installed: extra `naoqi`")

SPEED = 4.0
"""Simulated seconds per second. At 20, the server cannot keep real time and never
sleeps, so its threads that answer programs become ten times slower.
"""
TIMEOUT_S = 120.0
"""Limit for a program, generous even on a busy machine."""
START = """
import json, sys, time
import qi
qi.logging.setLevel(qi.logging.FATAL)
session = qi.Session()
session.connect(sys.argv[1])
motion = session.service("ALMotion")
memory = session.service("ALMemory")
posture = session.service("ALRobotPosture")
def tell(value):
    print("TOLD" + json.dumps(value), flush=True)
def refused(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return None
"""


@dataclass
class Served:
    """A server process and its address for programs."""

    url: str
    folder: Path
    process: subprocess.Popen[str]

    def start(self, program: str) -> subprocess.Popen[str]:
        """Start a program with the names `motion`, `memory`, `posture` and `tell`."""
        code = START + textwrap.dedent(program)
        return subprocess.Popen(
            [sys.executable, "-c", code, self.url],
            stdin=subprocess.PIPE,  # `told` closes it, which ends a waiting program
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, program: str, timeout_s: float = TIMEOUT_S) -> Any:
        """Run a program until it ends; return the last value passed to `tell`."""
        return self.told(self.start(program), timeout_s)

    def told(self, started: subprocess.Popen[str], timeout_s: float = TIMEOUT_S) -> Any:
        try:
            out, err = started.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            started.kill()
            out, err = started.communicate()
            raise AssertionError(f"not done in {timeout_s} s:\n{out}{err}") from None
        lines = [x[4:] for x in out.splitlines() if x.startswith("TOLD")]
        assert lines, f"the program did not call tell:\n{err}"
        return json.loads(lines[-1])


def serve(folder: Path, *options: str) -> Served:
    out = () if "--log" in options else ("--out", str(folder / "run"))
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "nao_testbed.experiments.cli", "naoqi", "serve"),
            *("--port", "0", "--speed", str(SPEED), *out),
            *options,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        assert process.stderr is not None
        raise AssertionError(process.stderr.read())
    return Served(url=url, folder=folder / "run", process=process)


def end(served: Served, number: int = signal.SIGTERM) -> int:
    served.process.send_signal(number)
    go_on(served.process)  # in case it is paused
    served.process.communicate(timeout=TIMEOUT_S)
    return served.process.returncode


@pytest.fixture(scope="session")
def served_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One robot for consecutive programs; it is paused without a program."""
    served = serve(tmp_path_factory.mktemp("naoqi"))
    yield served
    assert end(served) == 128 + signal.SIGTERM


@pytest.fixture
def nao(served_to_all: Served) -> Iterator[Served]:
    """Robot for programs; its clock runs only during the test."""
    go_on(served_to_all.process)
    yield served_to_all
    pause(served_to_all.process)
