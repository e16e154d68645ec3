"""Robots with a ledger, closed after the test, and the trace of their events."""

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
    """The trace of the robots that `couple` makes."""
    return []


@pytest.fixture
def couple(nao: Robot, events: list[Event]) -> Iterator[Couple]:
    made: list[RobotWithLedger] = []

    def make(robot: Robot | str = "H25", **settings: object) -> RobotWithLedger:
        """Return a robot, or the NAO with the body of this name."""
        cfg = RobotWithLedgerCfg(**settings)  # type: ignore[arg-type]
        chosen = nao.with_body(robot) if isinstance(robot, str) else robot
        made.append(RobotWithLedger(chosen, cfg, listeners=(events.append,)))
        return made[-1]

    yield make
    for robot in made:
        robot.close()


def take(body: RobotWithLedger, owner: str, *resources: str) -> Token:
    """Return the token of an owner that has just become known."""
    body.ledger.add_owner(Owner(name=owner), body.tick)
    request = Request(owner=owner, resources=resources)
    return body.ledger.request(request, body.tick).token
