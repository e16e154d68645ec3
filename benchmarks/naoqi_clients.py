"""Load test of `naoqi serve`: `python -m benchmarks.naoqi_clients`.

Each client is a separate process. 50 times a second it reads the angles of all joints
(`ALMemory.getListData`) and commands one joint (`ALMotion.setAngles`). A cycle is late
if its two calls end after the planned start of the next. `taskset -c 0` keeps the
server and its clients on one core.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import qi

from nao_testbed.models import TestbedError

PERIOD_S = 0.02
LONGEST_S = 24 * 3600.0
JOINTS = ("HeadYaw", "HeadPitch", "LElbowYaw", "RElbowYaw")
"""Commanded joints, one per client in turn."""
SETTLE_S = 5.0
"""Time in s to take the posture before clients connect."""


@dataclass(frozen=True, kw_only=True)
class ClientCycles:
    """Counts of one client."""

    client: int
    due: int
    late: int
    median_ms: float
    p99_ms: float
    worst_ms: float


def run_client(url: str, client: int, seconds: float) -> ClientCycles:
    """Read and command at 50 Hz for the given time."""
    qi.logging.setLevel(qi.logging.FATAL)
    session = qi.Session()
    session.connect(url)
    motion, memory = session.service("ALMotion"), session.service("ALMemory")
    keys = [
        f"Device/SubDeviceList/{name}/Position/Sensor/Value"
        for name in motion.getBodyNames("Body")
    ]
    joint = JOINTS[client % len(JOINTS)]
    due = round(seconds / PERIOD_S)
    took_s = np.zeros(due)
    late, begin_s = 0, time.monotonic()
    for k in range(due):
        asked_s = time.monotonic()
        memory.getListData(keys)
        motion.setAngles(joint, 0.05 * ((k // 25) % 2), 0.2)
        ended_s = time.monotonic()
        took_s[k] = ended_s - asked_s
        next_s = begin_s + (k + 1) * PERIOD_S
        late += ended_s > next_s
        time.sleep(max(0.0, next_s - ended_s))
    median, p99 = np.percentile(1e3 * took_s, (50.0, 99.0)).round(1).tolist()
    worst = round(1e3 * float(took_s.max()), 1)
    return ClientCycles(
        client=client, due=due, late=late, median_ms=median, p99_ms=p99, worst_ms=worst
    )


def size_of(pid: int) -> dict[str, float]:
    """Return memory in MB and threads of a process (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    words = dict(line.split(":", 1) for line in lines)
    memory_kb = int(words["VmRSS"].split()[0])
    return {"mb": round(memory_kb / 1024, 1), "threads": int(words["Threads"])}


@contextmanager
def start_server(
    folder: Path, *options: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `naoqi serve` with a run in `folder`; give its process and address.

    Raises:
        TestbedError: it ended before it served.
    """
    command = [sys.executable, "-m", "nao_testbed.experiments.cli", "naoqi", "serve"]
    with subprocess.Popen(
        [*command, "--port", "0", "--out", str(folder / "run"), *options],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        if not url:
            raise TestbedError(
                f"naoqi serve ended with {server.wait()} before it served; see above."
            )
        yield server, url


def measure(clients: int, seconds: float, folder: Path) -> dict[str, Any]:
    """Start an endpoint, run the clients with it, and stop it.

    Args:
        clients: number of concurrent clients.
        seconds: duration of the load.
        folder: folder for the run and the final JSON of the server.
    """
    ended = folder / "ended.json"
    with start_server(folder, "--json", str(ended)) as (server, url):
        time.sleep(SETTLE_S)
        before = size_of(server.pid)
        with multiprocessing.get_context("spawn").Pool(clients) as pool:
            work = [(url, client, seconds) for client in range(clients)]
            cycles = pool.starmap(run_client, work, chunksize=1)
        after = size_of(server.pid)
        server.terminate()
        code = server.wait()
    return {
        "clients": [asdict(one) for one in cycles],
        "server": {
            "before": before,
            "after": after,
            "exit_code": code,
            **json.loads(ended.read_text("utf-8")),
        },
    }


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.naoqi_clients",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    if asked.clients < 1:
        parser.error(f"--clients is {asked.clients}; give a whole number from 1 up.")
    if not 0.1 <= asked.seconds <= LONGEST_S:
        parser.error(
            f"--seconds is {asked.seconds}; give a number from 0.1 to {LONGEST_S:g}."
        )
    with tempfile.TemporaryDirectory() as folder:
        found = measure(asked.clients, asked.seconds, Path(folder))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
