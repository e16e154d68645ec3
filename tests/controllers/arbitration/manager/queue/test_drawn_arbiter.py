"""Example of the arbiter patent: owners A, B and C, their tokens and commands."""

from collections.abc import Iterator

import pytest

from nao_testbed.controllers.arbitration.events import Event, Notified
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import (
    AskerTie,
    HolderTie,
    Loss,
    NoticeKind,
    Refusal,
    Token,
    TokenMint,
    six_digits,
)
from tests.controllers.arbitration.ledger_setup import (
    BY_PRIORITY,
    DENIED,
    GRANTED,
    node,
    outcome_of,
)

TREE = ResourceTree(
    node("robot", *map(node, ("left arm", "head", "vision", "speaker", "base")))
)


class DrawnArbiter:
    """Start of the example: C and B have tokens; A has not requested yet.

    The random halves are fixed; in the drawing C has 002 and B has 003.
    """

    def __init__(self, loss: Loss) -> None:
        def draw() -> Iterator[int]:
            yield from (432, 526, 933, 7, 8)

        self.events: list[Event] = []
        self.ledger = Ledger(
            TREE,
            LedgerCfg(preemption=BY_PRIORITY),
            mint=TokenMint(1, first=2, draw=draw().__next__),
            listeners=[self.events.append],
        )
        self.tick = 0
        self.loss = loss
        for owner, priority in (("A", 9), ("B", 2), ("C", 5), ("D", 9), ("E", 1)):
            self.ledger.add_owner(Owner(name=owner, priority=priority), self.tick)
        self.c = self.ask("C", "left arm").token
        self.b = self.ask("B", "head", "vision", "speaker").token

    def ask(
        self,
        owner: str,
        *resources: str,
        optional: tuple[str, ...] = (),
        tie: AskerTie = AskerTie.LOSES,
    ) -> Ticket:
        self.tick += 1
        request = Request(
            owner=owner,
            resources=resources,
            optional=optional,
            timeout_s=0.0,
            loss=self.loss,
            asker_tie=tie,
            holder_tie=HolderTie.KEEPS,
        )
        return self.ledger.request(request, self.tick)

    def release(self, token: Token, *names: str) -> None:
        self.tick += 1
        self.ledger.release(token, self.tick, names or None)

    def covers(self, token: Token) -> set[str]:
        """Return the leaves that a token may command."""
        leaves = self.ledger.tree.all_leaves
        return {leaf for leaf in leaves if self.ledger.authorise(token, leaf) is None}

    def told(self, owner: str, kind: NoticeKind) -> list[Notified]:
        return [
            event
            for event in self.events
            if isinstance(event, Notified)
            and (event.owner, event.kind) == (owner, kind)
        ]


@pytest.fixture
def drawn() -> DrawnArbiter:
    return DrawnArbiter(Loss.WHOLE)


@pytest.fixture
def a(drawn: DrawnArbiter) -> Token:
    """Return the token of A."""
    return drawn.ask("A", "head", "vision", "base").token


@pytest.mark.requirement("AR-7", "AR-29")
def test_start_has_the_tokens_of_the_drawing(drawn: DrawnArbiter) -> None:
    assert (six_digits(drawn.c), six_digits(drawn.b)) == ("432002", "526003")
    assert drawn.covers(drawn.c) == {"left arm"}
    assert drawn.covers(drawn.b) == {"head", "vision", "speaker"}


@pytest.mark.requirement("AR-14", "AR-18", "AR-19", "AR-29", "AR-30")
def test_higher_priority_is_granted_its_three_resources(
    drawn: DrawnArbiter, a: Token
) -> None:
    assert six_digits(a) == "933004"
    assert drawn.covers(a) == {"head", "vision", "base"}
    assert drawn.ledger.authorise(drawn.b, "speaker") is Refusal.REVOKED
    assert drawn.covers(drawn.c) == {"left arm"}
    (notice,) = drawn.told("B", NoticeKind.LOST)
    assert (notice.leaves, notice.freed) == (("head", "vision"), ("speaker",))


@pytest.mark.requirement("AR-9", "AR-10", "AR-11", "AR-12", "AR-31")
def test_commands_are_authorised_by_token(drawn: DrawnArbiter, a: Token) -> None:
    never_issued = a._replace(sequence=5)
    assert six_digits(never_issued) == "933005"
    commands = [
        (a, "head", None),
        (drawn.b, "head", Refusal.REVOKED),
        (drawn.c, "left arm", None),
        (drawn.c, "head", Refusal.NOT_COVERED),
        (None, "head", Refusal.NO_TOKEN),
        (never_issued, "head", Refusal.UNKNOWN),
    ]
    for token, resource, answer in commands:
        assert drawn.ledger.authorise(token, resource) is answer


@pytest.mark.requirement("AR-15", "AR-21", "AR-22")
@pytest.mark.parametrize("tie", list(AskerTie))
def test_equal_priority_is_denied_and_changes_nothing(
    drawn: DrawnArbiter, a: Token, tie: AskerTie
) -> None:
    denied = outcome_of(drawn.ask("D", "head", tie=tie))
    assert denied.kind is DENIED
    assert [blocker.owners for blocker in denied.blockers] == [("A",)]
    assert drawn.covers(a) == {"head", "vision", "base"}


@pytest.mark.requirement("AR-16")
def test_partial_grant_gives_the_free_names_and_lists_others(
    drawn: DrawnArbiter, a: Token
) -> None:
    outcome = outcome_of(drawn.ask("E", optional=("left arm", "speaker")))
    assert outcome.token is not None
    assert six_digits(outcome.token) == "007005"
    assert outcome.obtained == ("speaker",)
    assert outcome.missing == ("left arm",)


@pytest.mark.requirement("AR-24", "AR-25", "AR-26", "AR-32")
def test_release_of_base_and_then_of_all(drawn: DrawnArbiter, a: Token) -> None:
    drawn.ask("E", optional=("left arm", "speaker"))
    drawn.release(a, "base")
    assert drawn.covers(a) == {"head", "vision"}
    assert drawn.told("B", NoticeKind.AVAILABLE) == []
    drawn.release(a)
    assert drawn.covers(a) == set()
    again = drawn.ask("B", "head", "vision")
    (notice,) = drawn.told("B", NoticeKind.AVAILABLE)
    assert notice.leaves == ("head", "vision")
    assert outcome_of(again).kind is GRANTED
    assert six_digits(again.token) == "008006"


@pytest.mark.requirement("AR-20")
def test_partial_loss_keeps_the_speaker() -> None:
    drawn = DrawnArbiter(Loss.PARTIAL)
    assert outcome_of(drawn.ask("A", "head", "vision", "base")).is_granted
    assert drawn.covers(drawn.b) == {"speaker"}
    assert drawn.ledger.authorise(drawn.b, "speaker") is None
    assert drawn.ledger.authorise(drawn.b, "head") is Refusal.NOT_COVERED
    (notice,) = drawn.told("B", NoticeKind.LOST)
    assert (notice.leaves, notice.freed) == (("head", "vision"), ())
