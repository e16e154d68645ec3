"""Scenario for the runner, with resolved names and times in slots."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nao_testbed.controllers.arbitration.manager.ledger import Listener
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.experiments.scenarios.vocabulary.events import ScenarioEvent
from nao_testbed.experiments.scenarios.vocabulary.judge import Expectation
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedgerCfg
from nao_testbed.models import Robot
from nao_testbed.models.library import Library, Unit


@dataclass(frozen=True, kw_only=True)
class Behaviour(Activation):
    """Behaviour: activation data of a schema, and its place in the file."""

    path: str
    """Names from the top level down, joined with `/`; its name as an owner."""
    children: tuple["Behaviour", ...] = ()
    """Children in their static order, highest first."""
    start_tick: int | None = 0
    """Slot of its activation; None: activated by an event. Only for the top level."""
    owner_parent: str | None = None
    """Path of the parent owner, if it differs from the parent behaviour."""
    line: int = 0
    """Line of the file."""

    def __post_init__(self) -> None:
        """Skip the validation: the reader reports errors with their places."""

    def check(self) -> None:
        """Validate the activation data; errors as in `Activation`."""
        super().__post_init__()

    def walk(self) -> Iterator["Behaviour"]:
        """Yield the behaviour and its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, kw_only=True)
class Scenario(RobotWithLedgerCfg):
    """Input of a run: setting of the robot, behaviours, events, expectations."""

    name: str
    about: str
    path: Path
    """Path of its file."""
    text: str
    """Text of the file, for the run folder."""
    robot: Robot
    """Robot with the initial body and the library of the file."""
    body: str | None
    posture: str
    """Initial posture."""
    duration_ticks: int
    seed: int
    controller: str
    """Stiffness controller, in the format of `nao-testbed heat`."""
    delays: Mapping[Unit, float]
    """Actual delays of the converters, in s."""
    library: Library
    """Library of the robot, extended by the file."""
    behaviours: tuple[Behaviour, ...]
    """Behaviours of the top level, in the order of acting."""
    events: tuple[ScenarioEvent, ...]
    """Events in the order of the file, which is also their order within a slot."""
    expectations: tuple[Expectation, ...]

    @property
    def tick_s(self) -> float:
        """Length of a slot in s."""
        return self.ledger.tick_s

    @property
    def duration_s(self) -> float:
        """Simulated time in s."""
        return self.duration_ticks * self.tick_s

    def walk(self) -> Iterator[Behaviour]:
        """Yield every behaviour of the file, parents before children."""
        for behaviour in self.behaviours:
            yield from behaviour.walk()

    def set_up(self, listeners: Iterable[Listener] = ()) -> Setup:
        """Place the robot and register all behaviours; arguments as in `Setup`."""
        return Setup(
            self.robot,
            self,
            [(one, one.owner_parent) for one in self.behaviours],
            controller=self.controller,
            seed=self.seed,
            listeners=listeners,
        )
