"""All kinds of needs and owners together: strangers who share one robot."""

import random
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import pytest

from controllers.arbitration.policies import Lock, PauseOnDemand, StopOnDemand
from controllers.arbitration.requests import Owner, Request, Ticket
from controllers.arbitration.tokens import Refusal
from models.resources import ResourceNode
from tests.controllers.arbitration.ledger_setup import (
    BODY,
    BY_PRIORITY,
    DENIED,
    GRANTED,
    LOST,
    TICKS_PER_S,
    LedgerSetup,
    end_of,
    node,
    outcome_of,
    why,
)


@pytest.fixture
def stage() -> LedgerSetup:
    """A standing robot with a walk, maps, and a hot wrist."""
    stage = LedgerSetup()
    stage.owners("walk", "maps", "greeting")
    stage.owner("hand wave", parent="greeting")
    stage.ledger.set_state("State", "Stand", 0)
    stage.take("walk", "Legs", "Stand", policy=StopOnDemand())
    stage.take("maps", rates={"CPU": 70.0}, policy=PauseOnDemand())
    stage.ledger.freeze(["LHand"], "hotEngine", 0, effort_cap=0.2)
    return stage


@pytest.mark.requirement("RM-67", "RM-2")
def test_one_request_may_need_resources_of_every_kind(stage: LedgerSetup) -> None:
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
def test_each_kind_of_need_can_keep_it_from_running(stage: LedgerSetup) -> None:
    """A simple one, a frozen one, another state, a rate; and each alone is enough."""
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
def test_a_real_child_inside_a_reservation_loses_it_to_a_virtual_owner(
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
def test_any_thing_can_be_a_resource() -> None:
    things = ("motor", "sensor", "light", "speech", "microphone", "video", "ball")
    stage = LedgerSetup(node("root", *map(node, things)))
    stage.owners("A", "B")
    token = stage.take("A", *things)
    denied = [stage.ask("B", thing, timeout_s=0.0) for thing in things]
    assert not any(outcome_of(ticket).is_granted for ticket in denied)
    assert all(stage.may(token, thing) is None for thing in things)


# -- timelines ------------------------------------------------------------------------

FRAMES_PER_S = 15


def frame_ticks(start_tick: int, duration_s: int) -> list[int]:
    """Return the tick of each frame of a timeline."""
    period = Fraction(TICKS_PER_S, FRAMES_PER_S)
    return [start_tick + ceil(k * period) for k in range(duration_s * FRAMES_PER_S)]


@pytest.mark.requirement("RM-66")
def test_a_timeline_has_its_resources_from_its_first_frame_to_its_last() -> None:
    stage = LedgerSetup()
    stage.owners("dance", "nod", timeout_s=9.0)
    dance = stage.take("dance", "Head", "Arms", policy=Lock())
    nod = stage.ask("nod", "HeadPitch", priority=9)
    frames = frame_ticks(0, duration_s=2)
    assert len(frames) == 30
    for tick in frames:
        stage.until(tick / TICKS_PER_S)
        assert stage.may(dance, "HeadPitch") is stage.may(dance, "RHand") is None
    stage.at(2.0)
    stage.release(dance)
    assert end_of(nod) == (GRANTED, 2.0)
    for tick in frame_ticks(200, duration_s=1):
        stage.until(tick / TICKS_PER_S)
        assert stage.may(nod.token, "HeadPitch") is None
        assert stage.may(dance, "HeadPitch") is Refusal.RELEASED


# -- strangers ------------------------------------------------------------------------

LEAVES = ("TTS", "HeadYaw", "HeadPitch", "LHand", "RHand", "LKneePitch")
POLICIES = (Lock(), StopOnDemand(), StopOnDemand(within_s=0.05), PauseOnDemand())


@dataclass(frozen=True)
class Program:
    """All that a station sends of one behaviour: plain data."""

    owner: Owner
    requests: tuple[Request, ...]


def programs(seed: int) -> tuple[Program, ...]:
    """Return behaviours of people who know nothing of each other."""
    rng = random.Random(seed)
    made = []
    for number in range(8):
        name = f"program {number}"
        owner = Owner(
            name=name,
            policy=rng.choice(POLICIES),
            priority=rng.randrange(3),
            timeout_s=rng.choice((0.0, 0.3, 1.0)),
        )
        requests = tuple(
            Request(
                owner=name,
                resources=tuple(rng.sample(LEAVES, rng.randint(1, 3))),
                rates={"CPU": rng.choice((10.0, 40.0))},
            )
            for _ in range(5)
        )
        made.append(Program(owner, requests))
    return tuple(made)


def run(
    programs: tuple[Program, ...], seed: int, root: ResourceNode = BODY
) -> tuple[LedgerSetup, list[Ticket]]:
    """Let each program ask, use for a while, give back, at random times."""
    stage = LedgerSetup(root, preemption=BY_PRIORITY)
    rng = random.Random(seed)
    for program in programs:
        stage.ledger.add_owner(program.owner, 0)
    to_ask = [request for program in programs for request in program.requests]
    rng.shuffle(to_ask)
    tickets: list[Ticket] = []
    for tick in range(600):
        stage.tick = tick
        if to_ask and rng.random() < 0.2:
            tickets.append(stage.ledger.request(to_ask.pop(), tick))
        for ticket in tickets:
            token = ticket.outcome.token if ticket.outcome else None
            if token is None:
                continue
            held = [leaf for leaf in LEAVES if stage.may(token, leaf) is None]
            if held and rng.random() < 0.05:
                stage.release(token)
        stage.ledger.advance(tick)
        assert_one_writer_each(stage, tickets)
    return stage, tickets


def assert_one_writer_each(stage: LedgerSetup, tickets: list[Ticket]) -> None:
    tokens = {t.outcome.token for t in tickets if t.outcome and t.outcome.token}
    for leaf in LEAVES:
        assert sum(stage.may(token, leaf) is None for token in tokens) <= 1


@pytest.mark.requirement("RM-8", "RM-65")
@pytest.mark.parametrize("seed", range(8))
def test_strangers_share_a_robot_without_conflict_and_all_come_to_an_end(
    seed: int,
) -> None:
    stage, tickets = run(programs(seed), seed)
    assert len(tickets) == 40
    ends = [end_of(ticket)[0] for ticket in tickets]
    assert ends.count(GRANTED) >= 10
    for name in (f"program {k}" for k in range(8)):
        stage.ledger.drop(name, stage.tick)
    idle = LedgerSetup(preemption=BY_PRIORITY)
    assert stage.picture() == idle.picture()


@pytest.mark.requirement("RM-65")
def test_what_is_critical_is_kept_available_whatever_behaviours_do() -> None:
    stage = LedgerSetup()
    stage.owner("battery")
    stage.owner("charging", parent="battery")
    stage.take("battery", "Legs", policy=Lock())
    for number, program in enumerate(programs(seed=1)):
        stage.ledger.add_owner(program.owner, stage.tick)
        greedy = stage.ask(program.owner.name, "Legs", priority=9, timeout_s=0.5)
        stage.until(number + 1.0)
        assert why(greedy) == "timeout"
    assert end_of(stage.ask("charging", "Legs", timeout_s=0.0))[0] is GRANTED
