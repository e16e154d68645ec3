"""I-25 finds what is wrong: in traces made by hand, and in runtimes that are broken."""

from collections.abc import Callable
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import Event, Executed, Expired, Granted
from nao_testbed.controllers.arbitration.invariants import Checker
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.controllers.schemas import State, Waking
from nao_testbed.controllers.schemas.declaration import Kind
from nao_testbed.controllers.schemas.events import (
    SchemaStarted,
    SchemaStopped,
    StateChangedTo,
    Woken,
    Won,
)
from nao_testbed.controllers.schemas.invariants import WinnerDiscipline, check_schemas
from nao_testbed.controllers.schemas.runtime.deactivation import Deactivation
from nao_testbed.controllers.schemas.runtime.instance import Instance
from nao_testbed.models import Robot
from tests.controllers.schemas.schema_world import SchemaWorld, actuation, perceptive

TOKEN = TokenId(1, 1)


def woken(path: str, kind: Kind = Kind.ACTUATION) -> Event:
    parent = path.rpartition("/")[0] or None
    return Woken(tick=0, path=path, schema="x", kind=kind, parent=parent)


def to(path: str, *states: State) -> list[Event]:
    return [StateChangedTo(tick=0, path=path, state=state) for state in states]


def started(path: str) -> Event:
    return SchemaStarted(tick=0, path=path)


def stopped(path: str) -> Event:
    return SchemaStopped(tick=0, path=path, why="lost")


def wins(path: str) -> list[Event]:
    """Return all that happens until an instance acts."""
    up = (State.CHECKING, State.READY, State.WINNER)
    return [woken(path), *to(path, *up), started(path)]


def granted(owner: str, token: TokenId = TOKEN) -> Event:
    return Granted(
        tick=0, request=1, owner=owner, token=token, shares={}, missing=(), inside={}
    )


def written(token: TokenId = TOKEN) -> Event:
    return Executed(tick=0, command=1, token=token, resource="HeadYaw")


def expired(owner: str) -> Event:
    return Expired(tick=0, token=TOKEN, owner=owner, leaves=())


P = wins("p")
WRONG: dict[str, tuple[list[Event], str]] = {
    "two winners on a level": (
        [*P, *wins("p/a"), *wins("p/b")],
        "p/b and p/a are winners at once",
    ),
    "a write by one that is ready": (
        [*P, woken("p/a"), *to("p/a", State.CHECKING), granted("p/a"), written()],
        "p/a is checking and writes HeadYaw",
    ),
    "a write before it starts": (
        [
            woken("p"),
            *to("p", State.CHECKING, State.READY, State.WINNER),
            granted("p"),
            written(),
        ],
        "p is winner and writes HeadYaw",
    ),
    "a write with a dead token": (
        [*P, granted("p"), expired("p"), written()],
        "p writes HeadYaw with the dead 1.1",
    ),
    "a grant to one that is no winner": (
        [woken("p"), *to("p", State.CHECKING), granted("p")],
        "p is checking and is granted 1.1",
    ),
    "a loser that keeps its token": (
        [*P, *wins("p/a"), granted("p/a"), stopped("p/a"), *to("p/a", State.READY)],
        "p/a is ready and still has 1.1",
    ),
    "a loser that was not stopped": (
        [*P, *wins("p/a"), *to("p/a", State.READY)],
        "p/a is ready and was not stopped",
    ),
    "a loser whose children are awake": (
        [*P, *wins("p/a"), stopped("p"), *to("p", State.CHECKING)],
        "p is checking and p/a winner",
    ),
    "a victory while a sibling's child has a token": (
        [
            *P,
            *wins("p/a"),
            *wins("p/a/c"),
            granted("p/a/c"),
            woken("p/b"),
            Won(tick=0, path="p/b", parent="p"),
        ],
        "p/b wins; p/a/c still has 1.1",
    ),
    "waking by one that does not act": (
        [*P, stopped("p"), woken("p/a")],
        "p is winner and wakes p/a",
    ),
    "a victory without being ready": (
        [woken("p"), *to("p", State.CHECKING, State.WINNER)],
        "goes from checking to winner",
    ),
    "an actuation schema that wakes as a winner": (
        [woken("p"), *to("p", State.WINNER)],
        "p, actuation, goes from slept to winner",
    ),
    "a perceptive schema that checks": (
        [woken("p", Kind.PERCEPTIVE), *to("p", State.CHECKING)],
        "p, perceptive, goes from slept to checking",
    ),
    "a start without a victory": ([woken("p"), started("p")], "p is slept and starts"),
    "a stop without a start": ([woken("p"), stopped("p")], "and had not started"),
    "a state of nobody": (to("x", State.READY), "x was never woken"),
    "a child of nobody": ([woken("x/y")], "has the unknown parent x"),
    "waking one that is awake": ([*P, woken("p")], "p is winner and is woken"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.requirement("I-25")
def test_what_breaks_the_discipline_is_found(name: str) -> None:
    events, says = WRONG[name]
    found = [str(violation) for violation in check_schemas(events)]
    assert any(says in sentence for sentence in found), found


@pytest.mark.requirement("I-25")
def test_what_keeps_it_is_let_pass() -> None:
    """One wins after another; owners that are no schemas are of no concern."""
    events = [
        *P,
        *wins("p/a"),
        granted("p/a"),
        written(),
        stopped("p/a"),
        expired("p/a"),
        *to("p/a", State.READY),
        woken("p/b"),
        *to("p/b", State.CHECKING, State.READY),
        Won(tick=0, path="p/b", parent="p", over=("a",)),
        *to("p/b", State.WINNER),
        woken("p/eye", Kind.PERCEPTIVE),
        *to("p/eye", State.WINNER),
        granted("somebody", TokenId(1, 2)),
        written(TokenId(1, 2)),
    ]
    assert not check_schemas(events)


def _forget_to_give_up(endings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings._ledger, "give_up", lambda *_: None)


def _let_the_tree_live(endings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Instance, "awake_below", lambda self: iter(()))


def _promote_before_the_loser_stands_down(
    endings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endings, "stand_down", lambda *_: None)


BREAKS: list[Callable[[Any, pytest.MonkeyPatch], None]] = [
    _forget_to_give_up,
    _let_the_tree_live,
    _promote_before_the_loser_stands_down,
]


@pytest.mark.parametrize("breaks", BREAKS)
@pytest.mark.requirement("I-25")
def test_a_broken_runtime_is_found_out(
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
    checker = Checker((WinnerDiscipline,))
    stage.ledger.listeners.append(checker.see)
    children = (Waking(schema="second"), Waking(schema="first"), Waking(schema="eye"))
    rule = {"arbitration": "highest_order"}
    stage.begin("choose", name="p", parameters=rule, children=children).slot(2)
    assert not checker.finish()
    endings: Deactivation = stage.runtime.activation
    breaks(endings, monkeypatch)
    stage.slot(4)
    assert checker.finish()
