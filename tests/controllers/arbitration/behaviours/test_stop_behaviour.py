"""A behaviour that is stopped has nothing and waits for nothing, paused or not."""

from dataclasses import replace
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.behaviours import (
    Behaviour,
    RunningBehaviour,
    start_behaviour,
    stop_behaviour,
)
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.requests import Ticket
from nao_testbed.controllers.arbitration.tokens import (
    NoticeKind,
    OutcomeKind,
    Refusal,
    Token,
    Why,
)
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import (
    BY_PRIORITY,
    LEGS,
    LedgerSetup,
    end_of,
    why,
)

DANCE = Behaviour(name="dance", essential=("LArm", "TTS"), policy=PauseOnDemand())
GREET = Behaviour(
    name="Greet",
    parts=(
        Behaviour(name="Say", essential=("TTS",)),
        Behaviour(name="Wave", essential=("RArm",)),
    ),
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("taker")
    return stage


def dancing(stage: LedgerSetup) -> tuple[RunningBehaviour, LedgerFront]:
    front = LedgerFront(stage.ledger)
    return start_behaviour(DANCE, front), front


def nobody_has_anything(stage: LedgerSetup) -> bool:
    return not any(row.holders or row.waiters for row in stage.picture())


@pytest.mark.requirement("RM-37")
def test_a_behaviour_knows_its_token_after_each_pause(stage: LedgerSetup) -> None:
    running, _ = dancing(stage)
    seen = [running.present_token(stage.ledger)]
    for turn in range(3):
        stage.at(1.0 + turn)
        taken = stage.take("taker", "TTS")
        assert running.present_token(stage.ledger) is None
        assert not running.has_all_it_had(stage.ledger)
        stage.release(taken)
        seen.append(running.present_token(stage.ledger))
        assert running.has_all_it_had(stage.ledger)
    assert running.token == seen[0]
    assert len({token for token in seen if token}) == 4
    assert stage.may(seen[-1], "LHand") is None
    assert stage.may(running.token, "LHand") is Refusal.REVOKED


@pytest.mark.requirement("RM-37")
def test_a_behaviour_that_came_back_from_a_pause_can_be_stopped(
    stage: LedgerSetup,
) -> None:
    running, front = dancing(stage)
    stage.release(stage.take("taker", "TTS"))
    token = running.present_token(stage.ledger)
    assert stage.held_by("dance") == ("LHand", "LShoulderPitch", "TTS")
    stop_behaviour(running, front)
    assert nobody_has_anything(stage)
    assert stage.may(token, "LHand") is Refusal.RELEASED
    stop_behaviour(running, front)  # again: nothing happens
    assert nobody_has_anything(stage)


@pytest.mark.requirement("RM-37")
def test_a_behaviour_that_is_stopped_while_paused_does_not_come_back(
    stage: LedgerSetup,
) -> None:
    running, front = dancing(stage)
    taken = stage.take("taker", "TTS")
    assert stage.waited_for_by("dance") == ("LHand", "LShoulderPitch", "TTS")
    stop_behaviour(running, front)
    assert stage.waited_for_by("dance") == ()
    stage.release(taken)
    stage.until(10.0)
    assert nobody_has_anything(stage)
    assert running.present_token(stage.ledger) is None


@pytest.mark.requirement("RM-37")
def test_a_paused_holder_finds_its_ticket_by_the_number_in_its_notice(
    stage: LedgerSetup,
) -> None:
    stage.owner("dance", policy=PauseOnDemand())
    first = stage.take("dance", "TTS")
    taken = stage.take("taker", "TTS")
    (notice,) = stage.told("dance", NoticeKind.LOST)
    assert notice.request is not None
    ticket = stage.ledger.ticket(notice.request)
    assert ticket.outcome is None
    assert stage.ledger.follow("dance", first).ticket is ticket
    stage.at(2.0)
    stage.release(taken)
    assert end_of(ticket) == (OutcomeKind.GRANTED, 2.0)
    assert stage.ledger.follow("dance", first).token == ticket.token
    with pytest.raises(UnknownName, match="Request '3' is not in those that wait"):
        stage.ledger.ticket(3)
    with pytest.raises(UnknownName, match="Did you mean 'dance'"):
        stage.ledger.follow("dace", first)
    forged = Token(first.epoch, first.sequence, first.secret + 1)
    assert stage.ledger.follow("dance", forged).is_over
    assert stage.ledger.follow("taker", first).is_over


@pytest.mark.requirement("RM-37")
def test_every_token_of_a_reservation_leads_to_the_newest(stage: LedgerSetup) -> None:
    """The first, the newest, and each between them, over four pauses."""
    stage.owner("dance", policy=PauseOnDemand())
    tokens = [stage.take("dance", "TTS")]
    for _ in range(4):
        taken = stage.take("taker", "TTS")
        (ticket,) = {stage.ledger.follow("dance", token).ticket for token in tokens}
        assert ticket is not None
        stage.release(taken)
        (token,) = {stage.ledger.follow("dance", token).token for token in tokens}
        assert token is not None
        assert token == ticket.token
        tokens.append(token)
    assert len(set(tokens)) == 5
    stage.release(tokens[-1])
    assert all(stage.ledger.follow("dance", token).is_over for token in tokens)


def test_two_reservations_of_an_owner_are_not_mixed_up(stage: LedgerSetup) -> None:
    stage.owner("dance", policy=PauseOnDemand())
    speech, head = stage.take("dance", "TTS"), stage.take("dance", "Head")
    for _ in range(2):
        stage.release(stage.take("taker", "TTS"))
    assert stage.ledger.follow("dance", head).token == head
    assert stage.ledger.follow("dance", speech).token not in {speech, head, None}


def test_what_it_asked_for_on_its_way_goes_too_and_all_in_one_step(
    stage: LedgerSetup,
) -> None:
    front = LedgerFront(stage.ledger)
    parts = tuple(Behaviour(name=n, essential=(n,)) for n in ("LHand", "RHand"))
    running = start_behaviour(
        Behaviour(name="juggle", parts=parts, needs_all_parts=True), front
    )
    stage.take("juggle", "TTS")
    stage.take("taker", "Microphone")
    late = stage.ask("LHand", "Microphone", timeout_s=9.0)
    next_one = stage.ask("taker", "RHand", timeout_s=9.0)
    stop_behaviour(running, front)
    assert why(late) is Why.WITHDRAWN
    assert end_of(next_one) == (OutcomeKind.GRANTED, 0.0)
    assert stage.held_by("taker") == ("Microphone", "RHand")
    assert {stage.held_by(name) for name in ("juggle", "LHand", "RHand")} == {()}


def test_a_start_that_fails_leaves_nothing_of_a_part_that_was_paused(
    stage: LedgerSetup,
) -> None:
    """The second part waits in vain; the first one paused meanwhile."""
    stage.take("taker", "Microphone")
    first = Behaviour(name="first", essential=("TTS",), policy=PauseOnDemand())
    second = Behaviour(name="second", essential=("LHand",), timeout_s=1.0)
    whole = Behaviour(name="whole", parts=(first, second), needs_all_parts=False)
    stage.take("taker", "LHand")

    def go_on() -> None:
        if not stage.held_by("taker").count("TTS"):
            stage.take("taker", "TTS")
            raise KeyboardInterrupt
        raise AssertionError("it was interrupted before")

    with pytest.raises(KeyboardInterrupt):
        start_behaviour(whole, LedgerFront(stage.ledger, go_on))
    assert {stage.waited_for_by(one.name) for one in whole.walk()} == {()}
    assert {stage.held_by(one.name) for one in whole.walk()} == {()}


def test_owners_that_give_up_are_known_and_several(stage: LedgerSetup) -> None:
    before = stage.picture()
    with pytest.raises(BadInput, match="owners is the text 'taker'"):
        stage.ledger.give_up("taker", 0)
    with pytest.raises(UnknownName, match="'takr'"):
        stage.ledger.give_up(["taker", "takr"], 0)
    assert stage.picture() == before


def test_a_sign_of_life_is_in_giving_back(stage: LedgerSetup) -> None:
    stage.owner("brief", time_to_live_s=1.0)
    stage.take("brief", "TTS")
    stage.until(0.5)
    stage.ledger.give_up(["brief"], stage.tick)
    stage.until(1.2)
    assert stage.ledger.next_due() == 150


def test_a_part_that_is_not_there_is_named(stage: LedgerSetup) -> None:
    running = start_behaviour(GREET, LedgerFront(stage.ledger))
    with pytest.raises(UnknownName, match="Did you mean 'Wave'"):
        running.part("Wav")
    assert isinstance(running.part("Wave").token, Token)


def test_a_ticket_is_what_waits(stage: LedgerSetup) -> None:
    stage.take("taker", "TTS")
    stage.owner("asker")
    ticket = stage.ask("asker", "TTS", timeout_s=1.0)
    assert stage.ledger.ticket(ticket.number) is ticket
    assert isinstance(ticket, Ticket)
    stage.until(1.0)
    with pytest.raises(UnknownName, match="Known: none"):
        stage.ledger.ticket(ticket.number)


@pytest.mark.requirement("RM-8", "RM-14")
def test_two_behaviours_of_one_name_are_not_one_owner(stage: LedgerSetup) -> None:
    front = LedgerFront(stage.ledger)
    alices = start_behaviour(Behaviour(name="wave", essential=("LHand",)), front)
    bobs = Behaviour(name="wave", essential=("RHand",), policy=PauseOnDemand())
    before, defaults = stage.picture(), stage.ledger.holdings.owner("wave").defaults
    for _ in range(2):
        with pytest.raises(BadInput, match="acts by the name 'wave' and holds LHand"):
            start_behaviour(bobs, front)
        assert stage.picture() == before
        with pytest.raises(BadInput, match="a name of its own"):
            stage.owner("wave", policy=PauseOnDemand())
        assert stage.ledger.holdings.owner("wave").defaults is defaults
    with pytest.raises(BadInput, match="'wave' and holds LHand"):
        start_behaviour(Behaviour(name="play", parts=(bobs,)), front)
    assert stage.held_by("wave") == ("LHand",)
    stop_behaviour(alices, front)
    again = start_behaviour(bobs, front)
    stop_behaviour(alices, front)  # of Bob's nothing
    assert stage.held_by("wave") == ("RHand",)
    stop_behaviour(again, front)
    assert nobody_has_anything(stage)


def test_a_name_is_free_again_when_its_behaviour_has_ended(stage: LedgerSetup) -> None:
    """It was stopped, dropped, could not start, or lost all that it had for good."""
    front = LedgerFront(stage.ledger)
    say = Behaviour(name="say", essential=("TTS",))
    taken = stage.take("taker", "TTS")
    assert not start_behaviour(say, front).runs
    stage.release(taken)
    assert start_behaviour(say, front).runs
    stage.ledger.freeze(["TTS"], "brokenTTS", stage.tick)
    stage.ledger.thaw("brokenTTS", stage.tick)
    assert start_behaviour(say, front).runs
    stage.ledger.drop("say", stage.tick)
    stage.owner("say")
    stage.take("say", "TTS")  # somebody acts by this name without a behaviour
    with pytest.raises(BadInput, match="'say' and holds TTS"):
        start_behaviour(say, front)
    assert stage.held_by("say") == ("TTS",)


def test_a_name_is_taken_while_its_behaviour_waits_to_start(stage: LedgerSetup) -> None:
    stage.take("taker", "TTS")
    say = Behaviour(name="say", essential=("TTS",), timeout_s=1.0)
    whole = Behaviour(name="hello", parts=(say,))
    refused = []

    def go_on() -> None:
        for other in (say, replace(whole, parts=())):
            with pytest.raises(BadInput, match=f"by the name '{other.name}'; stop"):
                start_behaviour(other, LedgerFront(stage.ledger))
            refused.append(other.name)
        stage.until((stage.tick + 50) / 100)

    running = start_behaviour(whole, LedgerFront(stage.ledger, go_on))
    assert (running.runs, running.part("say").runs) == (True, False)
    assert refused == ["say", "hello"] * 2
    assert start_behaviour(replace(whole, parts=()), LedgerFront(stage.ledger)).runs


@pytest.mark.requirement("RM-37", "RM-40")
@pytest.mark.parametrize("how", ["stop", "freeze", "override", "drop", "pause"])
def test_a_behaviour_says_whether_it_runs_now(how: str) -> None:
    """A pause is not the end until what it waits for is lost too."""
    stage = LedgerSetup(preemption=BY_PRIORITY)
    running, front = dancing(stage)
    seen = [running.runs]
    if how == "stop":
        stop_behaviour(running, front)
    elif how == "freeze":
        stage.ledger.freeze(["LHand"], "brokenArm", stage.tick)
    elif how == "drop":
        stage.ledger.drop("dance", stage.tick)
    else:
        priority = 1 if how == "override" else 0
        stage.owner("guest")
        stage.take("guest", "TTS", priority=priority)
    seen.append(running.runs)
    stop_behaviour(running, front)
    again = start_behaviour(DANCE, front)  # another one, of the same name
    seen.append(running.runs)
    assert seen == [True, how == "pause", False]
    assert again.started == (how in ("stop", "drop"))


def test_a_part_that_is_lost_runs_no_more_and_the_whole_does(
    stage: LedgerSetup,
) -> None:
    running = start_behaviour(GREET, LedgerFront(stage.ledger))
    stage.ledger.freeze(["RHand"], "brokenArm", stage.tick)
    runs = {one.behaviour.name: one.runs for one in running.walk()}
    assert runs == {"Greet": True, "Say": True, "Wave": False}


@pytest.mark.requirement("RM-35", "RM-33")
def test_stop_on_demand_calls_the_stop_hook_of_a_behaviour(stage: LedgerSetup) -> None:
    """Who needs time to stop learns by when; who has lost, what, and to whom."""
    front, stops, losses = LedgerFront(stage.ledger), list[Any](), list[Any]()
    walk = Behaviour(name="walk", essential=("Legs",), policy=StopOnDemand(1.0))
    running = start_behaviour(walk, front, on_stop=stops.append, on_lost=losses.append)
    asked = stage.ask("taker", "LLeg", timeout_s=5.0)
    assert [(told.owner, told.by, told.until_tick) for told in stops] == [
        ("walk", "taker", 100)
    ]
    assert losses == []
    stage.until(1.0)
    assert end_of(asked) == (OutcomeKind.GRANTED, 1.0)
    (lost,) = losses
    assert (lost.leaves, lost.why) == (("LAnklePitch", "LKneePitch"), "yielded")
    assert set(lost.leaves + lost.freed) == set(LEGS)
    assert (running.is_over(stage.ledger), len(stops)) == (True, 1)
    stop_behaviour(running, front)  # what it gives back itself is no loss
    again = start_behaviour(
        replace(walk, essential=("RLeg",)), front, on_lost=losses.append
    )
    stop_behaviour(again, front)
    assert len(losses) == 1


def test_a_hook_that_raises_hinders_nobody_and_one_that_is_none_is_refused(
    stage: LedgerSetup,
) -> None:
    def fall(lost: object) -> None:
        raise RuntimeError("it fell")

    front, losses = LedgerFront(stage.ledger), list[Any]()
    one = Behaviour(name="one", essential=("TTS",), policy=StopOnDemand())
    two = Behaviour(name="two", essential=("LHand",), policy=StopOnDemand())
    start_behaviour(one, front, on_lost=fall)
    start_behaviour(two, front, on_lost=losses.append)
    stage.take("taker", "TTS", "LHand")
    assert [lost.owner for lost in losses] == ["two"]
    assert stage.held_by("taker") == ("LHand", "TTS")
    with pytest.raises(BadInput, match="on_lost of owner 'x' is 3; give a function"):
        stage.owner("x", on_lost=3)
