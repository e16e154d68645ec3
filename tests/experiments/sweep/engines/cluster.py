"""A dask cluster of real processes on loopback."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

DASK = Path(sys.executable).with_name("dask")
BARE = ("--no-dashboard",)
MOST_FAILURES = 1
PATIENCE_S = 60.0
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(MOST_FAILURES),
}


class Cluster:
    """A scheduler and its workers; `close` ends them all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", str(port)
        )

    def add_worker(self, *options: str) -> subprocess.Popen[bytes]:
        place = ("--local-directory", str(self.folder), "--memory-limit", "0")
        threads = () if "--nthreads" in options else ("--nthreads", "1")
        name = ("--name", str(len(self.workers)))
        arguments = ("--no-nanny", *name, *place, *threads, *options)
        worker = self._start("worker", self.address, *arguments)
        self.workers.append(worker)
        return worker

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(DASK), *arguments, *BARE],
            env=os.environ | SETTINGS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def wait(self, workers: int) -> None:
        """Wait until so many workers live and the scheduler knows exactly these.

        The scheduler detects a killed worker with a delay.
        """
        from distributed import Client

        deadline = time.monotonic() + PATIENCE_S
        with Client(self.address, timeout=PATIENCE_S, set_as_default=False) as client:
            while True:
                living = {n for n, one in enumerate(self.workers) if one.poll() is None}
                known = client.scheduler_info(n_workers=-1)["workers"].values()
                names = [int(worker["name"]) for worker in known]
                if len(living) == workers and sorted(names) == sorted(living):
                    return
                assert time.monotonic() < deadline, f"{names} known, {living} live"
                time.sleep(0.05)

    def end_worker(self, worker: subprocess.Popen[bytes]) -> None:
        """End a worker; return when the scheduler has removed it."""
        worker.kill()
        worker.wait()
        self.wait(sum(one.poll() is None for one in self.workers))

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
        for process in (*self.workers, self.scheduler):
            process.wait()
