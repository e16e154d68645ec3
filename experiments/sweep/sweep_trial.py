"""A trial of a sweep as plain data, and what comes of it.

A trial is run by `experiments.closed_loop.trial.run_trial`, in whatever process or on
whatever machine takes it: it holds no path but that of a robot folder which the user
gave.
"""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import Push, TrialCfg, check_in_time
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.models import BadInput, default_robot_folder
from nao_testbed.sim.recording.run_meta import plain

Value: TypeAlias = float | str
"""Of a parameter in one trial."""

MISALIGNMENT, EFFORT_LIMIT = "misalignment_deg", "effort_limit_nm"
PAYLOAD, OBSTACLES, NO_OBSTACLE = "payload_kg", "obstacles", "none"
BY_JOINT = {
    MISALIGNMENT: MISALIGNMENT,
    "start_degc": "start_degc",
    EFFORT_LIMIT: "effort_limits",
    "current_limit_a": "current_limit_a",
}
"""Parameters with a value for each joint, columns `misalignment_deg.LAnklePitch`, to
the fields of `RobotSetting`."""
BY_NAME = {**BY_JOINT, PAYLOAD: PAYLOAD, OBSTACLES: OBSTACLES}
"""And those with one for each place on a link, `payload_kg.torso@-0.08,0,0.05`, or each
box, `obstacles.table`; `none` where that is not there."""
PERIOD = "control_period"
SETTING = (
    "posture",
    "slope_deg",
    "friction",
    "other_start_degc",
    "gear_friction",
    "gear_play_deg",
    "ambient_degc",
    "engine",
    "heating",
    "protection",
    "servo",
    PERIOD,
)
"""Fields of `RobotSetting` with one value a trial, in the order of the table."""
PUSH = "push"
AGAIN = "again_s"
PUSH_PARAMETERS = ("direction_deg", "size_n", "duration_s", "at_s", "link", AGAIN)
"""Of `pushes_towards`: columns `push.size_n`, of a sweep that draws a push."""
SIZE, DIRECTION, QUIET = f"{PUSH}.size_n", f"{PUSH}.direction_deg", f"{PUSH}.quiet_s"
_PLAIN = re.compile(r"[^A-Za-z0-9.+-]+")


@dataclass(frozen=True, kw_only=True)
class SweepTrial:
    """One robot under one controller for some minutes."""

    number: int
    """Its place in the sweep, from 0."""
    robot: int
    """Number of the robot, which selects its draws, from 0."""
    parameters: Mapping[str, Value]
    """Every parameter by its column: `controller`, `misalignment_deg.LAnklePitch`."""
    seed: int
    """Of all sensor noise: the same for a robot under every controller."""
    pushes: tuple[Push, ...] = ()
    """Pushes of every robot, besides the drawn one."""
    fast_forward: FastForwardCfg | None = field(default_factory=FastForwardCfg)
    """None steps the physics all the time."""
    robot_folder: Path | None = None
    """None: the NAO of the installation that runs it."""
    robot_digest: str = ""
    """Of the data of the robot that was meant; see `experiments.sweep.trial_store`."""

    @property
    def controller(self) -> str:
        """Its name as `controllers.make_controller` takes it."""
        return str(self.parameters["controller"])

    @cached_property
    def key(self) -> str:
        """Name of its file: readable, with a hash of everything that defines it."""
        plain_data = plain(dataclasses.replace(self, number=0, robot_folder=None))
        text = json.dumps(plain_data, sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        controller = _PLAIN.sub("-", self.controller)[:30]
        return f"{self.robot:05d}-{controller}-{digest}"

    def trial_cfg(self) -> TrialCfg:
        """Return what `run_trial` takes.

        Raises:
            BadInput: a value is out of its range.
        """
        quiet_s = self.parameters.get(QUIET)
        duration_s = 60.0 * float(self.parameters["minutes"])
        drawn = self._drawn_push()
        check_in_time(drawn, duration_s)
        return TrialCfg.of(
            self.setting,
            controller=self.controller,
            posture=str(self.parameters["posture"]),
            duration_s=duration_s,
            fast_forward=self.fast_forward,
            pushes=(*self.pushes, *drawn),
            quiet_s=None if quiet_s is None else float(quiet_s),
        )

    def _drawn_push(self) -> tuple[Push, ...]:
        found: dict[str, Any] = {
            name: self.parameters[f"{PUSH}.{name}"]
            for name in PUSH_PARAMETERS
            if f"{PUSH}.{name}" in self.parameters
        }
        return pushes_towards(**found) if found else ()

    @property
    def setting(self) -> RobotSetting:
        """Setting of the robot."""
        given: dict[str, Any] = {
            name: value for name, value in self.parameters.items() if name in SETTING
        }
        given |= {field: self.by_name(name) for name, field in BY_NAME.items()}
        return RobotSetting(
            robot=self.robot_folder or default_robot_folder(), seed=self.seed, **given
        )

    def by_name(self, parameter: str) -> dict[str, Any]:
        """Return the values of one of `BY_NAME`, by joint, link or obstacle."""
        prefix = f"{parameter}."
        return {
            name.removeprefix(prefix): value
            for name, value in self.parameters.items()
            if name.startswith(prefix) and value != NO_OBSTACLE
        }


def pushes_towards(again_s: float = 0.0, **push: Any) -> tuple[Push, ...]:
    """Return a push, and the second one that is like it.

    Args:
        again_s: time in s from the end of the first to the second; 0: there is none.
        **push: as `Push.towards` takes it.

    Raises:
        BadInput: a value is out of its range.
    """
    first = Push.towards(**push)
    if not 0.0 <= again_s < math.inf:
        raise BadInput(
            f"push again_s is {again_s:g} s; give the time to a second push, or 0: no "
            "second push."
        )
    if again_s == 0.0:
        return (first,)
    return first, dataclasses.replace(first, at_s=first.end_s + again_s)


@dataclass(frozen=True, kw_only=True)
class TrialOutcome:
    """Outcome of a trial: a result, which may be a fall, or the reason for none."""

    result: TrialResult | None
    """None where it raised."""
    error: str | None = None
    """Why there is no result; such a trial is run again by the next sweep."""
    wall_s: float | None = None
    """What it took its worker, with all that comes before the physics."""

    @classmethod
    def lost(cls, reason: str) -> "TrialOutcome":
        """Return the outcome of a trial that no worker could finish."""
        return cls(result=None, error=reason)


def robot_number_of(key: str) -> int | None:
    """Return the robot's number in the name of a trial's file; None: it is none."""
    number, *_ = key.partition("-")
    return int(number) if number.isdecimal() else None
