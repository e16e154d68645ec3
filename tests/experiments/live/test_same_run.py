"""A live run that nobody touches is the same to the bit with and without viewers."""

import sys
import threading
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from pandas.testing import assert_frame_equal

from sim.recording.run_folder import Run, read_run

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")
from websockets.sync.client import connect

from tests.experiments.live.page.test_door import PROTOCOL
from tests.experiments.live.page.test_page import run_live

LEAST_ROWS = 100
"""Rows of 20 ms that both must have: two seconds of a robot."""
LATEST_S = 120.0


def look(url: str, until: threading.Event) -> int:
    """Look as a tab does: the stream of states and the 3-D view; return its size."""
    opener = build_opener(cookies := HTTPCookieProcessor())
    opener.open(url, timeout=LATEST_S).read()
    base = url.partition("/?")[0]
    (cookie,) = cookies.cookiejar
    with (
        opener.open(f"{base}/state", timeout=LATEST_S) as states,
        connect(
            f"ws{base.removeprefix('http')}/view",
            origin=base,  # type: ignore[arg-type]  # a NewType
            additional_headers={"Cookie": f"{cookie.name}={cookie.value}"},
            subprotocols=[PROTOCOL],  # type: ignore[list-item]  # the same
        ) as view,
    ):
        size = 0
        while not until.is_set():
            size += len(states.readline())
            try:
                size += len(view.recv(timeout=0.01))
            except TimeoutError:
                continue
    return size


def run_and_look(folder: Path, *, tabs: int) -> Run:
    done, seen = threading.Event(), list[int]()
    words = ("--controllers", "minheat", "--seconds", "12", "--out")
    with run_live(*words, folder=folder) as live:
        threads = [
            threading.Thread(target=lambda: seen.append(look(live.url, done)))
            for _ in range(tabs)
        ]
        for thread in threads:
            thread.start()
        threading.Timer(8.0, done.set).start()
        assert live.process.wait(timeout=LATEST_S) == 0
        for thread in threads:
            thread.join()
    assert len(seen) == tabs
    assert all(size > 10_000 for size in seen)
    return read_run(folder / "minheat")


@pytest.mark.slow(covers=False)
@pytest.mark.skipif(sys.platform == "win32", reason="ended by a signal")
def test_with_viewers_the_run_is_the_same_to_the_bit(tmp_path: Path) -> None:
    alone = run_and_look(tmp_path / "alone", tabs=0).frame
    watched = run_and_look(tmp_path / "watched", tabs=2).frame
    n = min(len(alone), len(watched))
    assert n >= LEAST_ROWS
    assert_frame_equal(alone.iloc[:n], watched.iloc[:n], check_exact=True)
