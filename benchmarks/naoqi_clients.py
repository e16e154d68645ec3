"""Load test of `naoqi serve`: `python -m benchmarks.naoqi_clients`.

Each client is a separate process. 50 times a second it reads the angles of all joints
(`ALMemory.getListData`) and commands one joint (`ALMotion.setAngles`). A cycle is late
if its two calls end after the planned start of the next. `taskset -c 0` keeps the
server and its clients on one core.

`--blocks 6` compares one client in alternating blocks of `--seconds`: alone, beside 20
clients that read and command ten times a second, and beside hostile calls and short
connections, ten calls for each connection.

`--minutes 60` compares one client in each minute, ten seconds alone and ten in company:
20 clients, hostile calls, short connections, and a client that is killed while it moves
the robot. An hour has 10 000 hostile calls and 1 000 connections. Each minute is
printed as a line of JSON, with memory and threads of the server.
"""

import argparse
import itertools
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
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
    median, p99 = np.percentile(1e3 * took_s, (50.0, 99.0)).round(2).tolist()
    worst = round(1e3 * float(took_s.max()), 1)
    return ClientCycles(
        client=client, due=due, late=late, median_ms=median, p99_ms=p99, worst_ms=worst
    )


OTHERS, OTHERS_S = 20, 0.1
"""Number of other clients, and their period in s."""
SIDE_BY_SIDE = 10
"""Hostile calls that are sent together, for each short connection."""
HOSTILE: list[Any] = [None, [], {}, "", "Body", "Nose", -1, 1e308, [None], [[[]]]]
"""Arguments of hostile calls."""
METHODS = ("setAngles", "angleInterpolation", "getAngles", "getPosition", "killTask")
"""Called methods of ALMotion."""


def work_beside(url: str, is_over: Any, counts: Any) -> None:
    """Read and command as `OTHERS` clients until the end; count the cycles."""

    def work(client: int) -> None:
        session = qi.Session()
        session.connect(url)
        motion = session.service("ALMotion")
        while not is_over.is_set():
            motion.getAngles("Body", True)
            motion.setAngles(JOINTS[client % len(JOINTS)], 0.05, 0.2)
            with counts.get_lock():
                counts[0] += 1
            is_over.wait(OTHERS_S)

    qi.logging.setLevel(qi.logging.FATAL)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(OTHERS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def attack(url: str, is_over: Any, counts: Any, pause_s: float = 0.0) -> None:
    """Send hostile calls and connect shortly until the end; count both.

    Args:
        url: address of the server.
        is_over: event of the end.
        counts: (2,) shared counters of calls and connections.
        pause_s: pause after each short connection in s.
    """
    qi.logging.setLevel(qi.logging.FATAL)
    rng, session = random.Random(1), qi.Session()
    session.connect(url)
    motion = session.service("ALMotion")
    while not is_over.is_set():
        calls = []
        for _ in range(SIDE_BY_SIDE):
            given = rng.choices(HOSTILE, k=rng.randrange(6))
            with suppress(Exception):  # qi refuses some without sending them
                calls.append(motion.call(rng.choice(METHODS), *given, _async=True))
        for call in calls:
            call.hasError()  # waits for the answer
        short = qi.Session()
        short.connect(url)
        short.service("ALMemory").ping()
        short.close()
        counts[0] += SIDE_BY_SIDE
        counts[1] += 1
        is_over.wait(pause_s)


BESIDE: dict[str, Callable[[str, Any, Any], None] | None] = {
    "alone": None,
    "20 clients": work_beside,
    "hostile": attack,
}


@contextmanager
def company(
    beside: Callable[..., None] | None, url: str, counts: Any, first: int = OTHERS
) -> Iterator[None]:
    """Run a function in another process, from its `first` counts to the end.

    Raises:
        TestbedError: it ended before the block did.
    """
    if beside is None:
        yield
        return
    spawn = multiprocessing.get_context("spawn")
    is_over, before = spawn.Event(), counts[0]
    other = spawn.Process(target=beside, args=(url, is_over, counts), daemon=True)
    other.start()
    try:
        while counts[0] < before + first and other.is_alive():
            time.sleep(0.05)
        yield
        if not other.is_alive():
            raise TestbedError("the other clients ended too early; run it again.")
    finally:
        is_over.set()
        other.join()


def compare(blocks: int, seconds: float, folder: Path) -> dict[str, Any]:
    """Return the answer times of a client in alternating blocks, by its company."""
    spawn = multiprocessing.get_context("spawn")
    medians: dict[str, list[float]] = {name: [] for name in BESIDE}
    counts = {name: spawn.Array("q", 2) for name in BESIDE}
    with start_server(folder) as (server, url):
        time.sleep(SETTLE_S)
        for name, beside in itertools.islice(
            itertools.cycle(BESIDE.items()), blocks * len(BESIDE)
        ):
            with company(beside, url, counts[name]):
                medians[name].append(run_client(url, 0, seconds).median_ms)
        server.terminate()
    base = np.array(medians["alone"])
    ratios = {name: np.array(ms) / base for name, ms in medians.items()}
    return {
        name: {
            "median_ms": round(float(np.median(medians[name])), 2),
            "ratio": round(float(np.median(ratios[name])), 2),
            "ratios": ratios[name].round(2).tolist(),
            "counts": counts[name][:],
        }
        for name in BESIDE
    }


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


CYCLE_S, MEASURED_S = 60.0, 10.0
"""Length of a cycle, and of each of its two measurements, in s."""
PAUSE_S = 2.4
"""Pause of the hostile client in s: 10 000 calls in an hour."""
MOVES_S = 2.0
"""Time in s after which a moving client is killed."""


def move_until_killed(url: str) -> None:
    """Subscribe, start a long motion and wait for the end of this process."""
    session = qi.Session()
    session.connect(url)
    motion = session.service("ALMotion")
    memory = session.service("ALMemory")
    subscriber = memory.subscriber("FrontTactilTouched")
    subscriber.signal.connect(print)
    motion.angleInterpolation("LWristYaw", [0.3, -0.3], [20.0, 40.0], True)


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
        is_moving = moves.is_alive()  # the call returns at the end of the motion
        moves.kill()
        time.sleep(max(0.0, end_s - time.monotonic()))
    return {
        "alone_ms": alone.median_ms,
        "beside_ms": beside.median_ms,
        "worst_ms": beside.worst_ms,
        "killed": int(is_moving),
    }


def soak(minutes: int, folder: Path) -> dict[str, Any]:
    """Compare a client in each minute, print it, and return the whole."""
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
        "killed": sum(row["killed"] for row in rows),
        "mb": [rows[0]["mb"], rows[len(rows) // 2]["mb"], rows[-1]["mb"]],
        "threads": [rows[0]["threads"], rows[-1]["threads"]],
        "exit_code": code,
        **json.loads(ended.read_text("utf-8")),
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
    comparison = parser.add_mutually_exclusive_group()
    comparison.add_argument("--blocks", type=int)
    comparison.add_argument("--minutes", type=int)
    asked = parser.parse_args()
    if asked.clients < 1:
        parser.error(f"--clients is {asked.clients}; give a whole number from 1 up.")
    if asked.blocks is not None and asked.blocks < 1:
        parser.error(f"--blocks is {asked.blocks}; give a whole number from 1 up.")
    if asked.minutes is not None and not 1 <= asked.minutes <= LONGEST_S / CYCLE_S:
        parser.error(
            f"--minutes is {asked.minutes}; give a whole number from 1 to "
            f"{LONGEST_S / CYCLE_S:g}."
        )
    if not 0.1 <= asked.seconds <= LONGEST_S:
        parser.error(
            f"--seconds is {asked.seconds}; give a number from 0.1 to {LONGEST_S:g}."
        )
    with tempfile.TemporaryDirectory() as folder:
        if asked.minutes:
            found = soak(asked.minutes, Path(folder))
        elif asked.blocks:
            found = compare(asked.blocks, asked.seconds, Path(folder))
        else:
            found = measure(asked.clients, asked.seconds, Path(folder))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
