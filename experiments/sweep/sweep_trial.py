"""Trial of a sweep and its outcome, as plain data.

A trial is run by `experiments.closed_loop.trial.run_trial` in any process on any
machine. Its only file path is that of a robot folder given by the user.
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
"""Value of a parameter in one trial."""

MISALIGNMENT, EFFORT_LIMIT = "misalignment_deg", "effort_limit_nm"
PAYLOAD, OBSTACLES, NO_OBSTACLE = "payload_kg", "obstacles", "none"
BY_JOINT = {
    MISALIGNMENT: MISALIGNMENT,
    "start_degc": "start_degc",
    EFFORT_LIMIT: "effort_limits",
    "current_limit_a": "current_limit_a",
}
"""Fields of `RobotSetting`, by parameter with one value per joint (columns such as
`misalignment_deg.LAnklePitch`)."""
BY_NAME = {**BY_JOINT, PAYLOAD: PAYLOAD, OBSTACLES: OBSTACLES}
"""Parameters by joint, and those with one value per place on a link
(`payload_kg.torso@-0.08,0,0.05`) or per box (`obstacles.table`); `none` for an absent
one."""
PERIOD = "control_period"
DELAYS = ("observation_delay", "action_delay")
"""Columns only if the sweep sets them."""
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
    *DELAYS,
)
"""Fields of `RobotSetting` with one value per trial, in the order of the table."""
PUSH = "push"
AGAIN = "again_s"
PUSH_PARAMETERS = ("direction_deg", "size_n", "duration_s", "at_s", "link", AGAIN)
"""Parameters of `pushes_towards`, with columns such as `push.size_n`, for a sweep with
a sampled push."""
SIZE, DIRECTION, QUIET = f"{PUSH}.size_n", f"{PUSH}.direction_deg", f"{PUSH}.quiet_s"
_PLAIN = re.compile(r"[^A-Za-z0-9.+-]+")


@dataclass(frozen=True, kw_only=True)
class SweepTrial:
    """Trial of one robot under one controller."""

    number: int
    """Index in the sweep, from 0."""
    robot: int
    """Number of the robot, which selects its draws, from 0."""
    parameters: Mapping[str, Value]
    """Column, such as `controller` or `misalignment_deg.LAnklePitch`, to value."""
    seed: int
    """Seed of all sensor noise, the same for a robot under every controller."""
    pushes: tuple[Push, ...] = ()
    """Pushes of every robot, besides the sampled one."""
    fast_forward: FastForwardCfg | None = field(default_factory=FastForwardCfg)
    """Settings of fast-forward; None: continuous physics."""
    robot_folder: Path | None = None
    """Folder of the robot; None: the NAO of the installation that runs the trial."""
    robot_digest: str = ""
    """Digest of the data of the intended robot; see `experiments.sweep.trial_store`."""
    policy_digest: str = ""
    """Digest of the files of all policies; empty: no policy."""

    @property
    def controller(self) -> str:
        """Controller in the format of `controllers.make_controller`."""
        return str(self.parameters["controller"])

    @cached_property
    def key(self) -> str:
        """Name of its file: readable, with a hash of everything that defines it."""
        plain_data: Any = plain(dataclasses.replace(self, number=0, robot_folder=None))
        if not self.policy_digest:  # as in earlier sweeps
            del plain_data["policy_digest"]
        text = json.dumps(plain_data, sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        controller = _PLAIN.sub("-", self.controller)[:30]
        return f"{self.robot:05d}-{controller}-{digest}"

    def trial_cfg(self) -> TrialCfg:
        """Return the configuration for `run_trial`.

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
        """Return the values of a parameter of `BY_NAME` by joint, link or obstacle."""
        prefix = f"{parameter}."
        return {
            name.removeprefix(prefix): value
            for name, value in self.parameters.items()
            if name.startswith(prefix) and value != NO_OBSTACLE
        }


def pushes_towards(again_s: float = 0.0, **push: Any) -> tuple[Push, ...]:
    """Return a push, and optionally a second, equal one.

    Args:
        again_s: time in s from the end of the first to the second; 0: no second push.
        **push: arguments of `Push.towards`.

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
    """Result; None after an error."""
    error: str | None = None
    """Reason for a missing result; the next run of the sweep repeats such a trial."""
    wall_s: float | None = None
    """Wall time in s of its worker, including the preparation."""

    @classmethod
    def lost(cls, reason: str) -> "TrialOutcome":
        """Return the outcome of a trial that no worker could finish."""
        return cls(result=None, error=reason)


def robot_number_of(key: str) -> int | None:
    """Return the robot's number in the name of a trial's file, or None."""
    number, *_ = key.partition("-")
    return int(number) if number.isdecimal() else None
