"""What controllers answered on one recording: plain data, and the JSON of it."""

from dataclasses import asdict, dataclass
from typing import Any

RECORDED = "recorded"
"""Name of the controller of the recorded run, whose answers were recorded with it."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """The recording."""

    folder: str
    experiment: str
    robot: str
    state: str
    """As `sim.recording.run_folder.Run.state`: an `interrupted` one ends with its last part."""
    controller: str | None
    """As its configuration names it, if it does."""
    observations: int
    begin_s: float
    end_s: float
    """Times of the first and last observation, in s of the run's clock."""
    period_s: float
    is_exact: bool
    """Recorded with every digit."""
    knows_shift: bool
    """It tells how its controller shifted set-points; before format 3 no run does."""
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
class JointShift:
    """Shift of one joint's set-point over a recording."""

    mean_deg: float
    """With its sign, each observation weighing the same."""
    largest_deg: float
    """Whatever its sign."""
    largest_difference_deg: float
    """To the reference."""


@dataclass(frozen=True, kw_only=True)
class ShiftAnswers:
    """How far one controller shifted set-points; no shift is one of 0."""

    joints: dict[str, JointShift]
    largest_deg: float
    """Of any joint, whatever its sign."""
    rms_difference_deg: float
    """To the reference, over all joints and observations."""
    largest_difference_deg: float
    is_identical: bool
    """To the reference, bit for bit."""
    first_difference_s: float | None
    """Time of the first observation answered otherwise, in s; None: identical."""


@dataclass(frozen=True, kw_only=True)
class ControllerAnswers:
    """What one controller answered."""

    controller: str
    joints: dict[str, JointAnswer]
    rms_difference: float
    """Of the stiffness to the reference's, over all joints and observations."""
    largest_difference: float
    """Of the stiffness likewise."""
    shift: ShiftAnswers | None
    """None where the reference's shifts were not recorded, so nothing is compared."""
    is_identical: bool
    """To the reference, bit for bit, in stiffness and shift."""
    first_difference_s: float | None
    """Time of the first observation answered otherwise, in s; None: none was."""
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

    @property
    def has_shift(self) -> bool:
        """Whether anybody shifted a set-point."""
        shifts = (one.shift for one in self.answers.values())
        return any(shift is not None and shift.largest_deg > 0.0 for shift in shifts)

    def as_json(self) -> dict[str, Any]:
        """Return the contract of `--json`."""
        return {"experiment": "replay", **asdict(self)}
