"""Commands of the example arbiter, at a gate with a robot (E6)."""

from collections.abc import Iterator

import pytest

from nao_testbed.controllers.arbitration.events import Executed
from nao_testbed.controllers.arbitration.tokens import Loss, Refusal, Token
from nao_testbed.models import Robot
from nao_testbed.models.resources import Device, DeviceKind, ResourceNode
from tests.controllers.arbitration.gate_setup import World, leaf, node

LEFT, RIGHT = 0.5, -0.5
"""Set-points of HeadYaw, in rad."""


def part(name: str, motor: str) -> ResourceNode:
    return ResourceNode(name=name, device=Device(kind=DeviceKind.MOTOR, names=(motor,)))


ROOT = node(
    "robot",
    part("left arm", "LShoulderPitch"),
    part("head", "HeadYaw"),
    leaf("vision"),
    leaf("speaker"),
    leaf("base"),
)


class Drawn:
    """C and B have tokens; then A preempts head and vision of B."""

    def __init__(self, robot: Robot, loss: Loss) -> None:
        self.world = World.of(robot, ROOT)
        self.c = self.world.take("C", "left arm", priority=5)
        self.b = self.world.take(
            "B", "head", "vision", "speaker", priority=2, loss=loss
        )
        self.a = self.world.take("A", "head", "vision", "base", priority=9)

    def answer(
        self, token: Token | None, part: str, value: float | None
    ) -> Refusal | None:
        """Submit one command and flush; return its refusal."""
        refused = self.world.gate.submit(token, part, value)
        late = self.world.flush()
        assert not late
        return refused.reason if refused else None


@pytest.fixture
def drawn(nao: Robot, loss: Loss) -> Iterator[Drawn]:
    drawn = Drawn(nao, loss)
    yield drawn
    assert not drawn.world.checker.finish()


@pytest.mark.requirement("AR-9", "AR-10", "AR-11", "AR-12", "AR-31")
@pytest.mark.parametrize("loss", [Loss.WHOLE])
def test_only_the_holder_moves_the_head(drawn: Drawn) -> None:
    world = drawn.world
    assert drawn.answer(drawn.a, "head", LEFT) is None
    assert world.target_of("HeadYaw") == LEFT
    never_issued = drawn.a._replace(sequence=drawn.a.sequence + 1)
    for token, reason in (
        (drawn.b, Refusal.REVOKED),
        (drawn.c, Refusal.NOT_COVERED),
        (None, Refusal.NO_TOKEN),
        (never_issued, Refusal.UNKNOWN),
    ):
        assert drawn.answer(token, "head", RIGHT) is reason
        assert world.target_of("HeadYaw") == LEFT
    assert drawn.answer(drawn.c, "left arm", 0.2) is None
    assert world.target_of("LShoulderPitch") == 0.2
    executed = [(e.token, e.resource) for e in world.told(Executed)]
    assert executed == [(drawn.a.id, "head"), (drawn.c.id, "left arm")]


@pytest.mark.requirement("AR-19", "AR-20")
@pytest.mark.parametrize(
    ("loss", "answer"), [(Loss.WHOLE, Refusal.REVOKED), (Loss.PARTIAL, None)]
)
def test_speaker_is_lost_or_kept_with_the_kind_of_loss(
    drawn: Drawn, answer: Refusal | None
) -> None:
    assert drawn.answer(drawn.b, "speaker", None) is answer
    spoke = any(event.resource == "speaker" for event in drawn.world.told(Executed))
    assert spoke is (answer is None)


@pytest.mark.requirement("AR-25", "AR-32")
@pytest.mark.parametrize("loss", [Loss.WHOLE])
def test_token_still_moves_the_head_after_releasing_the_base(drawn: Drawn) -> None:
    drawn.world.ledger.release(drawn.a, drawn.world.ledger.tick, ["base"])
    assert drawn.answer(drawn.a, "base", None) is Refusal.NOT_COVERED
    assert drawn.answer(drawn.a, "head", LEFT) is None
