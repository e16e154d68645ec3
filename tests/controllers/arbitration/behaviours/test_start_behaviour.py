"""What of a behaviour runs, with which tokens, when it lacks something."""

from dataclasses import replace

import pytest

from nao_testbed.controllers.arbitration.behaviours import (
    GREETING,
    GREETING_IN_PARTS,
    Behaviour,
    Timeline,
    start_behaviour,
    stop_behaviour,
)
from nao_testbed.controllers.arbitration.events import Event, Requested
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.policies import PauseOnDemand
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Refusal, Token
from nao_testbed.models import BadInput, UnknownName, default_robot_folder, load_robot

TREE = ResourceTree(load_robot(default_robot_folder()).resources)
LEGS = ("Left leg", "Right leg")


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger(TREE)
    ledger.add_owner(Owner(name="walk"), 0)
    return ledger


@pytest.fixture
def front(ledger: Ledger) -> LedgerFront:
    return LedgerFront(ledger)


def walk(ledger: Ledger, *names: str) -> Token:
    """Let somebody else hold these."""
    request = Request(owner="walk", resources=names, timeout_s=0.0)
    outcome = ledger.request(request, ledger.tick).outcome
    assert outcome is not None
    assert outcome.token is not None
    return outcome.token


def holders(ledger: Ledger) -> set[str]:
    rows = take_snapshot(ledger).resources
    return {holding.owner for row in rows for holding in row.holders}


@pytest.mark.requirement("RM-48", "RM-49")
def test_a_greeting_on_a_walking_robot_goes_without_its_steps(
    ledger: Ledger, front: LedgerFront
) -> None:
    walking = walk(ledger, "Legs")
    greeting = start_behaviour(GREETING, front)
    assert greeting.runs
    assert greeting.missing == LEGS
    assert set(greeting.has) == {"TTS", *TREE.leaves("Right arm")}
    assert ledger.authorise(greeting.token, "RHand") is None
    assert ledger.authorise(greeting.token, "LKneePitch") is Refusal.NOT_COVERED
    assert ledger.authorise(walking, "LKneePitch") is None


@pytest.mark.requirement("RM-49")
def test_a_greeting_on_a_standing_robot_takes_its_steps(
    ledger: Ledger, front: LedgerFront
) -> None:
    greeting = start_behaviour(GREETING, front)
    assert greeting.missing == ()
    assert ledger.authorise(greeting.token, "LKneePitch") is None
    stop_behaviour(greeting, front)
    assert holders(ledger) == set()


@pytest.mark.requirement("RM-47")
@pytest.mark.parametrize("lacking", ["TTS", "RHand"])
def test_a_greeting_without_voice_or_arm_does_not_run(
    ledger: Ledger, front: LedgerFront, lacking: str
) -> None:
    walk(ledger, lacking)
    greeting = start_behaviour(GREETING, front)
    assert not greeting.runs
    assert greeting.token is None
    assert holders(ledger) == {"walk"}


@pytest.mark.requirement("RM-47")
def test_a_behaviour_waits_for_what_is_essential_within_its_time(
    ledger: Ledger, front: LedgerFront
) -> None:
    walk(ledger, "TTS")
    assert not start_behaviour(replace(GREETING, timeout_s=0.3), front).runs
    assert ledger.tick == 30


@pytest.mark.requirement("RM-58", "RM-67")
def test_simple_state_and_rate_needs_hold_together_or_not_at_all(
    ledger: Ledger, front: LedgerFront
) -> None:
    kick = Behaviour(name="Kick", essential=("Right leg", "Stand"), rates={"CPU": 30.0})
    assert not start_behaviour(kick, front).runs  # no state is active
    ledger.set_state("State", "Stand", 0)
    busy = Behaviour(name="Plan", rates={"CPU": 80.0})
    planning = start_behaviour(busy, front)
    assert not start_behaviour(kick, front).runs
    stop_behaviour(planning, front)
    running = start_behaviour(kick, front)
    assert set(running.has) == {"CPU", "Stand", *TREE.leaves("Right leg")}
    used = {row.name: row.used_percent for row in take_snapshot(ledger).resources}
    assert used["CPU"] == 30.0


@pytest.mark.requirement("RM-50")
def test_by_default_a_part_without_its_resources_rests_and_the_whole_runs(
    ledger: Ledger, front: LedgerFront
) -> None:
    walk(ledger, "LKneePitch")
    running = start_behaviour(GREETING_IN_PARTS, front)
    assert running.runs
    assert {one.behaviour.name for one in running.walk() if one.runs} == {
        "Greeting in parts",
        "Say hello",
        "Wave",
    }
    assert running.part("Two steps").missing == LEGS
    assert ledger.authorise(running.part("Wave").token, "RHand") is None
    assert running.part("Wave").token != running.part("Say hello").token
    parents = {row.name: row.parent for row in take_snapshot(ledger).owners}
    assert parents["Wave"] == "Greeting in parts"


@pytest.mark.requirement("RM-50")
def test_the_whole_runs_even_if_no_part_does(
    ledger: Ledger, front: LedgerFront
) -> None:
    walk(ledger, "TTS", "Arms", "Legs")
    running = start_behaviour(GREETING_IN_PARTS, front)
    assert running.runs
    assert not any(part.runs for part in running.parts)


@pytest.mark.requirement("RM-26", "RM-50")
def test_changed_at_the_whole_it_runs_with_all_its_parts_or_not_at_all(
    ledger: Ledger, front: LedgerFront
) -> None:
    strict = replace(GREETING_IN_PARTS, needs_all_parts=True)
    walking = walk(ledger, "LKneePitch")
    assert not start_behaviour(strict, front).runs
    assert holders(ledger) == {"walk"}
    ledger.release(walking, 0)
    running = start_behaviour(strict, front)
    assert all(one.runs for one in running.walk())
    assert ledger.authorise(running.token, "LKneePitch") is Refusal.NOT_COVERED
    assert ledger.authorise(running.part("Two steps").token, "LKneePitch") is None
    stop_behaviour(running, front)
    assert holders(ledger) == set()


@pytest.mark.requirement("RM-23", "RM-50")
def test_a_whole_that_needs_all_holds_nothing_while_it_waits(
    ledger: Ledger, front: LedgerFront
) -> None:
    """One request in one step, not part after part."""
    walk(ledger, "LKneePitch")
    asked: list[Requested] = []

    def hear(event: Event) -> None:
        if isinstance(event, Requested):
            asked.append(event)

    ledger.listeners.append(hear)
    strict = replace(GREETING_IN_PARTS, needs_all_parts=True, timeout_s=1.0)
    start_behaviour(strict, front)
    assert [event.owner for event in asked] == ["Greeting in parts"]
    assert {"TTS", "RHand", "LKneePitch"} < set(asked[0].shares)


@pytest.mark.requirement("RM-23", "RM-26", "RM-50")
def test_a_whole_that_needs_all_asks_once_for_its_own_and_its_parts(
    ledger: Ledger, front: LedgerFront
) -> None:
    """One token covers all; a part's leaf is the whole's again when the part ends."""
    asked: list[str] = []
    ledger.listeners.append(
        lambda event: asked.append(event.owner) if type(event) is Requested else None
    )
    wave = Behaviour(name="Wave", essential=("RHand",), rates={"CPU": 30.0})
    whole = Behaviour(
        name="Greet",
        essential=("TTS", "Right arm"),
        rates={"CPU": 20.0},
        optional=("RHand", "Left leg"),
        parts=(wave,),
        needs_all_parts=True,
    )
    running = start_behaviour(whole, front)
    assert asked == ["Greet", "Wave"]
    assert running.missing == ()
    mine = {"TTS", "CPU", *TREE.leaves("Right arm"), *TREE.leaves("Left leg")}
    assert set(running.has) == mine
    used = {row.name: row.used_percent for row in take_snapshot(ledger).resources}
    assert used["CPU"] == 50.0
    assert ledger.authorise(running.token, "RHand") is Refusal.NOT_COVERED
    stop_behaviour(running.part("Wave"), front)
    assert running.has_all_it_had(ledger)


@pytest.mark.requirement("RM-47", "RM-50")
def test_a_whole_may_run_regardless_and_need_all_its_parts(
    ledger: Ledger, front: LedgerFront
) -> None:
    whole = Behaviour(
        name="Greet",
        essential=("TTS",),
        rates={"CPU": 20.0},
        optional=("Left leg",),
        parts=(Behaviour(name="Wave", essential=("RHand",)),),
        needs_all_parts=True,
        runs_regardless=True,
    )
    voice = walk(ledger, "TTS")
    running = start_behaviour(whole, front)
    assert all(one.runs for one in running.walk())
    assert running.missing == ("TTS", "CPU")
    assert set(running.has) == set(TREE.leaves("Left leg"))
    stop_behaviour(running, front)
    ledger.release(voice, ledger.tick)
    walk(ledger, "RHand")
    assert not start_behaviour(whole, front).runs
    assert holders(ledger) == {"walk"}


@pytest.mark.requirement("RM-50")
def test_parts_that_exclude_each_other_cannot_all_run(
    ledger: Ledger, front: LedgerFront
) -> None:
    speakers = tuple(Behaviour(name=n, essential=("TTS",)) for n in ("Sing", "Say"))
    both = Behaviour(name="Both", parts=speakers, needs_all_parts=True)
    assert not start_behaviour(both, front).runs
    assert holders(ledger) == set()


@pytest.mark.requirement("RM-50")
def test_changed_at_the_part_it_runs_with_what_it_gets(
    ledger: Ledger, front: LedgerFront
) -> None:
    walk(ledger, "LKneePitch")
    ledger.set_state("State", "Stand", 0)
    steps = Behaviour(
        name="Two steps",
        essential=(*LEGS, "Stand"),
        rates={"CPU": 1.0},
        runs_regardless=True,
    )
    running = start_behaviour(
        Behaviour(name="Greet", parts=(steps,), needs_all_parts=True), front
    )
    part = running.part("Two steps")
    assert part.runs
    assert running.runs
    assert part.missing == ("Left leg", "CPU")
    assert set(part.has) == {"Stand", *TREE.leaves("Right leg")}
    assert ledger.authorise(part.token, "RKneePitch") is None


@pytest.mark.requirement("RM-50")
def test_a_part_may_run_with_nothing_at_all(ledger: Ledger, front: LedgerFront) -> None:
    walk(ledger, "TTS")
    for word in (
        Behaviour(name="Word", essential=("TTS",), runs_regardless=True),
        Behaviour(name="Word", optional=("TTS",)),
    ):
        running = start_behaviour(word, front)
        assert (running.runs, running.token) == (True, None)
        assert running.missing == ("TTS",)


@pytest.mark.requirement("RM-50", "RM-56")
def test_a_whole_keeps_the_sum_of_the_rates_of_its_parts(
    ledger: Ledger, front: LedgerFront
) -> None:
    parts = tuple(
        Behaviour(name=f"Part {k}", rates={"CPU": percent})
        for k, percent in enumerate((33.33, 33.33, 33.34))
    )
    whole = Behaviour(name="Whole", parts=parts, needs_all_parts=True)
    assert start_behaviour(whole, front).runs
    more = replace(whole, parts=(*parts, Behaviour(name="More", rates={"CPU": 0.01})))
    with pytest.raises(BadInput, match=r"rate of 'CPU' is 100\.01 %"):
        start_behaviour(more, front)


def test_a_behaviour_with_an_unknown_need_holds_nothing(
    ledger: Ledger, front: LedgerFront
) -> None:
    wrong = replace(GREETING_IN_PARTS.parts[2], essential=("Left lag",))
    parts = (*GREETING_IN_PARTS.parts[:2], wrong)
    with pytest.raises(UnknownName, match="Did you mean 'Left leg'"):
        start_behaviour(replace(GREETING_IN_PARTS, parts=parts), front)
    wrong = replace(wrong, essential=("CPU",))
    with pytest.raises(BadInput, match="ask for a rate"):
        start_behaviour(replace(GREETING_IN_PARTS, parts=(*parts[:2], wrong)), front)
    assert holders(ledger) == set()


def test_two_parts_of_one_name_are_refused() -> None:
    with pytest.raises(BadInput, match="'Wave' twice"):
        Behaviour(name="x", parts=(Behaviour(name="Wave"), Behaviour(name="Wave")))


@pytest.mark.requirement("RM-66")
def test_a_timeline_has_its_motors_from_its_first_frame_to_its_last(
    ledger: Ledger, front: LedgerFront
) -> None:
    wave = Behaviour(
        name="Wave", essential=("Right arm",), timeline=Timeline(frames=30)
    )
    running = start_behaviour(wave, front)
    assert wave.timeline is not None
    assert wave.timeline.length_s == 2.0
    played = []
    for tick in range(1, 300):
        ledger.advance(tick)
        frame = wave.timeline.frame_at(tick * ledger.cfg.tick_s)
        if frame is None:
            break
        with pytest.raises(AssertionError):
            walk(ledger, "RHand")  # whoever asks
        assert running.has_all_it_had(ledger)
        played.append(frame)
    assert sorted(set(played)) == list(range(30))
    assert ledger.tick == 200


@pytest.mark.requirement("RM-66")
def test_a_timeline_learns_that_its_motors_are_gone(
    ledger: Ledger, front: LedgerFront
) -> None:
    wave = Behaviour(
        name="Wave",
        essential=("Right arm",),
        timeline=Timeline(frames=30),
        policy=PauseOnDemand(),
    )
    running = start_behaviour(wave, front)
    ledger.advance(100)
    assert running.has_all_it_had(ledger)
    ledger.freeze(["RHand"], "hotEngine", 100)
    assert not running.has_all_it_had(ledger)


@pytest.mark.requirement("RM-66")
def test_frames_are_counted_at_fifteen_a_second_unless_said() -> None:
    line = Timeline(frames=30)
    assert [line.frame_at(s) for s in (0.0, 1 / 15, 1.0, 1.99, 2.0)] == [
        0,
        1,
        15,
        29,
        None,
    ]
    long = Timeline(frames=300)
    assert [long.frame_at(k / 15.0) for k in range(300)] == list(range(300))
    assert Timeline(frames=30, frames_per_second=30.0).length_s == 1.0
    for frames, rate in ((0, 15.0), (1, 0.0), (1, float("inf"))):
        with pytest.raises(BadInput, match="cannot be played"):
            Timeline(frames=frames, frames_per_second=rate)
