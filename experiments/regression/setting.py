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
"""A trial is part of a test suite; what lasts longer is an experiment."""


@dataclass(frozen=True, kw_only=True)
class StandingCfg(RobotSetting):
    """Trial of a robot in one posture, without its controller."""

    seconds: float = 20.0
    """Simulated time in s, at most an hour."""
    preset: str | None = None
    """Robot of a preset, such as `document`; the other values go on top of it."""
    pushes: tuple[Push, ...] = ()
    """What disturbs it."""
    fast_forward: bool = True
    """Skip the physics while the torques are steady, as in the heat experiment. The
    controller is not called then; False calls it in every cycle."""

    def __post_init__(self) -> None:
        """Refuse a time without meaning; `plan` looks at the rest."""
        if not (np.isfinite(self.seconds) and 0.1 <= self.seconds <= LONGEST_S):
            raise BadInput(
                f"seconds is {self.seconds}; give 0.1 to {LONGEST_S:g} s of simulated "
                "time, such as 20.0."
            )

    def plan(self, controller: str = "fixed") -> TrialCfg:
        """Check every value and return the trial configuration.

        Args:
            controller: as `controllers.make_controller` takes it.

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
        """Return it as JSON data: the basic keys, and values other than the defaults.

        The robot is named by its folder.
        """
        row, usual = plain(self), plain(StandingCfg())
        assert isinstance(row, dict)
        assert isinstance(usual, dict)
        said = {k: v for k, v in row.items() if k in _ALWAYS_SAID or v != usual[k]}
        return said | {"robot": self.robot.name}

    @property
    def key(self) -> str:
        """Text that is the same for equal settings only."""
        return json.dumps(plain(self), sort_keys=True)


_ALWAYS_SAID = {
    *("seconds", "posture", "preset", "misalignment_deg", "start_degc", "slope_deg"),
    *("friction", "pushes", "seed", "fast_forward", "robot"),
}
"""In the description of a golden run."""


def make_setting(values: Mapping[str, Any], where: str) -> StandingCfg:
    """Make a setting of keywords, as a mark or a call gives them.

    Args:
        values: field of `StandingCfg` to value; `pushes` may be a single `Push`.
        where: what a message says they were given to.

    Raises:
        BadInput: a field is unknown, or its value of a wrong type.
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
                continue  # `plan` says which words there are
            accepted = _EXAMPLES.get(name) or message_of(first)
            raise BadInput(f"{name} is {values[name]!r}; {accepted}.") from None
    return StandingCfg(**given)


_BY_JOINT = 'give joints and numbers, as in {"LAnklePitch": 2.0}'
_EXAMPLES = {
    **dict.fromkeys(
        ("misalignment_deg", "start_degc", "effort_limits", "current_limit_a"),
        _BY_JOINT,
    ),
    "payload_kg": 'give links and numbers, as in {"torso": 2.0}',
    "obstacles": f'give names and boxes, as in {{"table": "{EXAMPLE}"}}',
    "pushes": "give one experiments.regression.Push or several",
}
"""What a message says of a field that is no plain value."""


def _plain(value: Any) -> Any:
    """Return a value without numpy's numbers; one push, or a list of them, as several.

    A setting is strict: no text is a number, no number a truth.
    """
    if isinstance(value, np.number):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Push):
        return (value,)
    return tuple(value) if isinstance(value, list) else value
