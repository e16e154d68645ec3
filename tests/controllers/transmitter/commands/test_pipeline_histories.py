"""Random histories of orders, withdrawals and rivals: laws of the whole pipeline."""

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import event_to_line
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.commands.order import PlacedOrder
from nao_testbed.controllers.transmitter.commands.timing import (
    CommandControllerCfg,
    Enable,
)
from nao_testbed.controllers.transmitter.events import OrderEnded, OrderReceived, Sent
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.models import Robot
from nao_testbed.models.library import Unit
from nao_testbed.testing import TraceChecker
from tests.controllers.transmitter.commands.command_world import ENTRIES, Line

COMMANDS = sorted(ENTRIES["commands"])
OWNERS = {
    "body": ("All motors", "TTS"),
    "head": ("Head", "Leds"),
    "all": ("All motors", "Leds", "TTS"),
    "apart": ("All motors", "Leds", "TTS"),
}
"""The last owner has a token per unit."""
AT_REST = 1500
"""Slots after which every order has ended."""


@dataclass(frozen=True)
class Step:
    """An action, and the slots that follow it."""

    what: str
    name: str
    number: int
    slots: int


STEPS = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(
            [
                "submit",
                "submit",
                "interrupt",
                "submit",
                "play",
                "withdraw",
                "delete",
                "rival",
                "tell",
            ]
        ),
        name=st.sampled_from(COMMANDS),
        number=st.integers(0, 5),
        slots=st.sampled_from([0, 0, 1, 3, 10, 40, 150, 290, 300, 310]),
    ),
    min_size=1,
    max_size=9,
)


def take(line: Line, owner: str) -> Token | dict[Unit, Token]:
    """Return the owner's token, or one per unit."""
    if owner != "apart":
        return line.take(owner, *OWNERS[owner])
    units = zip(Unit, OWNERS[owner], strict=True)
    return {unit: line.take(owner, name) for unit, name in units}


def play(
    nao: Robot, owner: str, enable: Enable, steps: list[Step]
) -> tuple[Line, list[PlacedOrder]]:
    """Run a history until every order has ended; return line and orders."""
    cfg = CommandControllerCfg(enable=enable, early_s=0.3)
    line = Line.of(nao, cfg=cfg, is_seen=True)
    checker = TraceChecker()
    for event in line.events:
        checker.see(event)
    line.ledger.listeners.append(checker.see)
    tokens = take(line, owner)
    handles: list[PlacedOrder] = []
    for i, step in enumerate(steps):
        controller, tick = line.controller, line.tick
        some = handles[step.number % len(handles)] if handles else None
        if step.what in {"submit", "play"}:
            prepares = step.what == "submit"
            handle = controller.submit(step.name, tokens, tick, prepares=prepares)
            handles.append(handle)
        elif step.what == "interrupt":
            name = ("nod", "blink", "leap", "bow")[step.number % 4]
            token = tokens
            if isinstance(token, dict):
                token = token[Unit.LIGHT if name == "blink" else Unit.MOTION]
            handles.append(controller.interrupt(name, token, tick))
        elif step.what == "withdraw" and some is not None:
            controller.withdraw(some, tick)
            assert some.is_over
        elif step.what == "delete" and some is not None and some.group is not None:
            controller.delete_group(some.group, tick)
        elif step.what == "rival":
            names = ("Legs", "Head", "Leds", "TTS", "Right arm", "Left arm")
            line.take(f"rival {i}", names[step.number], priority=1 + i)
        elif step.what == "tell":
            posture = ("Sit", "Stand", "Crouch", None)[step.number % 4]
            if posture is None:
                controller.belief.set_posture(None)
            else:
                line.see(posture)
        line.slots(step.slots)
    line.slots(AT_REST)
    assert not checker.finish()
    return line, handles


@pytest.mark.slow
@pytest.mark.requirement("SY-1", "SY-18", "SY-23", "I-23", "I-24", "I-26")
@settings(max_examples=40)
@given(
    owner=st.sampled_from(sorted(OWNERS)),
    enable=st.sampled_from(list(Enable)),
    steps=STEPS,
)
def test_random_histories_satisfy_the_laws(
    nao: Robot, owner: str, enable: Enable, steps: list[Step]
) -> None:
    line, handles = play(nao, owner, enable, steps)
    last = {x.stream: x.tick for x in line.told(Sent)}
    for handle in handles:
        assert handle.is_over, "nothing waits for ever"
        assert handle.reason is not None
        receipts = handle.streams.values()
        if handle.group is not None:
            assert len({r.started_tick for r in receipts}) <= 1, "together or not"
        if handle.reason is EndReason.DONE:
            assert len(receipts) == len(handle.units)
            assert all(r.sent == r.items for r in receipts)
        if handle.follows is not None and handle.dead_slots is not None:
            assert handle.dead_slots >= 0, "not before the motion that it follows"
            assert last[handle.follows.number] == handle.follows.ended_tick
    begun = Counter(x.order for x in line.told(OrderReceived) if x.refused is None)
    assert begun == Counter(x.order for x in line.told(OrderEnded))


@settings(max_examples=5)
@given(steps=STEPS)
def test_same_history_gives_the_same_trace(nao: Robot, steps: list[Step]) -> None:
    lines = []
    for _ in range(2):
        line, _ = play(nao, "all", Enable.EXPECTED, steps)
        lines.append([event_to_line(event) for event in line.events])
    assert lines[0] == lines[1]
