"""Answers of controllers to the observations of a recording, and their differences.

Plain data and their JSON: `Answers` has the answers of one controller, `compare`
compares them with those of the reference, `ReplayResult` has all.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.controller_failure import ControllerFailed
from nao_testbed.experiments.closed_loop.loop import Loop, TimedController
from nao_testbed.models import TestbedError
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.replayed_robot import RecordedObservations, ReplayRobot

RECORDED = "recorded"
"""Name for the controller of the recorded run, whose answers were recorded."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """Recorded run."""

    folder: str
    experiment: str
    robot: str
    state: str
    """State as in `sim.Run.state`; an `interrupted` run ends with its last part."""
    controller: str | None
    """Controller named in its configuration, if any."""
    observations: int
    begin_s: float
    end_s: float
    """Times of the first and last observation, in s of the run's clock."""
    period_s: float
    is_exact: bool
    """True if recorded with every digit."""
    knows_shift: bool
    """True if it has shifts of the set-points; runs before format 3 have none."""
    jumps: tuple[tuple[float, float], ...]
    """Intervals in s of fast-forward, in which no controller was called."""
    damaged_events: int = 0
    """Number of unreadable lines of its events, which a replay does not need."""


@dataclass(frozen=True, kw_only=True)
class JointAnswer:
    """Stiffness of one joint over a recording, averaged over observations."""

    mean: float
    largest: float
    rms_difference: float
    """Root mean square difference to the reference."""


@dataclass(frozen=True, kw_only=True)
class JointShift:
    """Shift of one joint's set-point over a recording."""

    mean_deg: float
    """Mean over observations, with sign, in degrees."""
    largest_deg: float
    """Largest absolute shift in degrees."""
    largest_difference_deg: float
    """Largest difference to the reference in degrees."""


@dataclass(frozen=True, kw_only=True)
class ShiftAnswers:
    """Shifts of the set-points by one controller; no shift is 0."""

    joints: dict[str, JointShift]
    largest_deg: float
    """Largest absolute shift of any joint in degrees."""
    rms_difference_deg: float
    """Root mean square difference to the reference over all joints and observations, in
    degrees."""
    largest_difference_deg: float
    is_identical: bool
    """True if bit-identical to the reference."""
    first_difference_s: float | None
    """Time of the first observation with another answer, in s; None: identical."""


@dataclass(frozen=True, kw_only=True)
class ControllerAnswers:
    """Summary of one controller's answers."""

    controller: str
    joints: dict[str, JointAnswer]
    rms_difference: float
    """Root mean square difference of the stiffness to the reference's, over all joints
    and observations."""
    largest_difference: float
    """Largest difference of the stiffness."""
    shift: ShiftAnswers | None
    """Shifts; None if those of the reference were not recorded."""
    is_identical: bool
    """True if bit-identical to the reference in stiffness and shift."""
    first_difference_s: float | None
    """Time of the first observation with another answer, in s; None: identical."""
    flags: dict[str, int]
    """Flag of the controller to the number of observations with it."""
    step_us: float | None
    """Median wall time of a step in µs; None for the recorded controller."""
    step_us_99: float | None
    """99th percentile of the wall time of a step in µs."""
    failure: str | None
    """Reason of an early end of its answers; None: no early end."""


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """Results of all controllers on one recording."""

    run: RecordedRun
    reference: str
    """Controller that the others are compared with: `recorded`, or the first one."""
    answers: dict[str, ControllerAnswers]
    """Name to answers; the reference is first."""

    @property
    def has_shift(self) -> bool:
        """True if any controller shifted a set-point."""
        shifts = (one.shift for one in self.answers.values())
        return any(shift is not None and shift.largest_deg > 0.0 for shift in shifts)

    def as_json(self) -> dict[str, Any]:
        """Return the data for `--json`."""
        return {"experiment": "replay", **asdict(self)}


ReplayProgress = Callable[[str, float], None]
"""Function called with a controller and the processed share of the recording."""

_REPORT_EVERY = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Answers of one controller to each observation."""

    controller: str
    stiffness: FloatArray
    """(m, n_joints) stiffness; m is less than the number of observations after a
    failure."""
    shift: FloatArray | None
    """(m, n_joints) shift of the set-points in rad, 0 without a shift; None: recorded
    before format 3."""
    steps_s: list[float]
    """Wall times of its steps in s."""
    flags: dict[str, int]
    failure: str | None
    folder: Path | None = None
    """Folder for its answers."""


def collect_answers(
    observations: RecordedObservations,
    controller: str,
    on_progress: ReplayProgress,
    folder: Path | None = None,
) -> Answers:
    """Run one controller on a whole recording, in the loop of the experiments.

    Set-points are the recorded ones plus the controller's own shift, without that of
    the recorded controller; sensor values are the recorded ones.

    Args:
        observations: observations of the recording.
        controller: as in `make_controller`.
        on_progress: function called with the progress.
        folder: folder for the traceback of an error; None: no traceback.
    """
    period_s = observations.period_s
    replay = ReplayRobot(observations, period_s / _ticks_in(period_s))
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
                error.save_traceback(folder)
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


def _ticks_in(period_s: float) -> int:
    """Return the number of ticks of about 1 ms in a period."""
    return max(1, round(period_s / 1e-3))


def compare(
    one: Answers, reference: Answers, joints: tuple[str, ...], time_s: FloatArray
) -> ControllerAnswers:
    """Compare a controller's answers with those of the reference.

    Args:
        one: m answers; m < n after a failure.
        reference: n answers of the reference.
        joints: names of the columns.
        time_s: (n,) times of the observations, in s.
    """
    m = len(one.stiffness)
    difference = one.stiffness - reference.stiffness[:m]
    shift = _compare_shifts(one, reference, joints, time_s)
    first = [_first(difference, time_s), shift.first_difference_s if shift else None]
    first_difference_s = min((t for t in first if t is not None), default=None)
    times_us = 1e6 * np.array(one.steps_s)
    return ControllerAnswers(
        controller=one.controller,
        joints={
            joint: JointAnswer(
                mean=float(one.stiffness[:, j].mean()),
                largest=float(one.stiffness[:, j].max()),
                rms_difference=_rms(difference[:, j]),
            )
            for j, joint in enumerate(joints)
        }
        if m
        else {},
        rms_difference=_rms(difference),
        largest_difference=float(np.abs(difference).max(initial=0.0)),
        shift=shift,
        is_identical=m == len(reference.stiffness) and first_difference_s is None,
        first_difference_s=first_difference_s,
        flags=one.flags,
        step_us=float(np.median(times_us)) if one.steps_s else None,
        step_us_99=float(np.percentile(times_us, 99.0)) if one.steps_s else None,
        failure=one.failure,
    )


def _compare_shifts(
    one: Answers, reference: Answers, joints: tuple[str, ...], time_s: FloatArray
) -> ShiftAnswers | None:
    """Return the differences of shifts; None if one of both is unknown."""
    if one.shift is None or reference.shift is None:
        return None
    m = len(one.shift)
    shift_deg = np.rad2deg(one.shift)
    difference = one.shift - reference.shift[:m]
    difference_deg = np.rad2deg(difference)
    first_difference_s = _first(difference, time_s)
    return ShiftAnswers(
        joints={
            joint: JointShift(
                mean_deg=float(shift_deg[:, j].mean()),
                largest_deg=float(np.abs(shift_deg[:, j]).max()),
                largest_difference_deg=float(np.abs(difference_deg[:, j]).max()),
            )
            for j, joint in enumerate(joints)
        }
        if m
        else {},
        largest_deg=float(np.abs(shift_deg).max(initial=0.0)),
        rms_difference_deg=_rms(difference_deg),
        largest_difference_deg=float(np.abs(difference_deg).max(initial=0.0)),
        is_identical=m == len(reference.shift) and first_difference_s is None,
        first_difference_s=first_difference_s,
    )


def _first(difference: FloatArray, time_s: FloatArray) -> float | None:
    """Return the time of the first row that is not zero, in s; None: all are."""
    # -0.0 and 0.0 have different bits, but are the same answer.
    rows = np.flatnonzero((difference != 0.0).any(axis=1))
    return float(time_s[rows[0]]) if len(rows) else None


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
