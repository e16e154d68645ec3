"""Commands work without the functions that Windows lacks, see `like_windows`."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nao_testbed.experiments.sweep.sweep_table import read_sweep
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.sweep.files import SHORT

ROOT = Path(__file__).resolve().parents[3]
LIKE_WINDOWS = os.pathsep.join([str(ROOT / "tests" / "like_windows"), str(ROOT)])
"""First folder of Python's path."""
LATEST_S = 120.0
ROBOT = "aux:walker?."
SCENARIO = """\
name: con.
about: Stands.
robot: robot
posture: Stand
duration_s: 0.1
"""

pytestmark = pytest.mark.slow(covers=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Working folder, with a robot whose name is no valid file name."""
    shutil.copytree(ROOT / "tests" / "data" / "two_leg", tmp_path / "robot")
    file = tmp_path / "robot" / "robot.yaml"
    text = file.read_text("utf-8").replace("name: two_leg\n", f"name: '{ROBOT}'\n")
    file.write_text(text, "utf-8")
    return tmp_path


@contextmanager
def started(folder: Path, line: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "nao_testbed.experiments.cli", *shlex.split(line)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": LIKE_WINDOWS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run(folder: Path, line: str) -> None:
    with started(folder, line) as process:
        out, err = process.communicate(timeout=LATEST_S)
    assert process.returncode == 0, out + err
    assert "Traceback" not in err


def test_python_of_these_tests_lacks_it(folder: Path) -> None:
    """Otherwise the tests would be void."""
    for line in (
        "import fcntl",
        "import os; os.fork",
        "import signal; signal.SIGHUP",
        "open('what?', 'w')",
        "file = open('a', 'w'); import os; os.replace('a', 'b')",
    ):
        ran = subprocess.run(
            [sys.executable, "-c", line],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": LIKE_WINDOWS},
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 1, line


def test_heat_and_its_report(folder: Path) -> None:
    run(
        folder,
        "heat --robot robot --posture Stand --minutes 0.01 --out heat "
        "--controllers fixed,constant:0.9",
    )
    run(folder, "report heat")
    for name in ("fixed", "constant-0.9"):
        found = read_run(folder / "heat" / name)
        assert (found.state, found.meta.robot) == ("done", ROBOT)
    assert (folder / "heat" / "report.html").stat().st_size > 100_000


def test_a_sweep_with_two_workers(folder: Path) -> None:
    """Robots that settle once; here each trial settles again."""
    push = "push: {size_n: [1, 2], direction_deg: 0, at_s: 0.3}\n"
    (folder / "con..yaml").write_text(SHORT + push, "utf-8")
    run(folder, "sweep con..yaml --jobs 2")
    (out,) = (folder / "runs" / "sweeps").iterdir()
    assert out.name == "con-"
    sweep = read_sweep(out)
    assert len(sweep.frame) == 12
    assert sweep.frame["failure"].isna().all()
    run(folder, f"report {out}")


def test_a_scenario(folder: Path) -> None:
    (folder / "con..yaml").write_text(SCENARIO, "utf-8")
    run(folder, "scenario run con..yaml --controllers fixed,constant:0.9")
    runs = {one.name for one in (folder / "runs" / "con-").iterdir()}
    assert runs == {"fixed", "constant-0.9"}


def test_an_interrupt_is_passed_on_to_workers(folder: Path) -> None:
    line = "heat --robot robot --posture Stand --minutes 600 --out heat"
    with started(folder, line) as process:
        wait_until(lambda: len(list(folder.glob("heat/*/events.jsonl"))) == 2)
        time.sleep(0.5)  # the workers run by then; earlier is fine too
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LATEST_S)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    for folder_of_one in (folder / "heat").iterdir():
        state = read_run(folder_of_one).state
        assert state == "failed: stopped by the user (Ctrl-C)"


def test_a_live_robot_and_its_forecast(folder: Path) -> None:
    pytest.importorskip("viser", reason="nao-testbed[live] is not installed")
    line = "live --robot robot --posture Stand --no-browser --port 0 --out live"
    with started(folder, line) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(url, timeout=LATEST_S).read()
        base = url.partition("/?")[0]
        with opener.open(f"{base}/state", timeout=LATEST_S) as state:
            assert any(b"time_s" in line for line in state)
            foresee = urllib.request.Request(
                f"{base}/do",
                b'{"robot": 0, "do": "Foresee"}',
                {"content-type": "application/json", "origin": base},
            )
            assert opener.open(foresee, timeout=LATEST_S).status == 202
            assert any(b'"is_final": true' in line for line in state)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LATEST_S)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    for folder_of_one in (folder / "live").iterdir():
        assert read_run(folder_of_one).state == "done"


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + LATEST_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)
