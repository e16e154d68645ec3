"""Parameters by name: converted where that is safe, otherwise rejected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import pytest

from nao_testbed.controllers.schemas import SchemaInfo
from nao_testbed.controllers.schemas.activation import (
    changed_parameters,
    make_parameters,
)
from nao_testbed.models import BadInput
from tests.messages import Messages, each


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
def test_value_is_converted_to_its_declared_type(
    name: str, value: Any, becomes: object
) -> None:
    made = getattr(make_parameters(INFO, {name: value}), name)
    assert made == becomes
    assert type(made) is type(becomes)


def test_change_of_one_parameter_keeps_the_others() -> None:
    present = make_parameters(INFO, {"speed": 2.0, "loud": True})
    changed = changed_parameters(INFO, present, {"speed": 3.0})
    assert (changed.speed, changed.loud) == (3.0, True)
    assert changed_parameters(INFO, present, {}) is present


@pytest.mark.requirement("JD-2")
def test_messages(messages: Messages) -> None:
    messages(
        invalid_value=each(
            lambda **given: make_parameters(INFO, given),
            speed=["2", True, float("nan")],
            count=[2.0, -1],
            loud=[1],
            text=[1, "broken"],
            side=["up"],
            gait=["run"],
            joints=["HeadYaw", [1]],
            span=[[1.0], [], [1.0, 2.0, 3.0]],
            limit=["x"],
            angles=[{"HeadYaw": "x"}, 3],
        ),
        unknown_parameter=lambda: make_parameters(INFO, {"sped": 1.0}),
    )
