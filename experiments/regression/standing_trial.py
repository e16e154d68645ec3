"""Result of a standing trial, with assertions that read as sentences.

Each assertion returns None, or raises AssertionError with a sentence: the controller,
the expected value, the actual one, the time and the joint.
docs/guides/regression_kit.md defines each. A trial that ended early fails all
assertions, since it has no data for the rest of its time.

Bounds of a test are validated first, so that none is without effect. A limit of the
stiffness is a number, a number per joint, or another controller; then the limit is that
controller's answer to the same observations, replayed from the trial's recording.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from nao_testbed.controllers.interface.checked import check_value
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.regression import verdicts
from nao_testbed.experiments.regression.monitored_controller import Decisions, StepTimes
from nao_testbed.experiments.regression.replay.answers import collect_answers
from nao_testbed.experiments.regression.replay.replay import ReplayCfg, open_recording
from nao_testbed.experiments.regression.setting import StandingCfg
from nao_testbed.experiments.regression.verdicts import TickTimes, tick_times
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.robot import are_watts_guesses
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.run_folder import Run, read_run


def bound(name: str, value: float, most: float = np.inf) -> float:
    """Return a validated bound of a test.

    Raises:
        BadInput: the bound is not a finite number from 0 to `most`.
    """
    __tracebackhide__ = True
    check_value(name, value, Annotated[float, Field(ge=0.0, le=most)])
    return float(value)


Limit = float | Mapping[str, float]


def limit_of(limit: Limit, joint_names: tuple[str, ...]) -> FloatArray:
    """Return the largest stiffness of each joint, (n_joints,); 1 without a limit.

    Raises:
        BadInput: a limit is not a number from 0 to 1, or its joint is unknown.
    """
    if not isinstance(limit, Mapping):
        return np.full(len(joint_names), bound("limit", limit, 1.0))
    allowed = np.ones(len(joint_names))
    for name, value in limit.items():
        if name not in joint_names:
            raise UnknownName("Joint", name, joint_names, "the robot of the trial")
        allowed[joint_names.index(name)] = bound("limit", value, 1.0)
    return allowed


def answers_on_run(controller: str, folder: Path) -> FloatArray:
    """Return the limits of a controller on a recording, (m, n_joints).

    Args:
        controller: controller in the format of `controllers.make_controller`.
        folder: folder of a run recorded with all digits.

    Raises:
        BadInput: the controller is unknown, or fails on the recording.
    """
    recording = open_recording(ReplayCfg(source=folder, controllers=(controller,)))
    seen = recording.observations
    answers = collect_answers(seen, controller, lambda _name, _share: None)
    if answers.failure is not None:
        raise BadInput(f"{controller} cannot compute the limits: it {answers.failure}")
    return answers.stiffness


def joint_mask(
    joints: Sequence[str] | None, joint_names: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return a mask of the named joints, (n_joints,); None: all joints.

    Raises:
        UnknownName: a joint is unknown.
    """
    if joints is None:
        return np.full(len(joint_names), True)
    for name in joints:
        if name not in joint_names:
            raise UnknownName("Joint", name, joint_names, "the robot of the trial")
    return np.array([name in joints for name in joint_names])


@dataclass(frozen=True, kw_only=True, eq=False)
class StandingTrial:
    """Trial of one controller in one setting, created by `run_trial`.

    Every assertion raises BadInput if a bound is invalid, or if the trial lacks the
    data, such as a comparison of legs on a robot without legs.
    """

    controller: str
    """Name of the controller in messages."""
    setting: StandingCfg = field(repr=False)
    result: TrialResult = field(repr=False)
    folder: Path
    """Run folder."""
    decisions: Decisions = field(repr=False)
    """Output of the controller for each observation."""
    step_times: StepTimes = field(repr=False)
    breach: str | None = None
    """Message about the contract violation that ended the trial; None: no violation."""

    @cached_property
    def run(self) -> Run:
        """Recorded run; see `sim.read_run`."""
        return read_run(self.folder)

    @cached_property
    def ticks(self) -> TickTimes | None:
        """Times of the steps; None if there were too few."""
        return tick_times(self.step_times)

    def keeps_its_contract(self) -> None:
        """Assert that every answer was finite, in [0, 1], of correct shape and type."""
        __tracebackhide__ = True
        _fail_with(self.breach)

    def stays_up(self) -> None:
        """Assert that the robot stood until the end."""
        __tracebackhide__ = True
        self._require_standing("does not stay upright")

    def is_cooler_than(self, other: "StandingTrial", by: float = 0.0) -> None:
        """Assert that its legs produced less heat than those of another trial.

        Args:
            other: trial in the same setting.
            by: minimum relative reduction; 0.3 requires 30 % less.
        """
        __tracebackhide__ = True
        by = bound("by", by, 1.0)
        if self.setting.key != other.setting.key:
            raise BadInput(
                f"{self.controller} and {other.controller} have different "
                "settings; compare trials that differ only in the controller."
            )
        own_j, other_j = self._legs_loss_j(), other._legs_loss_j()
        most = (1.0 - by) * other_j
        if own_j < most or (by > 0.0 and own_j == most):
            return
        required = (
            f"required: at least {100.0 * by:g} % less" if by else "required: less"
        )
        compared = "as much as"
        if other_j > 0.0 and own_j != other_j:
            share = 100.0 * (own_j - other_j) / other_j
            compared = f"{abs(share):.1f} % {'more' if share > 0.0 else 'less'} than"
        own, others = f"{own_j:.4g} J, ", f" ({other_j:.4g} J)"
        if self._has_guessed_motors:
            own, others = "", ""
        raise AssertionError(
            f"{self.controller} is not cool enough: the legs dissipated {own}"
            f"{compared} {other.controller}{others}; {required}."
        )

    def is_near_the_least_loss(
        self, factor: float = 1.3, *, gears_help: bool = False
    ) -> None:
        """Assert that the final leg heat is close to the minimum of the posture.

        With `gears_help` the minimum includes gear friction, a lower bound for any
        controller.
        """
        __tracebackhide__ = True
        factor = bound("factor", factor)
        self._require_standing()
        result = self.result
        power = result.legs_power_w
        least = result.least_with_gears_w if gears_help else result.least_power_w
        if power is None or least is None:
            raise BadInput(
                f"the minimum loss in the posture of {self.controller} is unknown: the "
                "robot has no legs, or no forces at its soles balance it."
            )
        if power > factor * least:
            own, whole = f"{power:.3g} W, ", f" of {least:.3g} W"
            if self._has_guessed_motors:
                own, whole = "", ""
            raise AssertionError(
                f"{self.controller} is far from the minimum loss: the legs dissipate "
                f"{own}{power / least:.2f} times the minimum{whole} of the posture; at "
                f"most {factor:g} times is allowed."
            )

    def settles_within(self, seconds: float) -> None:
        """Assert that from this time on the legs' power stays near its last value."""
        __tracebackhide__ = True
        seconds = bound("seconds", seconds)
        self._require_standing()
        settled = self.result.settled_s
        if settled is None or settled > seconds:
            is_late = settled is not None
            when = f"settled at {settled:.1f} s" if is_late else "has not settled"
            raise AssertionError(
                f"{self.controller} settles too late: the power of its legs {when}; "
                f"it must settle within {seconds:g} s."
            )

    def never_above(self, temperature_degc: float) -> None:
        """Assert that no motor's true temperature exceeded a value in °C."""
        __tracebackhide__ = True
        most = bound("temperature in °C", temperature_degc)
        self._require_standing()
        truth = self.run.channel("true_temperature")
        peaks = truth.to_numpy().max(axis=0)
        motor = int(peaks.argmax())
        if peaks[motor] > most:
            is_above = truth.iloc[:, motor].to_numpy() > most
            first = float(truth.index.to_numpy()[is_above][0])
            raise AssertionError(
                f"{self.controller} gets too hot: motor {truth.columns[motor]} was "
                f"above {most:g} °C at {first:.1f} s and reached {peaks[motor]:.1f} °C."
            )

    def respects_limit(
        self,
        limit: Limit | None = None,
        *,
        of: str | None = None,
        joints: Sequence[str] | None = None,
        margin: float = 0.0,
        after_s: float = 0.0,
    ) -> None:
        """Assert that no stiffness exceeded its limit.

        Args:
            limit: limit for all joints, or by joint name; in [0, 1].
            of: controller, such as `smart`, whose answers to the same observations are
                the limit.
            joints: checked joints; None: all.
            margin: accepted excess.
            after_s: time in s from which answers are checked.
        """
        __tracebackhide__ = True
        margin = bound("margin", margin, 1.0)
        after_s = bound("after_s", after_s, self.setting.seconds)
        self._require_standing()
        made = self.decisions
        if of is not None and limit is None:
            allowed, limit_text = answers_on_run(of, self.folder), f"{of} allows"
        elif limit is not None and of is None:
            shape = made.stiffness.shape
            allowed = np.broadcast_to(limit_of(limit, made.joint_names), shape).copy()
            limit_text = "the limit is"
        else:
            raise BadInput(
                "respects_limit needs either a limit or `of`, such as 0.8, "
                '{"JOINT": 0.6} or of="smart".'
            )
        allowed[made.time_s < after_s] = np.inf
        allowed[:, ~joint_mask(joints, made.joint_names)] = np.inf
        _fail_with(
            verdicts.above_limit(self.controller, made, allowed, margin, limit_text)
        )

    def shifts_at_most(self, degrees: float) -> None:
        """Assert that no set-point was shifted further, in degrees."""
        __tracebackhide__ = True
        degrees = bound("shift in degrees", degrees, 180.0)
        self._require_standing()
        _fail_with(verdicts.shifts_too_far(self.controller, self.decisions, degrees))

    def does_not_chatter(self, reversals_per_s: int = 2) -> None:
        """Assert that stiffness and shifts reversed at most this often per second.

        The three seconds after a push are ignored.
        """
        __tracebackhide__ = True
        most = int(bound("reversals_per_s", reversals_per_s))
        self._require_standing()
        _fail_with(
            verdicts.chatters(
                self.controller, self.decisions, self.setting.pushes, most
            )
        )

    def ticks_under(self, seconds: float) -> None:
        """Assert that a step takes less: median wall time, 95 % of processor times."""
        __tracebackhide__ = True
        seconds = bound("tick in s", seconds, 1.0)
        self._require_standing()
        if self.ticks is None:
            raise BadInput(
                f"the trial of {self.controller} is too short to time its steps; give "
                "it at least one second."
            )
        _fail_with(verdicts.too_slow(self.controller, self.ticks, seconds))

    def _require_standing(self, consequence: str = "cannot be evaluated") -> None:
        __tracebackhide__ = True
        self.keeps_its_contract()
        if self.result.failure is not None:
            raise AssertionError(
                f"{self.controller} {consequence}: it {self.result.failure} of "
                f"{self.setting.seconds:g} s."
            )

    @property
    def _has_guessed_motors(self) -> bool:
        return are_watts_guesses(self.run.meta.robot_data.get("thermal"))

    def _legs_loss_j(self) -> float:
        __tracebackhide__ = True
        self._require_standing()
        loss = self.result.legs_joule_loss_j
        if loss is None:
            raise BadInput(f"the robot of {self.controller} has no legs to compare.")
        return loss


def _fail_with(sentence: str | None) -> None:
    """Fail with a sentence, unless it is None."""
    __tracebackhide__ = True
    if sentence is not None:
        raise AssertionError(sentence)


Value = float | str | bool
"""Value that pytest-xdist can transfer from a worker."""


def properties_of(trial: StandingTrial) -> dict[str, Value]:
    """Return name to value; `none` for an unknown value."""
    result = trial.result
    ticks = trial.ticks
    numbers: dict[str, float | None] = {
        "simulated_s": result.sim_s,
        "legs_joule_loss_j": result.legs_joule_loss_j,
        "legs_power_w": result.legs_power_w,
        "least_power_w": result.least_power_w,
        "least_with_gears_w": result.least_with_gears_w,
        "largest_shift_deg": result.largest_shift_deg,
        "settled_s": result.settled_s,
        "tick_median_ms": 1e3 * ticks.typical_s if ticks else None,
        "tick_p95_cpu_ms": 1e3 * ticks.slow_s if ticks else None,
        "tick_worst_ms": 1e3 * ticks.worst_s if ticks else None,
    }
    found: dict[str, Value] = {"fell": result.fell}
    if trial.breach is not None:
        found["breach"] = trial.breach
    if result.joints:
        hottest = max(result.joints, key=lambda name: result.joints[name].end_degc)
        found["hottest"] = hottest
        numbers["hottest_degc"] = result.joints[hottest].end_degc
    found |= {
        name: "none" if value is None else round(value, 6)
        for name, value in numbers.items()
    }
    return {f"{trial.controller}.{name}": value for name, value in found.items()}
