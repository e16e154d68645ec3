"""Waiting times of a trace with the blocking owners, and their figure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.experiments.common.drawing.style import FigureView
from nao_testbed.experiments.scenarios.timeline.waits import (
    STILL_WAITS,
    find_waits,
    held_times,
    leaf_uses,
    waits_figure,
)
from nao_testbed.models import load_robot

TREE = ResourceTree(load_robot().resources)
TICK_S = 0.01
END = 800


def head_queue(patience_s: float = 1.0) -> list[Event]:
    """a holds the head for 3 s; b and c wait, c times out; a hot motor freezes it.

    At the end d requests the head, which the body itself holds.
    """
    events: list[Event] = []
    ledger = Ledger(TREE, LedgerCfg(), listeners=[events.append])
    ledger.add_virtual_owner("hotEngine", 0)
    for name in ("a", "b", "c", "d"):
        ledger.add_owner(Owner(name=name), 0)
    a = ledger.request(Request(owner="a", resources=("Head",)), 0)
    ledger.request(Request(owner="b", resources=("Head",)), 50)
    ledger.request(Request(owner="c", resources=("Head",), timeout_s=patience_s), 70)
    ledger.advance(300)
    assert a.outcome is not None
    assert a.outcome.token is not None
    ledger.release(a.outcome.token, 300)
    ledger.freeze(("HeadYaw",), "hotEngine", 500)
    ledger.request(Request(owner="d", resources=("HeadYaw",), timeout_s=60.0), 600)
    ledger.advance(END)
    return events


def test_each_request_has_its_wait_outcome_and_blockers() -> None:
    waits = find_waits(head_queue(), TICK_S, END)
    seen = [(w.owner, w.asked_s, w.waited_s, w.outcome, w.behind) for w in waits]
    assert seen == [
        ("a", 0.0, 0.0, "granted", ()),
        ("b", 0.5, pytest.approx(2.5), "granted", ("a",)),
        ("c", pytest.approx(0.7), pytest.approx(1.0), "timed_out", ("a",)),
        ("d", 6.0, pytest.approx(2.0), STILL_WAITS, ("hotEngine",)),
    ]
    assert waits[0].leaves == ("HeadPitch", "HeadYaw")


@given(patience=st.integers(1, 229))
def test_timed_out_request_waited_as_long_as_its_patience(patience: int) -> None:
    waits = find_waits(head_queue(patience * TICK_S), TICK_S, END)
    (c,) = (wait for wait in waits if wait.owner == "c")
    assert c.outcome == "timed_out"
    assert c.waited_s == pytest.approx(patience * TICK_S)


def test_token_is_held_until_it_is_released_or_revoked() -> None:
    events = head_queue()
    held = held_times(events, TICK_S, END)
    waits = {wait.owner: wait.request for wait in find_waits(events, TICK_S, END)}
    assert held == {waits["a"]: pytest.approx(3.0), waits["b"]: pytest.approx(2.0)}


def test_leaf_use_counts_owners_but_not_the_body() -> None:
    uses = {use.leaf: use for use in leaf_uses(head_queue(), TICK_S, END)}
    assert uses["HeadYaw"].held_s == pytest.approx(5.0)
    assert uses["HeadYaw"].share == pytest.approx(5.0 / 8.0)
    assert uses["HeadYaw"].wanted_s == pytest.approx(2.5 + 1.0 + 2.0)
    only_b = {u.leaf: u for u in leaf_uses(head_queue(), TICK_S, END, ["b"])}
    assert only_b["HeadPitch"].held_s == pytest.approx(2.0)
    assert only_b["HeadPitch"].wanted_s == pytest.approx(2.5)


def test_trace_without_requests_has_no_waits() -> None:
    assert find_waits([], TICK_S, END) == ()
    assert leaf_uses([], TICK_S, END) == ()
    assert held_times([], TICK_S, END) == {}
    assert FigureView(waits_figure([], {}, "nobody"))._repr_png_()


def test_figure_shows_the_same_numbers() -> None:
    events = head_queue()
    waits = find_waits(events, TICK_S, END)
    figure = waits_figure(waits, held_times(events, TICK_S, END), "a finding")
    (axes,) = figure.axes
    words = [text.get_text() for text in axes.texts]
    assert words == [
        "at once, held for 3.0 s",
        "waited 2.5 s behind a, held for 2.0 s",
        "timed out after 1.0 s behind a",
        "still waiting after 2.0 s behind hotEngine",
    ]
    assert FigureView(figure)._repr_png_().startswith(b"\x89PNG")
