"""A trial of a sweep as plain data, and what comes of it.

A trial is run by `experiments.closed_loop.trial.run_trial`, in whatever process or on
whatever machine takes it: it holds no path but that of a robot folder which the user
gave.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from experiments.closed_loop.fast_forward import FastForwardCfg
from experiments.closed_loop.trial import Push, TrialCfg, check_in_time
from experiments.common.robot_setting import RobotSetting
from models import default_robot_folder
from sim.recording.run_meta import plain

Value: TypeAlias = float | str
"""Of a parameter in one trial."""

MISALIGNMENT, START, EFFORT_LIMIT = "misalignment_deg", "start_degc", "effort_limit_nm"
CURRENT_LIMIT = "current_limit_a"
JOINT_PARAMETERS = (MISALIGNMENT, START, EFFORT_LIMIT, CURRENT_LIMIT)
"""Parameters with a value for each joint: columns `misalignment_deg.LAnklePitch`."""
PAYLOAD = "payload_kg"
"""With a value for each place on a link: columns `payload_kg.torso@-0.08,0,0.05`."""
OBSTACLES, NO_OBSTACLE = "obstacles", "none"
"""With a box for each name: columns `obstacles.table`; `none` where it is not there."""
PERIOD = "control_period"
SETTING = (
    "posture",
    "slope_deg",
    "friction",
    "other_start_degc",
    "gear_friction",
    "ambient_degc",
    "heating",
    "protection",
    "servo",
    PERIOD,
)
"""Fields of `RobotSetting` that are columns, with one value a trial, in the table's
order."""
PUSH = "push"
PUSH_PARAMETERS = ("direction_deg", "size_n", "duration_s", "at_s", "link")
"""Of `Push.towards`: columns `push.size_n`, of a sweep that draws a push."""
SIZE, DIRECTION, QUIET = f"{PUSH}.size_n", f"{PUSH}.direction_deg", f"{PUSH}.quiet_s"
_PLAIN = re.compile(r"[^A-Za-z0-9.+-]+")


@dataclass(frozen=True, kw_only=True)
class SweepTrial:
    """One robot under one controller for some minutes."""

    number: int
    """Its place in the sweep, from 0."""
    robot: int
    """Which draw of the distributions it stands with, from 0."""
    parameters: Mapping[str, Value]
    """Every parameter by its column: `controller`, `misalignment_deg.LAnklePitch`."""
    seed: int
    """Of all sensor noise: the same for a robot under every controller."""
    pushes: tuple[Push, ...] = ()
    """Of every robot; beside them, the one that is drawn."""
    fast_forward: FastForwardCfg | None = field(default_factory=FastForwardCfg)
    """None steps the physics all the time."""
    robot_folder: Path | None = None
    """None: the NAO of whoever runs it."""
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
        return (Push.towards(**found),) if found else ()

    @property
    def setting(self) -> RobotSetting:
        """The robot that stands."""
        plain_ones: dict[str, Any] = {
            name: value if isinstance(value, str) else float(value)
            for name, value in self.parameters.items()
            if name in SETTING
        }
        return RobotSetting(
            robot=self.robot_folder or default_robot_folder(),
            misalignment_deg=self.by_name(MISALIGNMENT),
            start_degc=self.by_name(START),
            effort_limits=self.by_name(EFFORT_LIMIT),
            current_limit_a=self.by_name(CURRENT_LIMIT),
            payload_kg=self.by_name(PAYLOAD),
            obstacles={
                name.removeprefix(f"{OBSTACLES}."): str(box)
                for name, box in self.parameters.items()
                if name.startswith(f"{OBSTACLES}.") and box != NO_OBSTACLE
            },
            seed=self.seed,
            **plain_ones,
        )

    def by_name(self, parameter: str) -> dict[str, float]:
        """Return the values of one of `JOINT_PARAMETERS`, or of `PAYLOAD`, by name."""
        prefix = f"{parameter}."
        return {
            name.removeprefix(prefix): float(value)
            for name, value in self.parameters.items()
            if name.startswith(prefix)
        }


@dataclass(frozen=True, kw_only=True)
class TrialOutcome:
    """What came of a trial: a result, be it a fall, or why there is none."""

    result: Mapping[str, Any] | None
    """The fields of `TrialResult`, as JSON can hold them; None where it raised."""
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
