"""A live run without actions is bit-identical with and without viewers."""

import signal
import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from pandas.testing import assert_frame_equal

from nao_testbed.models import BadInput
from nao_testbed.sim.recording.run_folder import Run, read_run

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.experiments.live.page.test_door import PROTOCOL
from tests.experiments.live.page.test_page import run_live

LEAST_ROWS = 100
"""Rows of 20 ms required of both runs: two seconds of a robot."""
LATEST_S = 180.0


def look(url: str, seen: list[int]) -> None:
    """Receive states and the 3-D view, as a tab does, until the server ends."""
    opener = build_opener(cookies := HTTPCookieProcessor())
    opener.open(url, timeout=LATEST_S).read()
    base = url.partition("/?")[0]
    (cookie,) = cookies.cookiejar
    sizes = [0, 0]
    with (
        suppress(OSError, HTTPException, ConnectionClosed),
        opener.open(f"{base}/state", timeout=LATEST_S) as states,
        connect(
            f"ws{base.removeprefix('http')}/view",
            origin=base,  # type: ignore[arg-type]  # a NewType
            additional_headers={"Cookie": f"{cookie.name}={cookie.value}"},
            subprotocols=[PROTOCOL],  # type: ignore[list-item]  # the same
            max_size=None,  # the whole scene comes first
        ) as view,
    ):
        while line := states.readline():
            sizes[0] += len(line)
            with suppress(TimeoutError):
                sizes[1] += len(view.recv(timeout=0.01))
    seen += sizes


def n_rows(folder: Path) -> int:
    try:
        return len(read_run(folder).frame)
    except BadInput:  # not begun
        return 0


def run_and_look(folder: Path, *, tabs: int) -> Run:
    seen: list[int] = []
    with run_live("--controllers", "minheat", "--out", folder=folder) as live:
        threads = [
            threading.Thread(target=look, args=(live.url, seen)) for _ in range(tabs)
        ]
        for thread in threads:
            thread.start()
        end_s = time.monotonic() + LATEST_S
        while n_rows(folder / "minheat") < LEAST_ROWS:
            assert time.monotonic() < end_s
            time.sleep(0.5)
        live.process.send_signal(signal.SIGINT)
        assert live.process.wait(timeout=LATEST_S) == 130
        for thread in threads:
            thread.join()
    assert len(seen) == 2 * tabs
    assert all(size > 10_000 for size in seen), seen
    return read_run(folder / "minheat")


@pytest.mark.slow(covers=False)
@pytest.mark.skipif(sys.platform == "win32", reason="ended by a signal")
def test_run_with_viewers_is_bit_identical(tmp_path: Path) -> None:
    alone = run_and_look(tmp_path / "alone", tabs=0).frame
    watched = run_and_look(tmp_path / "watched", tabs=2).frame
    n = min(len(alone), len(watched))
    assert n >= LEAST_ROWS
    assert_frame_equal(alone.iloc[:n], watched.iloc[:n], check_exact=True)
