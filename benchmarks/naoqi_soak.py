"""Long test of `naoqi serve`: `python -m benchmarks.naoqi_soak --minutes 60`.

In each minute a client measures its answer times alone for ten seconds, and then beside
20 clients, hostile calls, short connections and a client that is killed while its robot
moves. In an hour these are 10 000 hostile calls and 1 000 connections. Each minute is
printed as a line of JSON, with memory and threads of the server.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import qi

from benchmarks.naoqi_clients import (
    SETTLE_S,
    attack,
    company,
    run_client,
    size_of,
    start_server,
    work_beside,
)

CYCLE_S, MEASURED_S = 60.0, 10.0
"""Length of a cycle, and of each of its two measurements, in s."""
PAUSE_S = 2.6
"""Pause of the hostile client in s: 10 000 calls in an hour."""
MOVES_S = 2.0
"""Time in s after which a moving client is killed."""
LONGEST_MIN = 24 * 60.0


def move_until_killed(url: str) -> None:
    """Subscribe, start a long motion and wait for the end of this process."""
    session = qi.Session()
    session.connect(url)
    motion = session.service("ALMotion")
    memory = session.service("ALMemory")
    subscriber = memory.subscriber("FrontTactilTouched")
    subscriber.signal.connect(print)
    motion.angleInterpolation("HeadPitch", [0.3, -0.3], [20.0, 40.0], True)


def run_minute(url: str, others: Any, hostile: Any) -> dict[str, Any]:
    """Measure a client alone and in company for a minute.

    Args:
        url: address of the server.
        others: shared counters of the 20 clients.
        hostile: shared counters of hostile calls and connections.
    """
    end_s = time.monotonic() + CYCLE_S
    alone = run_client(url, 0, MEASURED_S)
    with ExitStack() as stack:
        stack.enter_context(company(work_beside, url, others))
        attacker = partial(attack, pause_s=PAUSE_S)
        stack.enter_context(company(attacker, url, hostile, first=1))
        spawn = multiprocessing.get_context("spawn")
        moves = spawn.Process(target=move_until_killed, args=(url,), daemon=True)
        moves.start()
        beside = run_client(url, 0, MEASURED_S)
        time.sleep(MOVES_S)
        moves.kill()
        time.sleep(max(0.0, end_s - time.monotonic()))
    return {
        "alone_ms": alone.median_ms,
        "beside_ms": beside.median_ms,
        "worst_ms": beside.worst_ms,
    }


def soak(minutes: int, folder: Path) -> dict[str, Any]:
    """Run the test, print each minute, and return its figures."""
    ended = folder / "ended.json"
    spawn = multiprocessing.get_context("spawn")
    others, hostile = spawn.Array("q", 2), spawn.Array("q", 2)
    rows = []
    with start_server(folder, "--json", str(ended)) as (server, url):
        time.sleep(SETTLE_S)
        for minute in range(minutes):
            row = {"minute": minute + 1, **run_minute(url, others, hostile)}
            row |= size_of(server.pid)
            print(json.dumps(row), flush=True)
            rows.append(row)
        server.terminate()
        code = server.wait()
    ratios = [row["beside_ms"] / row["alone_ms"] for row in rows]
    return {
        "ratio": np.percentile(ratios, (25.0, 50.0, 75.0)).round(2).tolist(),
        "cycles_of_20": others[0],
        "hostile_calls": hostile[0],
        "connections": hostile[1],
        "killed": minutes,
        "mb": [rows[0]["mb"], rows[len(rows) // 2]["mb"], rows[-1]["mb"]],
        "threads": [rows[0]["threads"], rows[-1]["threads"]],
        "exit_code": code,
        **json.loads(ended.read_text("utf-8")),
    }


def main() -> None:
    """Run the test and print JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.naoqi_soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=int, default=60)
    minutes = parser.parse_args().minutes
    if not 1 <= minutes <= LONGEST_MIN:
        parser.error(
            f"--minutes is {minutes}; give a whole number from 1 to {LONGEST_MIN:g}."
        )
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(soak(minutes, Path(folder)), indent=2))


if __name__ == "__main__":
    main()
