"""What one controller answers to the observations of a recording."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controllers.registry import make_controller
from experiments.controller_failed import ControllerFailed
from experiments.loop import Loop
from experiments.timed_controller import TimedController
from models import TestbedError
from sim.replay import RecordedObservations, ReplayRobot

FloatArray = NDArray[np.float64]

Progress = Callable[[str, float], None]
"""Told a controller and the share of the recording that it has seen, now and then."""

_REPORT_EVERY = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What one controller answered, observation by observation."""

    controller: str
    stiffness: FloatArray
    """(m, n_joints); m is less than the number of observations where it failed."""
    shift: FloatArray | None
    """(m, n_joints) of the set-points in rad, 0 where it decided none; None: it was
    recorded before such were."""
    steps_s: list[float]
    """Wall times of its steps in s."""
    flags: dict[str, int]
    failure: str | None
    folder: Path | None = None
    """For its answers."""


def answer(
    observations: RecordedObservations,
    controller: str,
    on_progress: Progress,
    folder: Path | None = None,
) -> Answers:
    """Let one controller answer a whole recording, in the loop of the experiments.

    It is asked for the recorded request with its own shift on top, not with that of the
    recorded controller; the sensors say what they said then.

    Args:
        observations: of the recording.
        controller: as `make_controller` takes it.
        on_progress: told how far it is.
        folder: where its traceback goes, should it raise; None: nowhere.
    """
    period_s = observations.period_s
    replay = ReplayRobot(observations, period_s / _ticks(period_s))
    bare = make_controller(controller)
    timed = TimedController(bare)
    n = len(observations)
    stiffness = np.empty((n, len(replay.robot.joints)))
    shift = np.zeros_like(stiffness)
    done, failure = 0, None
    try:
        loop = Loop(replay, timed, None, period_s)
        while not replay.is_over:
            loop.cycle()
            stiffness[done] = loop.limits
            if loop.shift is not None:
                shift[done] = loop.shift
            done += 1
            if done % _REPORT_EVERY == 0:
                on_progress(controller, done / n)
    except TestbedError as error:
        if isinstance(error, ControllerFailed):
            if folder is None:
                error.args = (f"{error} With --out DIR its traceback is kept.",)
            else:
                error.keep(folder)
        failure = f"stopped at {replay.time_s:.2f} s: {error}"
    on_progress(controller, 1.0)
    return Answers(
        controller=controller,
        stiffness=stiffness[:done],
        shift=shift[:done],
        steps_s=timed.times_s[:done],
        flags=dict(getattr(bare, "flag_counts", {})),
        failure=failure,
        folder=folder,
    )


def _ticks(period_s: float) -> int:
    """Return into how many ticks of about 1 ms a period is divided."""
    return max(1, round(period_s / 1e-3))
