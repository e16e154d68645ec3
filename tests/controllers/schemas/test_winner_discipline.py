"""Runtimes with a defect violate the rule of winners (I-25) in the trace check."""

from collections.abc import Callable
from typing import Any

import pytest

from nao_testbed.controllers.schemas import Activation
from nao_testbed.controllers.schemas.runtime.deactivation import Deactivation
from nao_testbed.controllers.schemas.runtime.instance import Instance
from nao_testbed.models import Robot
from tests.controllers.schemas.schema_world import SchemaWorld, actuation, perceptive


def _skip_give_up(endings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings._ledger, "give_up", lambda *_: None)


def _keep_descendants_awake(endings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Instance, "awake_below", lambda self: iter(()))


def _skip_demotion(endings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "demote", lambda *_: None)


BREAKS: list[Callable[[Any, pytest.MonkeyPatch], None]] = [
    _skip_give_up,
    _keep_descendants_awake,
    _skip_demotion,
]


@pytest.mark.parametrize("breaks", BREAKS)
@pytest.mark.requirement("I-25")
def test_defect_of_the_runtime_is_detected(
    nao: Robot,
    monkeypatch: pytest.MonkeyPatch,
    breaks: Callable[[Any, pytest.MonkeyPatch], None],
) -> None:
    def turn(schema: Any) -> None:
        schema.submit("HeadYaw", 0.1)

    first = actuation("first", start=lambda s: s.wake("leaf"))
    second = actuation("second", needs=("HeadYaw",), ready=lambda s: s.tick >= 3)
    leaf = actuation("leaf", needs=("HeadYaw",), iterate=turn)
    stage = SchemaWorld.of(nao, first, second, leaf, perceptive("eye"))
    children = (
        Activation(schema="second"),
        Activation(schema="first"),
        Activation(schema="eye"),
    )
    rule = {"arbitration": "highest_order"}
    stage.begin("choose", name="p", parameters=rule, children=children).slot(2)
    assert not stage.world.checker.finish()
    endings: Deactivation = stage.runtime.lifecycle
    breaks(endings, monkeypatch)
    stage.slot(4)
    assert "winner" in {found.rule for found in stage.world.checker.finish()}
