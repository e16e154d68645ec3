"""A scenario as its runner gets it: every name known, every time a whole slot."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nao_testbed.controllers.arbitration.manager.ledger import Listener
from nao_testbed.controllers.schemas.waking import Waking
from nao_testbed.experiments.scenarios.vocabulary.events import ScenarioEvent
from nao_testbed.experiments.scenarios.vocabulary.judge import Expectation
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.experiments.shared_robot.robot_with_ledger import RobotWithLedgerCfg
from nao_testbed.models import Robot
from nao_testbed.models.library import Library, Unit


@dataclass(frozen=True, kw_only=True)
class Behaviour(Waking):
    """A schema that runs: how it is woken, and where it stands in the file."""

    path: str
    """Names from the top to it, with `/`: its name as an owner."""
    children: tuple["Behaviour", ...] = ()
    """In their static order, the first one the highest."""
    start_tick: int | None = 0
    """When it is woken; None waits for an event. Only for the top level."""
    owner_parent: str | None = None
    """Path of the owner that it is a part of, other than the one above it."""
    line: int = 0
    """Of the file."""

    def __post_init__(self) -> None:
        """Refuse nothing: its reader notes what is wrong, each with its place."""

    def check(self) -> None:
        """Refuse what cannot be woken; errors as of `Waking`."""
        super().__post_init__()

    def walk(self) -> Iterator["Behaviour"]:
        """Yield it and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, kw_only=True)
class Scenario(RobotWithLedgerCfg):
    """All that a run needs: the setting of the robot, and who wants what of it."""

    name: str
    about: str
    path: Path
    """Its file."""
    text: str
    """Of the file, for the run folder."""
    robot: Robot
    """With the body that the scenario begins with, and its own library."""
    body: str | None
    posture: str
    """In which it begins."""
    duration_ticks: int
    seed: int
    controller: str
    """Stiffness controller, as `nao-testbed heat` names it."""
    delays: Mapping[Unit, float]
    """What the converters really take, in s."""
    library: Library
    """The robot's, and what the file brings."""
    behaviours: tuple[Behaviour, ...]
    """Of the top level, in the order of acting."""
    events: tuple[ScenarioEvent, ...]
    """In the order of the file; of one slot, they take place in this order."""
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
        """Place the robot and make every behaviour known; arguments as of `Setup`."""
        return Setup(
            self.robot,
            self,
            [(one, one.owner_parent) for one in self.behaviours],
            controller=self.controller,
            seed=self.seed,
            listeners=listeners,
        )
