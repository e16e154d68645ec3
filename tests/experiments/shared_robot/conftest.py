"""Robots with a ledger, closed after the test, and their event trace."""

from collections.abc import Callable, Iterator

import pytest

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from nao_testbed.models import Robot

Couple = Callable[..., RobotWithLedger]


@pytest.fixture
def events() -> list[Event]:
    """Event trace of the robots that `couple` creates."""
    return []


@pytest.fixture
def couple(nao: Robot, events: list[Event]) -> Iterator[Couple]:
    made: list[RobotWithLedger] = []

    def make(robot: Robot | str = "H25", **settings: object) -> RobotWithLedger:
        """Return a robot with ledger, by default the NAO with the named body."""
        cfg = RobotWithLedgerCfg(**settings)  # type: ignore[arg-type]
        chosen = nao.with_body(robot) if isinstance(robot, str) else robot
        made.append(RobotWithLedger(chosen, cfg, listeners=(events.append,)))
        return made[-1]

    yield make
    for robot in made:
        robot.close()


def take(body: RobotWithLedger, owner: str, *resources: str) -> Token:
    """Register an owner and return the token of its resources."""
    body.ledger.add_owner(Owner(name=owner), body.tick)
    request = Request(owner=owner, resources=resources)
    return body.ledger.request(request, body.tick).token
