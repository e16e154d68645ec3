"""What controllers answered on one recording: plain data, and the JSON of it."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

RECORDED = "recorded"
"""Name of the controller of the recorded run, whose answers were recorded with it."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """The recording."""

    folder: str
    experiment: str
    robot: str
    state: str
    """As `sim.run_folder.Run.state`: an `interrupted` one ends with its last part."""
    controller: str | None
    """As its configuration names it, if it does."""
    observations: int
    begin_s: float
    end_s: float
    """Times of the first and last observation, in s of the run's clock."""
    period_s: float
    is_exact: bool
    """Recorded with every digit."""
    jumps: tuple[tuple[float, float], ...]
    """Times in s between which heat passed alone and no controller was asked."""
    damaged_events: int = 0
    """Lines of its events that cannot be read; a replay needs none of them."""


@dataclass(frozen=True, kw_only=True)
class JointAnswer:
    """Stiffness of one joint over a recording, each observation weighing the same."""

    mean: float
    largest: float
    rms_difference: float
    """To the reference."""


@dataclass(frozen=True, kw_only=True)
class ControllerAnswers:
    """What one controller answered."""

    controller: str
    joints: dict[str, JointAnswer]
    rms_difference: float
    """To the reference, over all joints and observations."""
    largest_difference: float
    is_identical: bool
    """To the reference, bit for bit."""
    first_difference_s: float | None
    """Time of the first observation answered otherwise, in s; None: identical."""
    flags: dict[str, int]
    """Observations at which the controller raised a flag, by flag."""
    step_us: float | None
    """Median time of a step in µs, by the wall clock; None for the recorded one."""
    step_us_99: float | None
    """99 % of the steps took at most this time."""
    failure: str | None
    """Why it stopped answering; None where it answered to the end."""


@dataclass(frozen=True, kw_only=True)
class ReplayResult:
    """All controllers on one recording."""

    run: RecordedRun
    reference: str
    """Controller that the others are compared with: `recorded`, or the first one."""
    answers: dict[str, ControllerAnswers]
    """By name; the reference is first."""

    def as_json(self) -> dict[str, Any]:
        """Return the contract of `--json`."""
        return {"experiment": "replay", **asdict(self)}


def compare(
    name: str,
    joints: tuple[str, ...],
    time_s: FloatArray,
    stiffness: FloatArray,
    reference: FloatArray,
    *,
    flags: dict[str, int],
    steps_s: list[float],
    failure: str | None,
) -> ControllerAnswers:
    """Set a controller's answers beside the reference's.

    Args:
        name: of the controller.
        joints: names of the columns.
        time_s: (n,) times of the observations, in s.
        stiffness: (m, n_joints) its answers, m < n where it failed before the end.
        reference: (n, n_joints).
        flags: observations with each flag.
        steps_s: wall times of its steps in s; empty where they are not known.
        failure: why it ended before.
    """
    m = len(stiffness)
    difference = stiffness - reference[:m]
    # Not `difference != 0`: -0.0 and 0.0 are other bits, and the same answer.
    other = np.flatnonzero((difference != 0.0).any(axis=1))
    times_us = 1e6 * np.array(steps_s)
    return ControllerAnswers(
        controller=name,
        joints={
            joint: JointAnswer(
                mean=float(stiffness[:, j].mean()),
                largest=float(stiffness[:, j].max()),
                rms_difference=_rms(difference[:, j]),
            )
            for j, joint in enumerate(joints)
        }
        if m
        else {},
        rms_difference=_rms(difference),
        largest_difference=float(np.abs(difference).max(initial=0.0)),
        is_identical=m == len(reference) and not len(other),
        first_difference_s=float(time_s[other[0]]) if len(other) else None,
        flags=flags,
        step_us=float(np.median(times_us)) if steps_s else None,
        step_us_99=float(np.percentile(times_us, 99.0)) if steps_s else None,
        failure=failure,
    )


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
