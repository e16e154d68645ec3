"""A controller's answers beside those of the reference."""

import numpy as np
from numpy.typing import NDArray

from experiments.replay.answers import Answers
from experiments.replay.results import (
    ControllerAnswers,
    JointAnswer,
    JointShift,
    ShiftAnswers,
)

FloatArray = NDArray[np.float64]


def compare(
    one: Answers, reference: Answers, joints: tuple[str, ...], time_s: FloatArray
) -> ControllerAnswers:
    """Set a controller's answers beside the reference's.

    Args:
        one: m of them, m < n where it failed before the end.
        reference: n of them.
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
    """Return how far shifts differ; None where one of them is not known."""
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
    # -0.0 and 0.0 are other bits, and the same answer.
    rows = np.flatnonzero((difference != 0.0).any(axis=1))
    return float(time_s[rows[0]]) if len(rows) else None


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
