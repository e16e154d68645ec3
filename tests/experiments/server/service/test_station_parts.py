"""Which parts of a station's behaviour run, with which tokens."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import Requested
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.policies import PauseOnDemand
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.tokens import Refusal, Why
from nao_testbed.experiments.scenarios.reading.behaviours import RequestedResources
from nao_testbed.experiments.server.service.station_behaviours import (
    Started,
    StationBehaviour,
    start_behaviour,
    stop_behaviour,
)
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    BY_PRIORITY,
    GRANTED,
    LedgerSetup,
    end_of,
    why,
)

RIGHT_ARM = ("RHand", "RShoulderPitch")


def behaviour(
    name: str,
    *needs: str,
    optional: tuple[str, ...] = (),
    rates: Mapping[str, float] | None = None,
    parts: tuple[StationBehaviour, ...] = (),
    runs_regardless: bool = False,
    needs_all_parts: bool = False,
    **defaults: Any,
) -> StationBehaviour:
    return StationBehaviour(
        owner=Owner(name=name, **{"timeout_s": 0.0, **defaults}),
        requested=RequestedResources(needs=needs, optional=optional, rates=rates or {}),
        parts=parts,
        runs_regardless=runs_regardless,
        needs_all_parts=needs_all_parts,
    )


GREETING = behaviour("greeting", "TTS", "RArm", optional=("LLeg", "RLeg"))
IN_PARTS = behaviour(
    "hello",
    parts=(
        behaviour("say", "TTS"),
        behaviour("wave", "RArm"),
        behaviour("step", "LLeg", "RLeg"),
    ),
)
"""The same behaviour, divided into parts."""
STRICT = replace(IN_PARTS, needs_all_parts=True)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("walk")
    return stage


@pytest.fixture
def front(stage: LedgerSetup) -> LedgerFront:
    return LedgerFront(stage.ledger)


def part_of(started: Started, name: str) -> Started:
    return next(part for part in started.parts if part.name == name)


def only_walk_holds_resources(stage: LedgerSetup) -> bool:
    rows = stage.picture()
    return {hold.owner for row in rows for hold in row.holders} <= {"walk"} and not any(
        row.waiters for row in rows
    )


# -- essential and optional resources --------------------------------------------------


@pytest.mark.requirement("RM-48", "RM-49")
def test_greeting_of_a_walking_robot_omits_its_steps(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    walking = stage.take("walk", "Legs")
    greeting = start_behaviour(GREETING, front)
    assert greeting.runs
    assert greeting.missing == ("LLeg", "RLeg")
    assert greeting.has == (*RIGHT_ARM, "TTS")
    assert stage.may(greeting.token, "LKneePitch") is Refusal.NOT_COVERED
    assert stage.may(walking, "LKneePitch") is None
    stop_behaviour(greeting, front)
    stage.release(walking)
    greeting = start_behaviour(GREETING, front)  # the robot stands
    assert greeting.missing == ()
    assert stage.may(greeting.token, "LKneePitch") is None
    stop_behaviour(greeting, front)
    assert only_walk_holds_resources(stage)


@pytest.mark.requirement("RM-47")
@pytest.mark.parametrize("lacking", ["TTS", "RHand"])
def test_greeting_without_voice_or_arm_does_not_run(
    stage: LedgerSetup, front: LedgerFront, lacking: str
) -> None:
    stage.take("walk", lacking)
    greeting = start_behaviour(GREETING, front)
    assert (greeting.runs, greeting.token) == (False, None)
    assert only_walk_holds_resources(stage)
    owner = replace(GREETING.owner, timeout_s=0.3)
    assert not start_behaviour(replace(GREETING, owner=owner), front).runs
    assert stage.ledger.tick == 30  # it waited until its timeout


@pytest.mark.requirement("RM-58", "RM-67")
def test_simple_state_and_rate_needs_are_granted_together(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    kick = behaviour("kick", "RLeg", "Stand", rates={"CPU": 30.0})
    assert not start_behaviour(kick, front).runs  # no state is active
    stage.ledger.set_state("State", "Stand", 0)
    planning = start_behaviour(behaviour("plan", rates={"CPU": 80.0}), front)
    assert not start_behaviour(kick, front).runs
    stop_behaviour(planning, front)
    started = start_behaviour(kick, front)
    assert started.has == ("CPU", "RAnklePitch", "RKneePitch", "Stand")
    assert stage.row("CPU").used_percent == 30.0


# -- parts -----------------------------------------------------------------------------


@pytest.mark.requirement("RM-50")
def test_part_without_resources_is_skipped_by_default(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    stage.take("walk", "LKneePitch")
    started = start_behaviour(IN_PARTS, front)
    assert started.runs
    assert [part.runs for part in started.parts] == [True, True, False]
    assert part_of(started, "step").missing == ("LLeg", "RLeg")
    say, wave = part_of(started, "say"), part_of(started, "wave")
    assert stage.may(wave.token, "RHand") is None
    assert wave.token != say.token
    assert stage.ledger.holdings.owners["wave"].defaults.parent == "hello"
    stop_behaviour(started, front)
    stage.take("walk", "TTS", "Arms", "RLeg")
    started = start_behaviour(IN_PARTS, front)
    assert (started.runs, any(part.runs for part in started.parts)) == (True, False)


@pytest.mark.requirement("RM-26", "RM-50")
def test_parts_use_resources_of_their_behaviour(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    both = behaviour("both", "Arms", parts=(behaviour("left", "LArm"),))
    started = start_behaviour(both, front)
    assert stage.may(part_of(started, "left").token, "LHand") is None
    assert stage.may(started.token, "LHand") is Refusal.NOT_COVERED
    assert stage.may(started.token, "RHand") is None
    stop_behaviour(started, front)
    assert only_walk_holds_resources(stage)


@pytest.mark.requirement("RM-23", "RM-26", "RM-50")
def test_needs_all_parts_starts_all_parts_or_none(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    """It waits with a single request, and holds nothing meanwhile."""
    walking = stage.take("walk", "LKneePitch")
    assert not start_behaviour(STRICT, front).runs
    waits = replace(STRICT, owner=replace(STRICT.owner, timeout_s=1.0))
    start_behaviour(waits, front)
    requested = [event for event in stage.events if isinstance(event, Requested)]
    assert [event.owner for event in requested] == ["walk", "hello", "hello"]
    assert {"TTS", "RHand", "LKneePitch"} < set(requested[-1].shares)
    assert only_walk_holds_resources(stage)
    stage.at(1.0)
    stage.release(walking)
    started = start_behaviour(STRICT, front)
    assert started.runs
    assert all(part.runs for part in started.parts)
    assert stage.may(started.token, "LKneePitch") is Refusal.NOT_COVERED
    assert stage.may(part_of(started, "step").token, "LKneePitch") is None
    stop_behaviour(started, front)
    assert only_walk_holds_resources(stage)


@pytest.mark.requirement("RM-23", "RM-26", "RM-50")
def test_needs_all_parts_requests_all_resources_at_once(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    whole = behaviour(
        "greet",
        *("TTS", "RArm"),
        rates={"CPU": 20.0},
        optional=("RHand", "LLeg"),
        parts=(behaviour("wave", "RHand", rates={"CPU": 30.0}),),
        needs_all_parts=True,
    )
    started = start_behaviour(whole, front)
    requested = [event.owner for event in stage.events if isinstance(event, Requested)]
    assert requested == ["greet", "wave"]
    assert started.missing == ()
    assert started.has == ("CPU", "LAnklePitch", "LKneePitch", *RIGHT_ARM, "TTS")
    assert stage.row("CPU").used_percent == 50.0
    assert stage.may(started.token, "RHand") is Refusal.NOT_COVERED
    stop_behaviour(part_of(started, "wave"), front)
    assert stage.may(started.token, "RHand") is None  # returned by the part


@pytest.mark.requirement("RM-47", "RM-50")
def test_runs_regardless_still_needs_all_parts(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    whole = behaviour(
        "greet",
        "TTS",
        rates={"CPU": 20.0},
        optional=("LLeg",),
        parts=(behaviour("wave", "RHand"),),
        needs_all_parts=True,
        runs_regardless=True,
    )
    voice = stage.take("walk", "TTS")
    started = start_behaviour(whole, front)
    assert (started.runs, started.parts[0].runs) == (True, True)
    assert started.missing == ("TTS", "CPU")
    assert started.has == ("LAnklePitch", "LKneePitch")
    stop_behaviour(started, front)
    stage.release(voice)
    stage.take("walk", "RHand")
    assert not start_behaviour(whole, front).runs
    assert only_walk_holds_resources(stage)


@pytest.mark.requirement("RM-50")
def test_parts_that_exclude_each_other_cannot_all_run(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    speakers = tuple(behaviour(name, "TTS") for name in ("sing", "say"))
    both = behaviour("both", parts=speakers, needs_all_parts=True)
    assert not start_behaviour(both, front).runs
    assert only_walk_holds_resources(stage)


@pytest.mark.requirement("RM-50")
def test_part_that_runs_regardless_uses_what_it_gets(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    stage.take("walk", "LKneePitch")
    stage.ledger.set_state("State", "Stand", 0)
    needs, rates = ("LLeg", "RLeg", "Stand"), {"CPU": 1.0}
    steps = behaviour("steps", *needs, rates=rates, runs_regardless=True)
    whole = behaviour("greet", parts=(steps,), needs_all_parts=True)
    started = start_behaviour(whole, front)
    (part,) = started.parts
    assert (started.runs, part.runs) == (True, True)
    assert part.missing == ("LLeg", "CPU")
    assert part.has == ("RAnklePitch", "RKneePitch", "Stand")
    stage.take("walk", "TTS")
    for word in (
        behaviour("word", "TTS", runs_regardless=True),
        behaviour("word", optional=("TTS",)),
    ):
        started = start_behaviour(word, front)  # without any resource
        assert (started.runs, started.token) == (True, None)
        assert started.missing == ("TTS",)
        stop_behaviour(started, front)


@pytest.mark.requirement("RM-50", "RM-56")
def test_needs_all_parts_requests_the_sum_of_rates(front: LedgerFront) -> None:
    percents = (33.33, 33.33, 33.34)
    parts = tuple(
        behaviour(f"part {k}", rates={"CPU": percent})
        for k, percent in enumerate(percents)
    )
    whole = behaviour("whole", parts=parts, needs_all_parts=True)
    started = start_behaviour(whole, front)
    assert started.runs
    stop_behaviour(started, front)
    more = replace(whole, parts=(*parts, behaviour("more", rates={"CPU": 0.01})))
    with pytest.raises(BadInput, match=r"rate of 'CPU' is 100\.01 %"):
        start_behaviour(more, front)


# -- the end ---------------------------------------------------------------------------


@pytest.mark.requirement("RM-37", "RM-40")
@pytest.mark.parametrize("how", ["stop", "freeze", "override", "drop", "pause"])
def test_behaviour_reports_whether_it_has_ended(
    stage: LedgerSetup, front: LedgerFront, how: str
) -> None:
    """A paused behaviour has not ended until its resumption is lost too."""
    dance = behaviour("dance", "LArm", "TTS", policy=PauseOnDemand())
    started = start_behaviour(dance, front)
    seen = [started.is_over(stage.ledger)]
    if how == "stop":
        stop_behaviour(started, front)
    elif how == "freeze":
        stage.ledger.freeze(["LHand"], "brokenArm", stage.tick)
    elif how == "drop":
        stage.ledger.drop("dance", stage.tick)
    else:
        stage.take("walk", "TTS", priority=1 if how == "override" else 0)
    seen.append(started.is_over(stage.ledger))
    stop_behaviour(started, front)
    assert stage.waited_for_by("dance") == stage.held_by("dance") == ()
    again = start_behaviour(dance, front)  # a new behaviour of the same name
    seen.append(started.is_over(stage.ledger))
    assert seen == [False, how != "pause", True]
    assert again.runs == (how in ("stop", "drop"))


def test_stop_ends_extra_requests_of_parts_in_one_step(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    parts = tuple(behaviour(name, name) for name in ("LHand", "RHand"))
    started = start_behaviour(
        behaviour("juggle", parts=parts, needs_all_parts=True), front
    )
    stage.take("juggle", "TTS")
    stage.take("walk", "Microphone")
    late = stage.ask("LHand", "Microphone", timeout_s=9.0)
    next_one = stage.ask("walk", "RHand", timeout_s=9.0)
    stop_behaviour(started, front)
    assert why(late) is Why.WITHDRAWN
    assert end_of(next_one) == (GRANTED, 0.0)
    assert only_walk_holds_resources(stage)


def test_failed_start_releases_a_part_that_was_paused(
    stage: LedgerSetup,
) -> None:
    """The second part is denied; the first is paused meanwhile."""
    stage.take("walk", "LHand")
    first = behaviour("first", "TTS", policy=PauseOnDemand())
    whole = behaviour("whole", parts=(first, behaviour("2", "LHand", timeout_s=1.0)))

    def go_on() -> None:
        stage.take("walk", "TTS")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_behaviour(whole, LedgerFront(stage.ledger, go_on))
    assert stage.held_by("walk") == ("LHand", "TTS")
    assert only_walk_holds_resources(stage)


# -- names -----------------------------------------------------------------------------


@pytest.mark.requirement("RM-8", "RM-14")
def test_second_behaviour_of_the_same_name_is_refused(
    stage: LedgerSetup, front: LedgerFront
) -> None:
    alices = start_behaviour(behaviour("wave", "LHand"), front)
    bobs = behaviour("wave", "RHand", policy=PauseOnDemand())
    before = stage.picture()
    for other in (bobs, behaviour("play", parts=(bobs,))):
        with pytest.raises(
            BadInput, match="is already the owner 'wave' and holds LHand"
        ):
            start_behaviour(other, front)
        assert stage.picture() == before
    with pytest.raises(BadInput, match="or choose another name"):
        stage.owner("wave", policy=PauseOnDemand())
    stop_behaviour(alices, front)
    again = start_behaviour(bobs, front)
    stop_behaviour(alices, front)  # does not affect Bob's
    assert stage.held_by("wave") == ("RHand",)
    stop_behaviour(again, front)
    assert only_walk_holds_resources(stage)


def test_name_is_taken_while_its_behaviour_waits_to_start(stage: LedgerSetup) -> None:
    stage.take("walk", "TTS")
    say = behaviour("say", "TTS", timeout_s=1.0)
    whole = behaviour("hello", parts=(say,))
    refused = []

    def go_on() -> None:
        for other in (say, replace(whole, parts=())):
            with pytest.raises(BadInput, match=f"the owner '{other.name}'; stop"):
                start_behaviour(other, LedgerFront(stage.ledger))
            refused.append(other.name)
        stage.until((stage.tick + 50) / 100)

    started = start_behaviour(whole, LedgerFront(stage.ledger, go_on))
    assert (started.runs, started.parts[0].runs) == (True, False)
    assert refused == ["say", "hello"] * 2
    assert start_behaviour(replace(whole, parts=()), LedgerFront(stage.ledger)).runs
