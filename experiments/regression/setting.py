"""Setting of a standing trial: faults of the robot and its ground."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError

from nao_testbed.experiments.closed_loop.trial import Push as Push  # noqa: PLC0414  # handed on
from nao_testbed.experiments.closed_loop.trial import (
    TrialCfg,
    check_in_time,
    check_pushes,
)
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.files.csv_tables import message_of
from nao_testbed.sim.engine.obstacles import EXAMPLE
from nao_testbed.sim.recording.run_meta import plain

LONGEST_S = 3600.0
"""Longest trial in s; longer ones are experiments, not tests."""


@dataclass(frozen=True, kw_only=True)
class StandingCfg(RobotSetting):
    """Trial of a robot in one posture, without its controller."""

    seconds: float = 20.0
    """Simulated time in s, at most an hour."""
    preset: str | None = None
    """Base settings, such as `document`, overridden by the other values."""
    pushes: tuple[Push, ...] = ()
    """Pushes of the robot."""
    fast_forward: bool = True
    """True: skip the physics while the torques are steady, as in the heat experiment;
    the controller is then not called. False: call it in every cycle."""

    def __post_init__(self) -> None:
        """Validate the time; `plan` checks the other fields."""
        if not (np.isfinite(self.seconds) and 0.1 <= self.seconds <= LONGEST_S):
            raise BadInput(
                f"seconds is {self.seconds}; give 0.1 to {LONGEST_S:g} s of simulated "
                "time, such as 20.0."
            )

    def plan(self, controller: str = "fixed") -> TrialCfg:
        """Check every value and return the trial configuration.

        Args:
            controller: controller in the format of `controllers.make_controller`.

        Raises:
            BadInput: a value cannot be used.
        """
        shared = {f.name: getattr(self, f.name) for f in fields(RobotSetting)}
        asked = HeatCfg(
            **shared,
            minutes=self.seconds / 60.0,
            controllers=(controller,),
            preset=self.preset,
            full=not self.fast_forward,
            exact=True,
        )
        (trial,) = plan_trials(asked)
        check_pushes(self.pushes, trial.load_robot())
        check_in_time(self.pushes, self.seconds)
        return dataclasses.replace(trial, duration_s=self.seconds, pushes=self.pushes)

    def as_json(self) -> dict[str, Any]:
        """Return the data for JSON: the basic keys, and values other than the defaults.

        The robot is given by the name of its folder.
        """
        row, usual = plain(self), plain(StandingCfg())
        assert isinstance(row, dict)
        assert isinstance(usual, dict)
        said = {k: v for k, v in row.items() if k in _ALWAYS_SAID or v != usual[k]}
        return said | {"robot": self.robot.name}

    @property
    def key(self) -> str:
        """Text that is equal only for equal settings."""
        return json.dumps(plain(self), sort_keys=True)


_ALWAYS_SAID = {
    *("seconds", "posture", "preset", "misalignment_deg", "start_degc", "slope_deg"),
    *("friction", "pushes", "seed", "fast_forward", "robot"),
}
"""Keys that the description of a golden run always has."""


def make_setting(values: Mapping[str, Any], where: str) -> StandingCfg:
    """Create a setting from the keywords of a mark or a call.

    Args:
        values: field of `StandingCfg` to value; `pushes` may be a single `Push`.
        where: source of the values, for messages.

    Raises:
        BadInput: a field is unknown, or its value has a wrong type.
    """
    known = get_type_hints(StandingCfg)
    for name in values:
        if name not in known:
            raise UnknownName("Setting", name, list(known), where)
    given = {name: _plain(value) for name, value in values.items()}
    if "robot" in given:
        given["robot"] = Path(given["robot"])
    for name, value in given.items():
        try:
            given[name] = TypeAdapter(known[name]).validate_python(value, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "literal_error":
                continue  # `plan` checks the accepted words
            accepted = _EXAMPLES.get(name) or message_of(first)
            raise BadInput(f"{name} is {values[name]!r}; {accepted}.") from None
    return StandingCfg(**given)


_BY_JOINT = 'give joints and numbers, as in {"JOINT": 2.0}'
_EXAMPLES = {
    **dict.fromkeys(
        ("misalignment_deg", "start_degc", "effort_limits", "current_limit_a"),
        _BY_JOINT,
    ),
    "payload_kg": 'give links and numbers, as in {"LINK": 2.0}',
    "obstacles": f'give names and boxes, as in {{"table": "{EXAMPLE}"}}',
    "pushes": "give one experiments.regression.Push or several",
}
"""Field that is not a plain value to an example for messages."""


def _plain(value: Any) -> Any:
    """Convert numpy numbers to plain ones, and pushes to a tuple.

    A setting is strict: texts are not converted to numbers, nor numbers to booleans.
    """
    if isinstance(value, np.number):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Push):
        return (value,)
    return tuple(value) if isinstance(value, list) else value
