"""A trial that was run, and the assertions about it, which read as sentences.

Each of them returns None, or raises AssertionError with a sentence: who, what was
expected, the value, when, which joint. docs/regression_kit.md defines each. A trial
that ended early says nothing about the rest of its time, so it fails all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from experiments.regression import command_verdicts, heat_verdicts
from experiments.regression.allowed_stiffness import (
    Limit,
    answers_of,
    are_of,
    limit_of,
)
from experiments.regression.bounds import bound
from experiments.regression.setting import StandingCfg
from experiments.regression.tick_times import TickTimes, tick_times
from experiments.regression.watched_controller import Decisions, StepTimes
from experiments.standing.results import ArmResult
from models import BadInput
from sim.run_folder import Run, read_run


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """One controller in one setting; made by `run_trial`.

    Every assertion raises BadInput where a bound has no meaning or the trial cannot
    answer it, such as a comparison of legs on a robot without legs.
    """

    controller: str
    """How sentences call it."""
    setting: StandingCfg = field(repr=False)
    result: ArmResult = field(repr=False)
    folder: Path
    """The run folder."""
    decisions: Decisions = field(repr=False)
    """What the controller answered to every observation."""
    step_times: StepTimes = field(repr=False)
    breach: str | None = None
    """The sentence about a broken contract, which ended the trial; None: all kept."""

    @cached_property
    def run(self) -> Run:
        """The recording; see `sim.read_run`."""
        return read_run(self.folder)

    @cached_property
    def ticks(self) -> TickTimes | None:
        """What the steps took; None where there were too few."""
        return tick_times(self.step_times)

    def keeps_its_contract(self) -> None:
        """Every answer was finite, of the right shape and type, and in [0, 1]."""
        __tracebackhide__ = True
        _hold(self.breach)

    def stays_up(self) -> None:
        """It stood until the end."""
        __tracebackhide__ = True
        self._must_have_stood("does not stay up")

    def is_cooler_than(self, other: "Trial", by: float = 0.0) -> None:
        """Its legs turned less energy into heat than those of another trial.

        Args:
            other: in the same setting.
            by: share by which at least; 0.3 asks for 30 % less.
        """
        __tracebackhide__ = True
        by = bound("by", by, most=1.0)
        if self.setting.key != other.setting.key:
            raise BadInput(
                f"{self.controller} and {other.controller} stood in different "
                "settings; compare trials that differ in the controller only."
            )
        mine, theirs = self._legs_loss_j(), other._legs_loss_j()
        _hold(
            heat_verdicts.not_cooler(
                self.controller, mine, other.controller, theirs, by
            )
        )

    def is_near_the_least_loss(
        self, factor: float = 1.3, *, gears_help: bool = False
    ) -> None:
        """Its legs end with little more heat than the posture needs at the least.

        With `gears_help` the least is that with stuck gears bearing what they can,
        below which nobody gets.
        """
        __tracebackhide__ = True
        factor = bound("factor", factor)
        self._must_have_stood()
        result = self.result
        power = result.legs_power_w
        least = result.least_with_gears_w if gears_help else result.least_power_w
        if power is None or least is None:
            raise BadInput(
                f"the least possible loss of {self.controller}'s posture is not known: "
                "the robot has no legs, or no forces at its soles balance it."
            )
        _hold(heat_verdicts.far_from_least(self.controller, power, least, factor))

    def settles_within(self, seconds: float) -> None:
        """From then on the power of its legs stays near its last value."""
        __tracebackhide__ = True
        seconds = bound("seconds", seconds, "s")
        self._must_have_stood()
        _hold(heat_verdicts.settles_late(self.controller, self.result, seconds))

    def never_above(self, temperature_degc: float) -> None:
        """No motor's true temperature was ever higher, in °C."""
        __tracebackhide__ = True
        most = bound("temperature", temperature_degc, "°C")
        self._must_have_stood()
        truth = self.run.channel("true_temperature")
        _hold(heat_verdicts.too_hot(self.controller, truth, most))

    def respects_limit(
        self,
        limit: Limit | None = None,
        *,
        of: str | None = None,
        joints: Sequence[str] | None = None,
        margin: float = 0.0,
        after_s: float = 0.0,
    ) -> None:
        """It never answered a stiffness above its limit.

        Args:
            limit: for all joints, or by joint name; in [0, 1].
            of: in its place a controller, such as `smart`: its answers to the same
                observations are the limit.
            joints: to look at; None: all.
            margin: by how much it may be above.
            after_s: from this time on.
        """
        __tracebackhide__ = True
        margin = bound("margin", margin, most=1.0)
        after_s = bound("after_s", after_s, "s", self.setting.seconds)
        self._must_have_stood()
        made = self.decisions
        if of is not None and limit is None:
            allowed, whose = answers_of(of, self.folder), f"{of} allows"
        elif limit is not None and of is None:
            shape = made.stiffness.shape
            allowed = np.broadcast_to(limit_of(limit, made.joint_names), shape).copy()
            whose = "the limit is"
        else:
            raise BadInput(
                "respects_limit needs a limit or `of`, one of them; such as 0.8, "
                '{"LKneePitch": 0.6} or of="smart".'
            )
        allowed[made.time_s < after_s] = np.inf
        allowed[:, ~are_of(joints, made.joint_names)] = np.inf
        _hold(
            command_verdicts.above_limit(self.controller, made, allowed, margin, whose)
        )

    def shifts_at_most(self, degrees: float) -> None:
        """It never shifted a set-point further, in degrees."""
        __tracebackhide__ = True
        degrees = bound("shift", degrees, "degrees", 180.0)
        self._must_have_stood()
        _hold(command_verdicts.shifts_too_far(self.controller, self.decisions, degrees))

    def does_not_chatter(self, reversals_per_s: int = 2) -> None:
        """No stiffness and no shift changed its direction more often in a second.

        The three seconds after a push are left out.
        """
        __tracebackhide__ = True
        most = int(bound("reversals_per_s", reversals_per_s))
        self._must_have_stood()
        _hold(
            command_verdicts.chatters(
                self.controller, self.decisions, self.setting.pushes, most
            )
        )

    def ticks_under(self, seconds: float) -> None:
        """Its step takes less: the median by the clock, 95 % of the computing time."""
        __tracebackhide__ = True
        seconds = bound("tick", seconds, "s", 1.0)
        self._must_have_stood()
        if self.ticks is None:
            raise BadInput(
                f"the trial of {self.controller} is too short to time its steps; give "
                "it a second or more."
            )
        _hold(command_verdicts.too_slow(self.controller, self.ticks, seconds))

    def _must_have_stood(self, else_it: str = "cannot be judged") -> None:
        __tracebackhide__ = True
        self.keeps_its_contract()
        if self.result.failure is not None:
            raise AssertionError(
                f"{self.controller} {else_it}: it {self.result.failure} of "
                f"{self.setting.seconds:g} s."
            )

    def _legs_loss_j(self) -> float:
        __tracebackhide__ = True
        self._must_have_stood()
        loss = self.result.legs_joule_loss_j
        if loss is None:
            raise BadInput(f"the robot of {self.controller} has no legs to compare.")
        return loss


def _hold(sentence: str | None) -> None:
    """Fail with the sentence, if there is one."""
    __tracebackhide__ = True
    if sentence is not None:
        raise AssertionError(sentence)
