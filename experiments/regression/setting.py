"""The setting of a standing trial: what is wrong with the robot and its ground."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.closed_loop.trial import Push as Push  # noqa: PLC0414  # handed on
from experiments.closed_loop.trial import (
    TrialCfg,
    check_in_time,
    check_pushes,
)
from experiments.heat.experiment import HeatCfg, plan_trials
from models import BadInput, UnknownName, default_robot_folder
from sim.recording.run_meta import plain

LONGEST_S = 3600.0
"""A trial is part of a test suite; what lasts longer is an experiment."""


@dataclass(frozen=True, kw_only=True)
class StandingCfg:
    """A robot stands in one posture for a while; everything but its controller."""

    seconds: float = 20.0
    """Simulated time in s, at most an hour."""
    posture: str | None = None
    """Stored posture; None: the preset's, or PoseInit, or the robot's first."""
    preset: str | None = None
    """Robot of a preset, such as `document`; the other values go on top of it."""
    misalignment_deg: Mapping[str, float] = field(default_factory=dict)
    """Joint to calibration error in degrees: true angle minus measured angle."""
    start_degc: Mapping[str, float] = field(default_factory=dict)
    """Joint to start temperature in °C; the others start at 30 °C."""
    slope_deg: float = 0.0
    """The ground rises by this angle ahead of the robot."""
    friction: float = 0.7
    """Coulomb coefficient of soles on the ground."""
    pushes: tuple[Push, ...] = ()
    """What disturbs it."""
    seed: int = 0
    """Of the sensors' noise."""
    fast_forward: bool = True
    """Leave the physics alone while the torques are steady, as the heat experiment
    does. The controller is not asked meanwhile; False asks it all the time."""
    robot: Path = field(default_factory=default_robot_folder)
    """Folder of the robot."""

    def __post_init__(self) -> None:
        """Refuse a time without meaning; `plan` looks at the rest."""
        if not (np.isfinite(self.seconds) and 0.1 <= self.seconds <= LONGEST_S):
            raise BadInput(
                f"seconds is {self.seconds}; give 0.1 to {LONGEST_S:g} s of simulated "
                "time, such as 20.0."
            )

    def plan(self, controller: str = "fixed") -> TrialCfg:
        """Check every value and return the arm that a trial runs.

        Args:
            controller: as `controllers.make_controller` takes it.

        Raises:
            BadInput: a value cannot be used.
        """
        asked = HeatCfg(
            minutes=self.seconds / 60.0,
            posture=self.posture,
            controllers=(controller,),
            preset=self.preset,
            misalignment_deg=self.misalignment_deg,
            start_degc=self.start_degc,
            slope_deg=self.slope_deg,
            friction=self.friction,
            seed=self.seed,
            robot=self.robot,
            full=not self.fast_forward,
            exact=True,
        )
        (arm,) = plan_trials(asked)
        check_pushes(self.pushes, arm.load_robot())
        check_in_time(self.pushes, self.seconds)
        return dataclasses.replace(arm, duration_s=self.seconds, pushes=self.pushes)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it; the robot by the name of its folder."""
        row = plain(self)
        assert isinstance(row, dict)
        return row | {"robot": self.robot.name}

    @property
    def key(self) -> str:
        """Text that is the same for equal settings only."""
        return json.dumps(plain(self), sort_keys=True)


def make_setting(values: Mapping[str, Any], where: str) -> StandingCfg:
    """Make a setting of keywords, as a mark or a call gives them.

    Args:
        values: field of `StandingCfg` to value; `pushes` may be a single `Push`.
        where: what a message says they were given to.

    Raises:
        BadInput: a field is unknown, or its value of a wrong type.
    """
    known = [f.name for f in dataclasses.fields(StandingCfg)]
    for name in values:
        if name not in known:
            raise UnknownName("Setting", name, known, where)
    values = dict(values)
    for name in ("misalignment_deg", "start_degc"):
        values[name] = _numbers_by_joint(name, values.get(name, {}))
    for name in ("seconds", "slope_deg", "friction"):
        if name in values:
            values[name] = _number(name, values[name])
    values["pushes"] = _pushes(values.get("pushes", ()))
    if "robot" in values:
        values["robot"] = Path(values["robot"])
    return StandingCfg(**values)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise BadInput(f"{name} is {value!r}; give a number.")
    return float(value)


def _numbers_by_joint(name: str, value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise BadInput(
            f"{name} is {value!r}; give joints and numbers, as in "
            '{"LAnklePitch": 2.0}.'
        )
    return {str(joint): _number(f"{name} of {joint}", x) for joint, x in value.items()}


def _pushes(value: object) -> tuple[Push, ...]:
    pushes = (value,) if isinstance(value, Push) else value
    if not isinstance(pushes, tuple | list) or not all(
        isinstance(push, Push) for push in pushes
    ):
        raise BadInput(
            f"pushes is {value!r}; give one experiments.regression.Push or several."
        )
    return tuple(pushes)
