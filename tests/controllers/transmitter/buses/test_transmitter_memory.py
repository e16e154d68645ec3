"""Ended streams are removed from memory, for any end reason."""

import gc
from weakref import ref

import pytest

from nao_testbed.controllers.transmitter.receipt import GroupKey
from nao_testbed.models import Robot
from tests.controllers.transmitter.transmitter_world import (
    LEAVES,
    Clip,
    World,
    tag,
)

A, B = LEAVES[:2]
ENDS = ("done", "deleted", "rejected", "expired", "revoked", "interrupted", "paused")


@pytest.mark.parametrize("how", ENDS)
def test_ended_stream_is_removed_from_memory(nao: Robot, how: str) -> None:
    stage = World.of(nao)
    token = stage.take("greet", A, B)
    clips = [Clip(token, [leaf], 5) for leaf in (A, B)]
    points = 40 if how == "expired" else 50
    receipts = [stage.receive(clip, tag(points)) for clip in clips]
    stage.slots(2)
    if how == "deleted":
        stage.transmitter.delete_group(GroupKey(100, "hello"), stage.tick)
    elif how == "rejected":
        stage.receive(Clip(token, [A]), tag(100, "other"))
        stage.receive(Clip(token, [A]), tag(100, "other"))
    elif how == "revoked":
        stage.ledger.release(token, stage.tick)
    elif how in ("interrupted", "paused"):
        stage.transmitter.interrupt(Clip(token, [A], 2), stage.tick)
    if how == "paused":
        stage.slot()
        stage.transmitter.withdraw(receipts[0], stage.tick)
    kept = [ref(clip) for clip in clips]
    clips.clear()
    stage.slots(40)
    gc.collect()
    assert all(receipt.is_over for receipt in receipts)
    assert [clip() for clip in kept] == [None, None]
