"""All kinds of resources and owners on one robot."""

import pytest

from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.tokens import Refusal
from tests.controllers.arbitration.ledger_setup import (
    DENIED,
    GRANTED,
    LOST,
    LedgerSetup,
    end_of,
    node,
    outcome_of,
)


@pytest.fixture
def stage() -> LedgerSetup:
    """Return a standing robot with a walk, maps, and a hot hand."""
    stage = LedgerSetup()
    stage.owners("walk", "maps", "greeting")
    stage.owner("hand wave", parent="greeting")
    stage.ledger.set_state("State", "Stand", 0)
    stage.take("walk", "Legs", "Stand", policy=StopOnDemand())
    stage.take("maps", rates={"CPU": 70.0}, policy=PauseOnDemand())
    stage.ledger.freeze(["LHand"], "hotEngine", 0, effort_cap=0.2)
    return stage


@pytest.mark.requirement("RM-67", "RM-2")
def test_request_may_combine_resources_of_every_kind(stage: LedgerSetup) -> None:
    ticket = stage.ask(
        "greeting",
        *("TTS", "RArm", "Stand"),
        optional=("LArm", "LLeg", "Head"),
        rates={"CPU": 30.0, "Network": 5.5},
    )
    outcome = outcome_of(ticket)
    assert outcome.is_granted
    assert outcome.missing == ("LArm", "LLeg")
    assert outcome.obtained == (
        *("CPU", "HeadPitch", "HeadYaw", "Network"),
        *("RHand", "RShoulderPitch", "Stand", "TTS"),
    )
    assert stage.row("CPU").used_percent == 100.0
    shares = {"TTS": 100.0, "RHand": 100.0, "Stand": 0.0, "CPU": 30.0, "Network": 5.5}
    for name, percent in shares.items():
        own = next(h for h in stage.row(name).holders if h.owner == "greeting")
        assert own.share_percent == percent
    assert stage.told("walk", LOST) == stage.told("maps", LOST) == []


@pytest.mark.requirement("RM-67")
def test_each_kind_of_resource_can_block_a_request(stage: LedgerSetup) -> None:
    """Held, frozen, inactive state, or rate: each alone is enough."""
    stage.take("greeting", "TTS")
    stage.owner("show")
    stage.owner("logging")
    stage.take("logging", rates={"Network": 50.0})
    for need in ("TTS", "LHand", "Sit"):
        denied = stage.ask("show", need, "Head", timeout_s=0.0)
        assert end_of(denied)[0] is DENIED
        assert [blocker.resource for blocker in outcome_of(denied).blockers] == [need]
    full = stage.ask("show", "Head", rates={"Network": 51.0}, timeout_s=0.0)
    assert outcome_of(full).blockers[0].owners == ("logging",)
    assert end_of(stage.ask("show", "Head", timeout_s=0.0))[0] is GRANTED


@pytest.mark.requirement("RM-67", "RM-26")
def test_freeze_revokes_from_a_child_inside_a_reservation(
    stage: LedgerSetup,
) -> None:
    kept = stage.take("greeting", "RArm", "TTS")
    wave = stage.take("hand wave", "RArm")
    stage.ledger.freeze(["RHand"], "brokenArm", stage.tick)
    assert stage.may(wave, "RShoulderPitch") is Refusal.REVOKED
    assert stage.may(kept, "TTS") is Refusal.REVOKED
    assert stage.holders("TTS") == ()
    assert [n.by for n in stage.told("hand wave", LOST)] == ["brokenArm"]


@pytest.mark.requirement("RM-2")
def test_any_name_can_be_a_resource() -> None:
    things = ("motor", "sensor", "light", "speech", "microphone", "video", "ball")
    stage = LedgerSetup(node("root", *map(node, things)))
    stage.owners("A", "B")
    token = stage.take("A", *things)
    denied = [stage.ask("B", thing, timeout_s=0.0) for thing in things]
    assert not any(outcome_of(ticket).is_granted for ticket in denied)
    assert all(stage.may(token, thing) is None for thing in things)
