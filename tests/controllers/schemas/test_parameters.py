"""Modulation by name: converted where that is safe, else refused with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest

from nao_testbed.controllers.schemas import SchemaInfo
from nao_testbed.controllers.schemas.waking import changed_parameters, make_parameters
from nao_testbed.models import BadInput, UnknownName


class Side(StrEnum):
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, kw_only=True)
class Many:
    speed: float = 1.0
    count: int = 3
    loud: bool = False
    text: str = ""
    side: Side = Side.LEFT
    gait: Literal["slow", "fast"] = "slow"
    joints: tuple[str, ...] = ()
    span: tuple[float, float] = (0.0, 1.0)
    limit: float | None = None
    angles: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise BadInput(f"count is {self.count}; give 0 or more.")
        if self.text == "broken":
            raise ZeroDivisionError("a bug of the schema")


INFO = SchemaInfo(name="many", about="Of a test.", parameters=Many)


@pytest.mark.parametrize(
    ("name", "value", "becomes"),
    [
        ("speed", 2, 2.0),
        ("count", 4, 4),
        ("loud", True, True),
        ("text", "a", "a"),
        ("side", "right", Side.RIGHT),
        ("gait", "fast", "fast"),
        ("joints", ["HeadYaw"], ("HeadYaw",)),
        ("span", [0, 2], (0.0, 2.0)),
        ("limit", None, None),
        ("limit", 1, 1.0),
        ("angles", {"HeadYaw": 1}, {"HeadYaw": 1.0}),
    ],
)
@pytest.mark.requirement("JD-2")
def test_a_value_is_taken_as_its_type_has_it(
    name: str, value: Any, becomes: object
) -> None:
    made = getattr(make_parameters(INFO, {name: value}), name)
    assert made == becomes
    assert type(made) is type(becomes)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("speed", "2", "give a number"),
        ("speed", True, "give a number"),
        ("speed", float("nan"), "give a finite number"),
        ("count", 2.0, "give a whole number"),
        ("count", -1, "count is -1"),
        ("loud", 1, "give true or false"),
        ("text", 1, "give a text"),
        ("text", "broken", "'many': a bug of the schema"),
        ("side", "up", "give one of 'left', 'right'"),
        ("gait", "run", "give one of 'slow', 'fast'"),
        ("joints", "HeadYaw", "give a list"),
        ("joints", [1], "give a text"),
        ("span", [1.0], "give a list of 2"),
        ("span", [], "give a list of 2"),
        ("span", [1.0, 2.0, 3.0], "give a list of 2"),
        ("limit", "x", "give a number"),
        ("angles", {"HeadYaw": "x"}, "give a number"),
        ("angles", 3, "give names with values"),
    ],
)
@pytest.mark.requirement("JD-2")
def test_a_wrong_value_is_refused_with_the_reason(
    name: str, value: Any, says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        make_parameters(INFO, {name: value})


def test_an_unknown_parameter_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'speed'"):
        make_parameters(INFO, {"sped": 1.0})


def test_a_change_leaves_the_others_as_they_are() -> None:
    present = make_parameters(INFO, {"speed": 2.0, "loud": True})
    changed = changed_parameters(INFO, present, {"speed": 3.0})
    assert (changed.speed, changed.loud) == (3.0, True)
    assert changed_parameters(INFO, present, {}) is present
