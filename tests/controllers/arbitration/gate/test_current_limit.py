"""A current limit goes through the gate with the stiffness, by the same token."""

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


def test_it_reaches_the_robot_with_its_stiffness(world: World) -> None:
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


def test_a_stiffness_alone_lifts_the_limit_of_the_command_before(world: World) -> None:
    n = len(world.robot.q)
    token = world.take("limits", "Stiffness")
    world.gate.submit(token, "Stiffness", MotorLimit(stiffness=1.0, current=0.2))
    world.flush()
    world.gate.submit(token, "Stiffness", 0.9)
    world.flush()
    assert_array_equal(sent(world), np.full(n, np.inf))


def test_who_limits_no_current_sends_none(world: World) -> None:
    token = world.take("limits", "Stiffness")
    world.gate.submit(token, "Stiffness", 0.9)
    world.flush()
    (command,) = world.robot.commands
    assert command.current_limit is None


def test_without_the_token_of_the_stiffness_nothing_is_limited(world: World) -> None:
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


def test_who_loses_the_token_before_the_slot_limits_nothing(world: World) -> None:
    token = world.take("limits", "Stiffness")
    world.gate.submit(token, "Stiffness", MotorLimit(stiffness=1.0, current=0.0))
    world.ledger.release(token, 0)
    assert world.flush() == (Refusal.RELEASED,)
    assert not world.robot.commands


@pytest.mark.parametrize("value", [-0.1, np.nan, "much", [0.1, 0.2], [[0.1]]])
def test_a_limit_without_meaning_is_refused_at_the_door(
    world: World, value: object
) -> None:
    token = world.take("limits", "Stiffness")
    limit = MotorLimit(stiffness=1.0, current=value)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="current limit"):
        world.gate.submit(token, "Stiffness", limit)
    n = len(world.robot.q)
    with pytest.raises(BadInput, match="current limit"):
        world.gate.submit_stiffness(token, np.ones(n), value)  # type: ignore[arg-type]
