"""A timeline moves its motors by the gate, frame by frame, while it has them."""

import math
from dataclasses import replace

import pytest

from nao_testbed.controllers.arbitration.behaviours import (
    Behaviour,
    Timeline,
    TimelinePlayer,
    start_behaviour,
    stop_behaviour,
)
from nao_testbed.controllers.arbitration.events import Expired, Notified
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.policies import (
    ConflictPolicy,
    Lock,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.models import BadInput, Robot
from tests.controllers.arbitration.gate_setup import World

FRAMES = 8
YAW = tuple(0.02 * (k + 1) for k in range(FRAMES))
PITCH = tuple(-0.01 * (k + 1) for k in range(FRAMES))
NOD = Behaviour(
    name="nod",
    essential=("HeadYaw",),
    optional=("HeadPitch",),
    policy=PauseOnDemand(),
    timeline=Timeline(
        frames=FRAMES,
        frames_per_second=20.0,
        angles={"HeadYaw": YAW, "HeadPitch": PITCH},
    ),
)
"""A frame in five ticks."""


@pytest.fixture
def world(nao: Robot) -> World:
    return World.of(nao)


def playing(world: World, behaviour: Behaviour = NOD) -> TimelinePlayer:
    running = start_behaviour(behaviour, LedgerFront(world.ledger))
    return TimelinePlayer(running, world.ledger, world.gate)


def play(world: World, player: TimelinePlayer, slots: int) -> list[float]:
    """Return the set-points of HeadYaw, one in each slot."""
    seen = []
    for _ in range(slots):
        player.step(world.ledger.tick + 1)
        assert world.flush() == ()
        seen.append(world.target_of("HeadYaw"))
    return seen


@pytest.mark.requirement("RM-66")
def test_each_frame_is_the_set_point_for_its_time(world: World) -> None:
    player = playing(world)
    seen = play(world, player, 5 * FRAMES)
    assert seen == [angle for angle in YAW for _ in range(5)]
    assert world.target_of("HeadPitch") == PITCH[-1]
    ends = [player.is_over, player.step(world.ledger.tick + 1), player.is_over]
    assert ends == [False, None, True]
    commands = len(world.robot.commands)
    play(world, player, 3)
    assert len(world.robot.commands) == commands == FRAMES
    assert not world.checker.finish()


@pytest.mark.requirement("RM-66", "RM-37")
def test_a_paused_timeline_goes_on_from_where_it_was(world: World) -> None:
    player = playing(world)
    before = play(world, player, 12)
    frames = [player.frame]
    token = world.take("taker", "HeadYaw")
    paused = play(world, player, 50)
    assert len(set(paused)) == 1  # nobody commands it: it is held
    frames.append(player.frame)
    assert frames == [2, None]
    world.ledger.release(token, world.ledger.tick)
    after = play(world, player, 30)
    assert after[0] == YAW[2]
    assert before[:11] + after[:29] == [angle for angle in YAW for _ in range(5)]
    assert player.is_over
    assert not world.checker.finish()


@pytest.mark.requirement("RM-66", "RM-48")
def test_a_motor_that_was_not_free_rests_while_the_others_play(world: World) -> None:
    world.take("walk", "HeadPitch")
    rests_at = world.target_of("HeadPitch")
    player = playing(world)
    assert play(world, player, 5 * FRAMES)[-1] == YAW[-1]
    assert world.target_of("HeadPitch") == rests_at


@pytest.mark.requirement("RM-66")
def test_a_timeline_that_was_stopped_moves_nothing(world: World) -> None:
    front = LedgerFront(world.ledger)
    running = start_behaviour(NOD, front)
    player = TimelinePlayer(running, world.ledger, world.gate)
    play(world, player, 7)
    stop_behaviour(running, front)
    assert (player.is_over, player.is_done) == (True, False)
    assert len(set(play(world, player, 60))) == 1
    assert (player.is_over, player.is_done) == (True, False)
    again = start_behaviour(NOD, front)  # of the same name: the old player stays over
    assert (running.is_over(world.ledger), again.is_over(world.ledger)) == (True, False)
    assert player.is_over
    assert not world.checker.finish()


@pytest.mark.requirement("RM-66", "RM-35")
@pytest.mark.parametrize(
    "how", ["stop", "override", "freeze", "parent", "drop", "late"]
)
def test_a_timeline_that_lost_its_motors_for_good_is_over(nao: Robot, how: str) -> None:
    """At once, without another step; a pause is not the end until it ends in vain."""
    policies: dict[str, ConflictPolicy] = {
        "stop": StopOnDemand(),
        "late": PauseOnDemand(resume_timeout_s=0.5),
    }
    world = World.of(nao)
    ledger, front = world.ledger, LedgerFront(world.ledger)
    told: list[Notified | Expired] = []
    ledger.add_owner(Owner(name="above"), ledger.tick)
    kept = None
    if how == "parent":
        keep = Request(owner="above", resources=("Head",))
        kept = world.ask(keep)
    running = start_behaviour(
        replace(NOD, policy=policies.get(how, Lock())),
        front,
        "above" if kept else None,
        on_lost=told.append,
    )
    player = TimelinePlayer(running, ledger, world.gate)
    play(world, player, 7)
    assert (player.is_over, told) == (False, [])
    if how in ("stop", "late"):
        world.take("taker", "HeadPitch")
    elif how == "override":
        ledger.add_owner(Owner(name="taker", priority=5), ledger.tick)
        world.ask(Request(owner="taker", resources=("HeadYaw",)))
    elif how == "freeze":
        ledger.freeze(["HeadYaw"], "hotEngine", ledger.tick)
    elif kept is not None:
        ledger.release(kept, ledger.tick)
    else:
        ledger.drop("nod", ledger.tick)
    assert [lost.owner for lost in told] == ["nod"]
    if how == "late":
        assert not player.is_over  # it may go on for half a second
        play(world, player, 51)
    assert (player.is_over, player.is_done) == (True, False)
    assert len(told) == 1
    assert len(set(play(world, player, 10))) == 1


def test_what_cannot_be_played_is_refused(world: World) -> None:
    bare = replace(NOD, timeline=Timeline(frames=3))
    for behaviour in (bare, replace(NOD, timeline=None)):
        front = LedgerFront(world.ledger)
        running = start_behaviour(behaviour, front)
        with pytest.raises(BadInput, match="'nod' has no timeline with angles"):
            TimelinePlayer(running, world.ledger, world.gate)
        stop_behaviour(running, front)
    world.take("walk", "HeadYaw")
    with pytest.raises(BadInput, match="'nod' does not run, it lacks HeadYaw"):
        playing(world)
    with pytest.raises(BadInput, match="'HeadYaw' has 2 angles in a timeline of 3"):
        Timeline(frames=3, angles={"HeadYaw": (0.0, math.pi)})


@pytest.mark.parametrize("tick", [True, 1.0])
def test_what_only_equals_a_tick_plays_nothing(world: World, tick: int) -> None:
    player = playing(world)
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        player.step(tick)
    assert player.frame is None
