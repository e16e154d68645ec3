"""Writer behind the button *Video* of a recording's page: an MP4 of the run.

The video is drawn in a separate process, as by `report --video`. The process ends with
its parent.
"""

import multiprocessing as mp
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from nao_testbed.experiments.report.run_source import (
    RecordedTrial,
    read_source,
    runs_in,
)
from nao_testbed.experiments.report.video.write_videos import check_video
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.files import check_writable
from nao_testbed.models.system import Connection
from nao_testbed.sim.recording.run_meta import recorded_robot

FILE = "video.mp4"
"""File name in the run folder."""


def recorded_trials(folder: Path) -> Sequence[RecordedTrial]:
    """Return the robots of a run; raises as `runs_in` and `read_source`."""
    return [trial for run in runs_in(folder) for trial in read_source(run).trials]


class VideoMaker:
    """Writer of one run's video; call `ask` once, then `poll` until it is complete."""

    def __init__(self, folder: Path) -> None:
        self._path, self._folder = folder / FILE, folder
        self._process: mp.process.BaseProcess | None = None
        self._link: Connection | None = None

    def ask(self) -> None:
        """Start making the video.

        Raises:
            BadInput: it is being made, PyAV is not installed, or the file is not
                writable.
        """
        if self._process is not None:
            raise BadInput("the video is being made; wait until it is complete.")
        check_video()
        check_writable("the video", self._path)
        context = mp.get_context("spawn")
        self._link, theirs = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_make, args=(self._folder, self._path, theirs), daemon=True
        )
        self._process.start()
        theirs.close()

    def poll(self) -> str | None:
        """Return new progress, or None."""
        if self._link is None or self._process is None:
            return None
        told = None
        try:
            while self._link.poll():
                told = str(self._link.recv())
        except (EOFError, OSError):
            self._link.close()
            self._process.join()
            self._link = self._process = None
        return told

    def close(self) -> None:
        """Stop the process, with or without a complete video."""
        if self._process is not None:
            self._process.terminate()
            self._process.join()


def _make(folder: Path, path: Path, link: Connection) -> None:
    """Write the video of a run; send progress and the result."""
    from nao_testbed.experiments.report.video.film import Film, FilmCfg  # noqa: PLC0415  # heavy

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process sends the stop
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # clean up by an exception
    try:
        trials = [trial for trial in recorded_trials(folder) if len(trial.frame)]
        robots = {trial.name: recorded_robot(trial.run.meta) for trial in trials}
        film = Film(trials, robots, FilmCfg(), ("Recording", folder.name))

        def on_progress(done: int) -> None:
            if done % 25 == 0:
                link.send(f"video: {done} of {film.frames} frames …")

        film.write(path, on_progress)
    except TestbedError as error:
        link.send(f"no video: {error}")
    except OSError as error:  # includes a closed link
        link.send(f"no video: {error}")
    else:
        link.send(f"video: {path}")
