"""However a session ends: a readable run folder, a free port, no processes."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nao_testbed.models.system import KILL
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.live.page.test_page import LIVE

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")
if not Path("/proc").exists():
    pytest.skip("processes are counted in /proc", allow_module_level=True)

LATEST_S = 120.0
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = pytest.mark.slow(covers=False)


class Session:
    """A command and all processes that it started."""

    def __init__(self, *words: str, stderr: int | None = None) -> None:
        self.process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            start_new_session=True,
        )

    def left(self) -> set[int]:
        """Return its processes that have not ended."""
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                after_name = (
                    (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
                )
            except OSError:
                continue  # the process has just ended
            state, session = after_name[0], int(after_name[3])
            if session == self.process.pid and state != "Z":
                found.add(int(folder.name))
        return found

    def kill(self) -> None:
        """Kill the remaining processes, including ones started meanwhile."""
        wait_until(self._has_ended)
        self.process.communicate()

    def _has_ended(self) -> bool:
        left = self.left()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, KILL)
        return not left


def wait_until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + LATEST_S
    while not is_so():
        assert time.monotonic() < end, is_so
        time.sleep(0.1)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Session, str]]:
    """A robot on a page, and the page's address, after 0.6 s of the robot."""
    session = Session(*LIVE, "--controllers", "smart", "--out", str(tmp_path / "live"))
    try:
        assert session.process.stdout is not None
        url = session.process.stdout.readline().strip()
        wait_until(lambda: robot_time_s(url) > 0.6)
        yield session, url
    finally:
        session.kill()


def first_state(url: str) -> str:
    """Return the first state sent to the page."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.open(url, timeout=LATEST_S).read()
    base = url.partition("/?")[0]
    with opener.open(f"{base}/state", timeout=LATEST_S) as stream:
        for line in stream:
            if line.startswith(b"data:"):
                return str(line.decode())
    return ""


def robot_time_s(url: str) -> float:
    found = re.search(r'"time_s": ?([0-9.]+)', first_state(url))
    return float(found[1]) if found else 0.0


def is_free(url: str) -> bool:
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(("127.0.0.1", urlsplit(url).port or 0))
        except OSError:
            return False
    return True


@pytest.mark.parametrize("number", [KILL, signal.SIGTERM, signal.SIGINT])
def test_ended_server_leaves_no_process_and_a_readable_run(
    live: tuple[Session, str], tmp_path: Path, number: signal.Signals
) -> None:
    session, url = live
    assert len(session.left()) >= 2, "expected the server and its robot"
    os.kill(session.process.pid, number)
    status = session.process.wait(timeout=LATEST_S)
    assert status == (-9 if number == KILL else 128 + number)
    wait_until(lambda: not session.left())
    assert is_free(url)
    run = read_run(tmp_path / "live" / "smart")
    assert run.state == "done"
    assert run.frame.index[-1] > 0.5


def test_end_message_names_a_recording_only_if_it_exists(tmp_path: Path) -> None:
    """The run ends when its address is printed, before the robots are built."""
    words = ["--seconds", "0.001", "--out", str(tmp_path / "live")]
    session = Session(*LIVE, *words, stderr=subprocess.PIPE)
    try:
        _, said = session.process.communicate(timeout=LATEST_S)
    finally:
        session.kill()
    is_recorded = any((tmp_path / "live").rglob("*.parquet"))
    assert ("has no recording" in said) == (not is_recorded)
    assert ("has the recording" in said) == is_recorded


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
def test_killed_browser_does_not_affect_the_robot(
    live: tuple[Session, str], tmp_path: Path
) -> None:
    session, url = live
    browser = Session(
        str(CHROMIUM),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--remote-debugging-port=0",
        url,
    )
    try:
        wait_until(lambda: len(browser.left()) > 3)
        time.sleep(5.0)  # time for the page to load
    finally:
        browser.kill()
    assert not browser.left()
    time.sleep(1.0)
    assert session.process.poll() is None
    assert "time_s" in first_state(url)
    os.kill(session.process.pid, signal.SIGINT)
    assert session.process.wait(timeout=LATEST_S) == 130
    wait_until(lambda: not session.left())
    assert read_run(tmp_path / "live" / "smart").state == "done"
