"""What cannot be is refused with a clear error, and nothing changes."""

from collections.abc import Callable
from typing import Any

import pytest

from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.not_granted import NotGranted
from controllers.resources.owner import Owner
from controllers.resources.words import Refusal
from models import BadInput, TestbedError, UnknownName
from tests.controllers.resources.stage import HEAD, Stage


def ask(*names: str, **terms: Any) -> Callable[[Stage], object]:
    return lambda stage: stage.ask("asker", *names, **terms)


def own(**habits: Any) -> Callable[[Stage], object]:
    return lambda stage: stage.owner(**habits)


CASES: dict[str, tuple[Callable[[Stage], object], str]] = {
    "nothing": (ask(), "asker asks for nothing; name at least one resource"),
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
    "nameless owner": (own(name=" "), "An owner has an empty name"),
    "owner of itself": (own(name="x", parent="x"), "'x' is its own parent"),
    "orphan": (own(name="x", parent="askr"), "Did you mean 'asker'"),
    "no life": (own(name="x", time_to_live_s=0.0), "time to live of owner 'x' is 0.0"),
    "past": (
        lambda stage: stage.ledger.advance(stage.tick - 1),
        "time does not go back",
    ),
    "freeze of unknown": (
        lambda stage: stage.ledger.freeze(["LHnad"], "hotEngine", stage.tick),
        "Did you mean 'LHand'",
    ),
    "second of a name": (
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
        "Resource 'Head' is not in",
    ),
}


@pytest.mark.requirement("RM-65")
@pytest.mark.parametrize("case", list(CASES))
def test_bad_input_is_refused_and_changes_nothing(case: str) -> None:
    stage = Stage()
    stage.owners("holder", "asker")
    stage.take("holder", "LHand")
    stage.ask("asker", "LHand")
    stage.until(0.1)
    before, owners = stage.picture(), len(stage.events)
    call, message = CASES[case]
    with pytest.raises(BadInput, match=message):
        call(stage)
    assert stage.picture() == before
    changes = {type(event).__name__ for event in stage.events[owners:]}
    assert changes <= {"Settled"}


def test_rules_without_sense_are_refused() -> None:
    for rules in ({"tick_s": 0.0}, {"retry_s": -0.5}, {"dead_tokens_kept": -1}):
        with pytest.raises(BadInput, match=next(iter(rules))):
            LedgerCfg(**rules)


def test_words_may_come_as_plain_strings_and_wrong_ones_are_named() -> None:
    stage = Stage(preemption="by_priority")
    stage.owner("holder", priority=1, holder_tie="yields")
    stage.owner("asker", priority=1, asker_tie="tie wins")
    kept = stage.take("holder", "TTS", "Head", mode="reserve", loss="partial")
    assert stage.may(kept, "HeadYaw") is Refusal.NOT_COVERED
    stage.take("asker", "TTS")
    assert stage.held_by("holder") == HEAD
    with pytest.raises(BadInput, match="Did you mean 'by_priority'"):
        LedgerCfg(preemption="by_prioity")  # type: ignore[arg-type]
    for wrong in ({"mode": "us"}, {"loss": "hole"}, {"asker_tie": "tie win"}):
        with pytest.raises(UnknownName):
            stage.ask("asker", "LHand", **wrong)
    assert stage.held_by("asker") == ("TTS",)


def test_a_ticket_gives_its_token_or_says_why_not() -> None:
    stage = Stage()
    stage.owners("holder", "asker")
    stage.take("holder", "TTS")
    waiting = stage.ask("asker", "TTS", timeout_s=1.0)
    with pytest.raises(TestbedError, match="request 2 of 'asker' still waits"):
        _ = waiting.token
    stage.until(1.0)
    with pytest.raises(NotGranted, match=r"timeout.*TTS: holder"):
        _ = waiting.token


def test_a_message_says_which_names_are_known() -> None:
    stage = Stage()
    stage.owner("asker")
    with pytest.raises(UnknownName) as error:
        stage.ask("asker", "wings")
    assert "Network" in str(error.value)
    assert "TTS" in error.value.known


def test_an_owner_is_not_given_habits_that_it_cannot_have() -> None:
    with pytest.raises(BadInput, match="timeout is inf s"):
        Owner(name="x", timeout_s=float("inf"))
