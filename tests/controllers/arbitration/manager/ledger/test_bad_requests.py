"""Invalid requests raise a clear error and change nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.policies import (
    PauseOnDemand,
    StopOnDemand,
    make_policy,
)
from nao_testbed.controllers.arbitration.requests import (
    NotGranted,
    Owner,
    Request,
    Ticket,
)
from nao_testbed.controllers.arbitration.tokens import Token, TokenId, TokenMint
from nao_testbed.models import BadInput, TestbedError, UnknownName
from nao_testbed.models.resources import ResourceKind
from tests.controllers.arbitration.ledger_setup import (
    HEAD,
    LedgerSetup,
    node,
    outcome_of,
    states,
)


def ask(*names: str, **terms: Any) -> Callable[[LedgerSetup], object]:
    return lambda stage: stage.ask("asker", *names, **terms)


def own(**habits: Any) -> Callable[[LedgerSetup], object]:
    return lambda stage: stage.owner(**habits)


HELD = Token(1, 1, 5000)
"""Token of the holder in each case."""
REQUEST = Request(owner="holder", resources=("TTS",))


def may(token: Any, leaf: str) -> Callable[[LedgerSetup], object]:
    """Submit a command with any object as token."""
    return lambda stage: stage.may(token, leaf)


class Equal(tuple[int, int, int]):
    """Looks like a token and equals everything."""

    epoch, sequence, secret = 1, 1, 5000

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = tuple.__hash__


EQUAL: Any = Equal((1, 1, 5000))
ONE: Any = 1.0
LIST: Any = []


def give_back(token: Any) -> Callable[[LedgerSetup], object]:
    return lambda stage: stage.release(token)


def request_of(**terms: Any) -> Callable[[LedgerSetup], object]:
    return lambda stage: Request(owner="asker", **terms)


CASES: dict[str, tuple[Callable[[LedgerSetup], object], str]] = {
    "nothing": (ask(), "asker requests nothing; name at least one resource"),
    "twice": (ask("TTS", "TTS"), "asker names 'TTS' twice"),
    "twice, once optional": (ask("TTS", optional=("TTS",)), "names 'TTS' twice"),
    "unknown": (ask("HeadYav"), "Did you mean 'HeadYaw'"),
    "unknown, optional": (ask("TTS", optional=("HeadYav",)), "'HeadYaw'"),
    "unknown, rate": (ask(rates={"CPUs": 1.0}), "Did you mean 'CPU'"),
    "a set of states": (ask("State"), "'State' cannot be taken as a whole"),
    "rate of all": (ask(rates={"Motors": 5.0}), "'Motors' has no rates"),
    "101 %": (ask(rates={"CPU": 101.0}), "rate of 'CPU' is 101.0 %"),
    "-1 s": (ask("TTS", timeout_s=-1.0), "timeout is -1.0 s; give 0 to try once"),
    "priority 10": (ask("TTS", priority=10), "priority is 10; .* from 0 .* to 9"),
    "blank owner name": (own(name=" "), "name of an owner is ' ': it is blank"),
    "owner of itself": (own(name="x", parent="x"), "'x' is its own parent"),
    "orphan": (own(name="x", parent="askr"), "Did you mean 'asker'"),
    "no time to live": (
        own(name="x", time_to_live_s=0.0),
        "time to live of owner 'x' is 0.0",
    ),
    "past": (
        lambda stage: stage.ledger.advance(stage.tick - 1),
        "a tick must not decrease",
    ),
    "freeze of unknown": (
        lambda stage: stage.ledger.freeze(["LHnad"], "hotEngine", stage.tick),
        "Did you mean 'LHand'",
    ),
    "duplicate resource": (
        lambda stage: stage.ledger.add_resource("TTS", "Head", stage.tick),
        "TTS",
    ),
    "child of unknown": (
        lambda stage: stage.ledger.add_resource("ball", "rot", stage.tick),
        "Did you mean 'root'",
    ),
    "removal of a composite": (
        lambda stage: stage.ledger.remove_resource("Arms", stage.tick),
        "Arms",
    ),
    "command on a composite": (
        lambda stage: stage.may(None, "Head"),
        "'Head' is a composite; name one of its leaves: HeadPitch, HeadYaw",
    ),
    "cap of a composite": (
        lambda stage: stage.ledger.effort_cap("Head"),
        "'Head' is a composite",
    ),
    "command on unknown": (
        lambda stage: stage.may(None, "HeadYav"),
        "Did you mean 'HeadYaw'",
    ),
    "one text for names": (
        request_of(resources="TTS"),
        r"resources is the text 'TTS'; give a tuple of names, here \('TTS',\)",
    ),
    "one text for optional names": (
        request_of(optional="TTS"),
        "optional is the text 'TTS'; give a tuple",
    ),
    "release of one text": (
        lambda stage: stage.ledger.release(HELD, stage.tick, "LHand"),
        "names is the text 'LHand'; give a tuple",
    ),
    "freeze of one text": (
        lambda stage: stage.ledger.freeze("LHand", "hotEngine", stage.tick),
        "names is the text 'LHand'; give a tuple",
    ),
    "thaw of one text": (
        lambda stage: stage.ledger.thaw("hotEngine", stage.tick, "LHand"),
        "names is the text 'LHand'; give a tuple",
    ),
    "token's text": (
        may("1-1-00", "LHand"),
        "a token is of type str; give the Token of a grant",
    ),
    "token's public part": (
        may(HELD.id, "LHand"),
        "a token is of type TokenId",
    ),
    "public part of no token": (
        may(TokenId(1, 99), "LHand"),
        "a token is of type TokenId",
    ),
    "tuple for a token": (
        may((1, 1, 5000), "LHand"),
        "a token is of type tuple",
    ),
    "object equal to every token": (
        may(EQUAL, "LHand"),
        "a token is of type Equal",
    ),
    "release of such an object": (give_back(EQUAL), "of type Equal"),
    "follow of such an object": (
        lambda stage: stage.ledger.follow("holder", EQUAL),
        "of type Equal",
    ),
    "token with a secret equal to every number": (
        may(Token(1, 1, EQUAL), "LHand"),
        "a token is of type Token of int, int, Equal, not of three whole numbers",
    ),
    "token with a float": (
        may(Token(1, ONE, HELD.secret), "LHand"),
        "a token is of type Token of int, float, int",
    ),
    "token with a list": (
        may(Token(1, LIST, HELD.secret), "LHand"),
        "a token is of type Token of int, list, int",
    ),
    "token with a boolean epoch": (
        may(Token(True, 1, HELD.secret), "LHand"),
        "a token is of type Token of bool, int, int",
    ),
    "ticket instead of a token": (
        give_back(Ticket(1, REQUEST)),
        "a token is of type Ticket; .* such as ticket.token",
    ),
    "policy by a wrong name": (own(name="x", policy="pasue"), "Did you mean 'pause'"),
    "no policy": (ask("TTS", policy=3), "policy is 3; give an object with `name`"),
    "policy class": (own(name="x", policy=StopOnDemand), "such as StopOnDemand"),
}


@pytest.mark.requirement("RM-65")
@pytest.mark.parametrize("case", list(CASES))
def test_bad_input_is_rejected_and_changes_nothing(case: str) -> None:
    stage = LedgerSetup()
    stage.owners("holder", "asker")
    stage.take("holder", "LHand")
    stage.ask("asker", "LHand")
    stage.until(0.1)
    assert stage.may(HELD, "LHand") is None
    before, owners = stage.picture(), len(stage.events)
    call, message = CASES[case]
    with pytest.raises(BadInput, match=message):
        call(stage)
    assert stage.picture() == before
    changes = {type(event).__name__ for event in stage.events[owners:]}
    assert changes <= {"Settled"}


def test_invalid_ledger_settings_are_rejected() -> None:
    for rules in ({"tick_s": 0.0}, {"retry_s": -0.5}, {"dead_tokens_kept": -1}):
        with pytest.raises(BadInput, match=next(iter(rules))):
            LedgerCfg(**rules)


def test_enum_values_may_be_strings_and_wrong_ones_are_named() -> None:
    stage = LedgerSetup(preemption="by_priority")
    stage.owner("holder", priority=1, holder_tie="yields")
    stage.owner("asker", priority=1, asker_tie="tie wins")
    kept = stage.take("holder", "TTS", "Head", loss="partial")
    assert stage.may(kept, "HeadYaw") is None
    stage.take("asker", "TTS")
    assert stage.held_by("holder") == HEAD
    with pytest.raises(BadInput, match="Did you mean 'by_priority'"):
        LedgerCfg(preemption="by_prioity")  # type: ignore[arg-type]
    for wrong in ({"loss": "hole"}, {"asker_tie": "tie win"}):
        with pytest.raises(UnknownName):
            stage.ask("asker", "LHand", **wrong)
    assert stage.held_by("asker") == ("TTS",)


def test_ticket_returns_its_token_or_raises_the_reason() -> None:
    stage = LedgerSetup()
    stage.owners("holder", "asker")
    stage.take("holder", "TTS")
    waiting = stage.ask("asker", "TTS", timeout_s=1.0)
    with pytest.raises(TestbedError, match="request 2 of 'asker' still waits"):
        _ = waiting.token
    stage.until(1.0)
    with pytest.raises(NotGranted, match=r"timeout.*TTS: holder"):
        _ = waiting.token


def test_unknown_name_error_lists_known_names() -> None:
    stage = LedgerSetup()
    stage.owner("asker")
    with pytest.raises(UnknownName) as error:
        stage.ask("asker", "wings")
    assert "Network" in str(error.value)
    assert "TTS" in error.value.known


def test_owner_with_infinite_timeout_is_rejected() -> None:
    with pytest.raises(BadInput, match="timeout is inf s"):
        Owner(name="x", timeout_s=float("inf"))


def test_policy_can_be_given_by_name() -> None:
    stage = LedgerSetup()
    stage.owner("dance", policy="stop")
    stage.owner("wave", policy="stop")
    stage.owner("asker")
    stage.take("dance", "LHand")
    stage.take("wave", "RHand", policy="lock")
    assert outcome_of(stage.ask("asker", "LHand", timeout_s=0.0)).is_granted
    assert not outcome_of(stage.ask("asker", "RHand", timeout_s=0.0)).is_granted
    assert make_policy("pause", within_s=3.0) == PauseOnDemand(within_s=3.0)
    with pytest.raises(UnknownName, match=r"'withn_s'.*Did you mean 'within_s'"):
        make_policy("pause", withn_s=3.0)


@pytest.mark.requirement("AR-16")
def test_outcome_names_the_blockers_of_optional_names() -> None:
    stage = LedgerSetup()
    stage.owners("holder", "asker")
    stage.take("holder", "LHand")
    stage.ledger.freeze(["TTS"], "loudspeaker", stage.tick)
    tried = stage.ask("asker", optional=("TTS", "LArm"), timeout_s=0.0)
    outcome = outcome_of(tried)
    assert outcome.missing == ("LArm", "TTS")
    assert [(b.resource, b.owners) for b in outcome.blockers] == [
        ("LHand", ("holder",)),
        ("TTS", ("loudspeaker",)),
    ]
    with pytest.raises(NotGranted, match="blocked by: LHand: holder; TTS: loudspeaker"):
        _ = tried.token


def test_ledger_and_mint_must_have_the_same_epoch() -> None:
    tree = LedgerSetup().ledger.tree
    assert Ledger(tree, mint=TokenMint(7)).epoch == 7
    assert Ledger(tree, epoch=7, mint=TokenMint(7)).epoch == 7
    assert (Ledger(tree).epoch, Ledger(tree, epoch=7).epoch) == (1, 7)
    with pytest.raises(BadInput, match="epoch is 7, but the mint's tokens are of 1"):
        Ledger(tree, epoch=7, mint=TokenMint(1))
    for wrong in (-1, 0.5, True, 10**18):
        with pytest.raises(BadInput, match="epoch of tokens is"):
            TokenMint(wrong)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="first sequence number of tokens is"):
            TokenMint(1, first=wrong)  # type: ignore[arg-type]
    token = TokenMint(10**18 - 1, first=10**18 - 1).issue()
    assert Token.from_text(token.as_text()) == token


def test_group_without_states_is_an_ordinary_leaf() -> None:
    stage = LedgerSetup(node("root", states("Weather", "rain"), node("TTS")))
    stage.ledger.set_state("Weather", "rain", 0)
    stage.ledger.set_state("Weather", None, 0)
    stage.ledger.remove_resource("rain", 0)
    with pytest.raises(UnknownName, match="Set of states 'Weather' is not in"):
        stage.ledger.active_state("Weather")
    stage.owner("asker")
    stage.take("asker", "Weather")  # now an ordinary leaf
    stage.ledger.add_resource("snow", "TTS", 0, kind=ResourceKind.STATE)
    assert stage.ledger.active_state("TTS") is None
