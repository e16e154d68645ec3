"""Batches of commands are written together or not at all."""

from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import Commanded, Executed, Rejected
from nao_testbed.controllers.arbitration.gate.slot import Batch
from nao_testbed.controllers.arbitration.requests import Owner
from nao_testbed.controllers.arbitration.tokens import Loss, Refusal, Token
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.arbitration.gate_setup import World

HEAD = {"HeadYaw": 0.3, "HeadPitch": -0.1}


def test_group_is_written_in_one_step(world: World) -> None:
    token = world.take("look", "Head")
    assert world.gate.submit_all(token, HEAD) is None
    assert world.flush() == ()
    assert len(world.robot.commands) == 1
    for name, angle in HEAD.items():
        assert world.target_of(name) == angle
    assert {event.resource for event in world.told(Executed)} == set(HEAD)


def test_group_with_a_leaf_of_another_owner_is_rejected(world: World) -> None:
    token = world.take("look", "HeadYaw")
    refused = world.gate.submit_all(token, HEAD)
    assert refused is not None
    assert (refused.resource, refused.reason) == ("HeadPitch", Refusal.NOT_COVERED)
    assert world.flush() == ()
    assert not world.robot.commands
    assert [event.resource for event in world.told(Commanded)] == ["HeadPitch"]
    assert world.told(Rejected) == [refused]


def test_group_that_loses_a_leaf_in_the_slot_is_not_written(world: World) -> None:
    """The token is still valid for the other leaf, which is not moved either."""
    token = world.take("look", "Head", loss=Loss.PARTIAL)
    assert world.gate.submit_all(token, HEAD) is None
    world.take("nod", "HeadPitch", priority=5)
    assert world.flush() == (Refusal.NOT_COVERED,)
    assert not world.robot.commands
    assert not world.told(Executed)
    (rejected,) = world.told(Rejected)
    assert rejected.resource == "HeadPitch"


def test_single_commands_of_one_token_are_independent(world: World) -> None:
    """As in the group above, but submitted one by one."""
    token = world.take("look", "Head", loss=Loss.PARTIAL)
    for name, angle in HEAD.items():
        world.gate.submit(token, name, angle)
    world.take("nod", "HeadPitch", priority=5)
    assert world.flush() == (Refusal.NOT_COVERED,)
    assert world.target_of("HeadYaw") == 0.3
    assert [event.resource for event in world.told(Executed)] == ["HeadYaw"]


def test_group_displaced_by_a_new_holder_is_not_written(world: World) -> None:
    old = world.take("look", "Head", loss=Loss.PARTIAL)
    world.gate.submit_all(old, HEAD)
    new = world.take("nod", "HeadPitch", priority=5)
    world.gate.submit(new, "HeadPitch", 0.2)
    before = world.target_of("HeadYaw")
    assert world.flush() == (Refusal.NOT_COVERED,)
    assert world.target_of("HeadPitch") == 0.2
    assert world.target_of("HeadYaw") == before


def test_later_command_replaces_one_of_a_group(world: World) -> None:
    token = world.take("look", "Head")
    world.gate.submit_all(token, HEAD)
    world.gate.submit(token, "HeadPitch", 0.2)
    world.flush()
    assert world.target_of("HeadYaw") == 0.3
    assert world.target_of("HeadPitch") == 0.2
    assert {event.command for event in world.told(Executed)} == {2, 3}


def test_group_may_use_leaves_without_a_device(world: World) -> None:
    token = world.take("greet", "Head", "Speech")
    assert world.gate.submit_all(token, {**HEAD, "Speech": None}) is None
    world.flush()
    assert len(world.told(Executed)) == 3
    with pytest.raises(UnknownName, match="'Speach'"):
        world.gate.submit_all(token, {**HEAD, "Speach": None})


@pytest.mark.parametrize("lost", ["LKneePitch", "Stiffness"])
def test_whole_body_command_needs_every_leaf(world: World, lost: str) -> None:
    token = world.take("stand", "All motors", "Stiffness", loss=Loss.PARTIAL)
    world.ledger.add_owner(Owner(name="test leg"), 0)
    world.ledger.entrust("test leg", 0)  # may hold the stiffness without the motors
    world.take("test leg", lost, priority=5)
    angles = world.robot.q
    for submit, values, leaf in (
        (world.gate.submit_set_points, angles, "LKneePitch"),
        (world.gate.submit_stiffness, np.full(len(angles), 0.5), "Stiffness"),
    ):
        refused = submit(token, values)
        is_hit = lost in (leaf, "LKneePitch")  # a motor's holder has its stiffness
        assert (refused is not None) is is_hit
        if refused is not None:
            assert (refused.resource, refused.reason) == (leaf, Refusal.NOT_COVERED)


def test_group_without_a_token_is_rejected(world: World) -> None:
    n = len(world.robot.q)
    for refused in (
        world.gate.submit_all(None, HEAD),
        world.gate.submit_set_points(None, world.robot.q),
        world.gate.submit_stiffness(None, np.ones(n)),
    ):
        assert refused is not None
        assert refused.reason is Refusal.NO_TOKEN


def test_batch_of_several_tokens_is_written_in_one_step(world: World) -> None:
    look, reach = world.take("look", "Head"), world.take("reach", "LElbowRoll")
    batch = world.gate.submit_together([(look, HEAD), (reach, {"LElbowRoll": -0.5})])
    assert batch.refused is None
    assert world.flush() == ()
    assert not batch.is_broken
    assert len(world.robot.commands) == 1
    assert world.target_of("HeadYaw") == HEAD["HeadYaw"]
    assert world.target_of("LElbowRoll") == -0.5


def test_batch_with_a_released_token_is_rejected(world: World) -> None:
    look, reach = world.take("look", "Head"), world.take("reach", "LElbowRoll")
    world.ledger.release(reach, 0)
    batch = world.gate.submit_together([(look, HEAD), (reach, {"LElbowRoll": -0.5})])
    assert batch.is_broken
    assert batch.refused is not None
    assert batch.refused.reason is Refusal.RELEASED
    world.flush()
    assert not world.robot.commands


def test_token_expiring_in_the_slot_breaks_the_whole_batch(
    world: World,
) -> None:
    look, reach = world.take("look", "Head"), world.take("reach", "LElbowRoll")
    batch = world.gate.submit_together([(look, HEAD), (reach, {"LElbowRoll": -0.5})])
    world.ledger.drop("reach", 0)
    assert world.flush() == (Refusal.EXPIRED,)
    assert batch.is_broken
    assert batch.refused is not None
    assert batch.refused.resource == "LElbowRoll"
    assert not world.robot.commands
    assert not world.told(Executed)


def test_batch_broken_by_its_sender_is_not_written(world: World) -> None:
    look = world.take("look", "Head")
    batch = world.gate.submit_together([(look, HEAD)])
    batch.is_broken = True
    assert world.flush() == ()
    assert not world.robot.commands


def test_leaf_with_two_commands_in_a_batch_is_rejected(world: World) -> None:
    look = world.take("look", "Head")
    with pytest.raises(BadInput, match="'HeadYaw' has two commands in one batch"):
        world.gate.submit_together([(look, HEAD), (look, {"HeadYaw": 0.0})])
    world.flush()
    assert not world.robot.commands


def test_present_set_points_are_the_last_ones_written(world: World) -> None:
    look, present = world.take("look", "Head"), world.gate.present
    before = present["HeadYaw"]
    assert before == world.target_of("HeadYaw")
    world.gate.submit(look, "HeadYaw", 0.3)
    assert present["HeadYaw"] == before
    world.robot.fails = True
    with pytest.raises(OSError, match="no answer"):
        world.flush()
    assert present["HeadYaw"] == before
    world.robot.fails = False
    world.gate.submit(look, "HeadYaw", 0.3)
    world.flush()
    assert present["HeadYaw"] == 0.3
    assert set(present) == set(world.robot.robot.motor_names)
    assert len(present) == len(world.robot.robot.motor_names)
    assert present["LHipYawPitch"] == world.target_of("LHipYawPitch")


@pytest.mark.parametrize("lost", ["before", "in the slot", "not at all"])
@pytest.mark.requirement("I-23")
def test_batch_can_depend_on_rights_without_a_command(world: World, lost: str) -> None:
    look, speak = world.take("look", "Head"), world.take("speak", "Speech")
    if lost == "before":
        world.ledger.release(speak, world.ledger.tick)
    batch = world.gate.submit_together([(look, HEAD)], [(speak, ["Speech"])])
    assert batch.is_broken is (lost == "before")
    if lost == "in the slot":
        world.ledger.release(speak, world.ledger.tick)
    late = [Refusal.RELEASED] if lost == "in the slot" else []
    assert list(world.flush()) == late
    assert bool(world.robot.commands) is (lost == "not at all")
    assert batch.why == ("" if lost == "not at all" else "Speech: RELEASED")
    told = [(event.resource, event.reason) for event in world.told(Rejected)]
    assert told == ([] if lost == "not at all" else [("Speech", Refusal.RELEASED)])
    assert not world.checker.finish()


# -- batches next to single commands: all or nothing ---------------------------------


def test_later_command_breaks_a_batch(world: World) -> None:
    look = world.take("look", "Head")
    before = world.target_of("HeadYaw")
    batch = world.gate.submit_together([(look, HEAD)])
    world.gate.submit(look, "HeadPitch", 0.2)
    assert world.flush() == ()
    assert batch.is_broken
    assert batch.why == "HeadPitch: replaced by a later command"
    assert world.target_of("HeadPitch") == 0.2
    assert world.target_of("HeadYaw") == before


LEAVES = ("HeadYaw", "HeadPitch", "LElbowRoll", "LElbowYaw")


@dataclass
class Sent:
    """A command or a batch as sent."""

    values: dict[str, float]
    tokens: dict[str, Token]
    batch: Batch | None = None


@dataclass
class Model:
    """Reference: the set-points written, given the commands and the holders."""

    sent: list[Sent] = field(default_factory=list)

    def written(self, world: World) -> dict[str, float]:
        found: dict[str, float] = {}
        for one in reversed(self.sent):
            stands = all(
                world.ledger.authorise(one.tokens[leaf], leaf) is None
                for leaf in one.values
            )
            if one.batch is not None:
                stands = stands and not set(one.values) & set(found)
            if stands:
                found |= {x: v for x, v in one.values.items() if x not in found}
        return found


@pytest.mark.parametrize("seed", range(150))
def test_random_slots_agree_with_the_model(nao: Robot, seed: int) -> None:
    random, world = Random(seed), World.of(nao)
    tokens = {
        leaf: world.take(f"owner {leaf}", leaf, loss=Loss.PARTIAL) for leaf in LEAVES
    }
    for tick in range(6):
        model = Model()
        target = {leaf: world.target_of(leaf) for leaf in LEAVES}
        for _ in range(random.randint(1, 6)):
            chosen = random.sample(LEAVES, random.randint(1, 3))
            values = {leaf: round(random.uniform(-0.4, -0.1), 3) for leaf in chosen}
            if any(world.ledger.authorise(tokens[x], x) is not None for x in chosen):
                continue  # rejected on submission: see other tests
            sent = Sent(values, {leaf: tokens[leaf] for leaf in chosen})
            if len(chosen) > 1:
                parts = [(tokens[leaf], {leaf: values[leaf]}) for leaf in chosen]
                sent.batch = world.gate.submit_together(parts)
            else:
                world.gate.submit(tokens[chosen[0]], chosen[0], values[chosen[0]])
            model.sent.append(sent)
            if random.random() < 0.15:
                lost = random.choice(LEAVES)
                if world.ledger.authorise(tokens[lost], lost) is None:
                    world.ledger.release(tokens[lost], tick)
        expected = {**target, **model.written(world)}
        safe = {
            leaf
            for leaf in LEAVES
            if world.ledger.authorise(tokens[leaf], leaf) is not None
        }
        world.ledger.advance(tick)
        world.gate.flush(tick)
        for leaf in LEAVES:
            if leaf not in safe:
                assert world.target_of(leaf) == expected[leaf], (tick, leaf)
        for one in model.sent:
            if one.batch is not None:
                is_written = all(expected[x] == v for x, v in one.values.items())
                assert one.batch.is_broken is not is_written, (tick, one)
        for leaf in safe:
            tokens[leaf] = world.take(f"owner {leaf}", leaf, loss=Loss.PARTIAL)
    assert not world.checker.finish()
