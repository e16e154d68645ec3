"""Streams of a group start in one slot or not at all."""

from typing import Any

import pytest

from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.models import BadInput
from tests.controllers.transmitter.transmitter_world import (
    LIGHT,
    MOTION,
    SOUND,
    Clip,
    World,
    tag,
)


@pytest.mark.requirement("SY-8", "SY-9", "SY-12")
def test_group_of_20_10_and_70_starts_in_one_slot(
    stage: World,
) -> None:
    token = stage.take("greet", "HeadYaw", "LElbowYaw", "RElbowYaw")
    clips = [
        Clip(token, ["RElbowYaw"], unit=SOUND),
        Clip(token, ["LElbowYaw"], unit=LIGHT),
        Clip(token, ["HeadYaw"], unit=MOTION),
    ]
    receipts = []
    for clip, points in zip(clips, (70, 10, 20), strict=True):
        receipts.append(stage.receive(clip, tag(points)))
        stage.slot()
    stage.slots(3)
    order = {SOUND: 1, LIGHT: 2, MOTION: 3}  # numbers, in order of arrival
    expected = [(order[unit], k) for k in range(3) for unit in (MOTION, LIGHT, SOUND)]
    assert stage.sent() == expected
    assert [r.started_tick for r in receipts] == [3, 3, 3]
    assert [r.ended_tick for r in receipts] == [5, 5, 5]
    assert all(r.reason is EndReason.DONE for r in receipts)
    assert stage.target("HeadYaw") == clips[2].angle(2)


@pytest.mark.parametrize("tick", [True, 1.0, "1"])
@pytest.mark.parametrize("call", ["step", "settle"])
def test_tick_that_is_not_an_int_is_rejected(
    stage: World, call: str, tick: object
) -> None:
    stage.slot()
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        getattr(stage.transmitter, call)(tick)


@pytest.mark.parametrize("tick", [True, 1.0, "1"])
def test_tick_of_withdraw_and_delete_must_be_an_int(stage: World, tick: Any) -> None:
    stage.slot()
    token = stage.take("greet", "HeadYaw")
    receipt = stage.receive(Clip(token, ["HeadYaw"], unit=MOTION), None)
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        stage.transmitter.withdraw(receipt, tick)
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        stage.transmitter.delete_group(tag(20).key, tick)
