"""Current limits pass the gate with the stiffness and its token."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nao_testbed.controllers.arbitration.tokens import Refusal
from nao_testbed.controllers.interface.robot_interface import MotorLimit
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray
from tests.controllers.arbitration.gate_setup import World

pytestmark = pytest.mark.requirement("ST-29")


def sent(world: World) -> FloatArray:
    """Return the current limit of the last command."""
    limit = world.robot.commands[-1].current_limit
    assert limit is not None
    return limit


def test_current_limit_reaches_the_robot_with_its_stiffness(world: World) -> None:
    n = len(world.robot.q)
    token = world.take("limits", "Stiffness")
    current = np.full(n, np.inf)
    current[3] = 0.4
    assert world.gate.submit_stiffness(token, np.full(n, 0.7), current) is None
    assert world.flush() == ()
    assert_array_equal(sent(world), current)
    assert world.robot.stiffness.tolist() == [0.7] * n
    limit = MotorLimit(stiffness=0.5, current=0.2)
    assert world.gate.submit(token, "Stiffness", limit) is None
    world.flush()
    assert_array_equal(sent(world), np.full(n, 0.2))


def test_stiffness_alone_clears_the_current_limit(world: World) -> None:
    n = len(world.robot.q)
    token = world.take("limits", "Stiffness")
    world.gate.submit(token, "Stiffness", MotorLimit(stiffness=1.0, current=0.2))
    world.flush()
    world.gate.submit(token, "Stiffness", 0.9)
    world.flush()
    assert_array_equal(sent(world), np.full(n, np.inf))


def test_stiffness_without_a_limit_sends_no_current_limit(world: World) -> None:
    token = world.take("limits", "Stiffness")
    world.gate.submit(token, "Stiffness", 0.9)
    world.flush()
    (command,) = world.robot.commands
    assert command.current_limit is None


def test_current_limit_needs_the_token_of_the_stiffness(world: World) -> None:
    limit = MotorLimit(stiffness=1.0, current=0.0)
    n = len(world.robot.q)
    for token in (None, world.take("look", "HeadYaw")):
        refused = world.gate.submit(token, "Stiffness", limit)
        assert refused is not None
        refused = world.gate.submit_stiffness(token, np.ones(n), np.zeros(n))
        assert refused is not None
        assert refused.reason in {Refusal.NO_TOKEN, Refusal.NOT_COVERED}
        world.flush()
    assert not world.robot.commands


def test_token_lost_before_the_slot_sets_no_limit(world: World) -> None:
    token = world.take("limits", "Stiffness")
    world.gate.submit(token, "Stiffness", MotorLimit(stiffness=1.0, current=0.0))
    world.ledger.release(token, 0)
    assert world.flush() == (Refusal.RELEASED,)
    assert not world.robot.commands


@pytest.mark.parametrize("value", [-0.1, np.nan, "much", [0.1, 0.2], [[0.1]]])
def test_invalid_current_limit_is_rejected_on_submission(
    world: World, value: object
) -> None:
    token = world.take("limits", "Stiffness")
    limit = MotorLimit(stiffness=1.0, current=value)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="current limit"):
        world.gate.submit(token, "Stiffness", limit)
    n = len(world.robot.q)
    with pytest.raises(BadInput, match="current limit"):
        world.gate.submit_stiffness(token, np.ones(n), value)  # type: ignore[arg-type]
