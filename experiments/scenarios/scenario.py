"""A scenario as its runner gets it: every name known, every time a whole slot."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controllers.arbitration.manager.ledger import Listener
from controllers.arbitration.manager.state import LedgerCfg
from controllers.arbitration.policies import ConflictPolicy
from controllers.schemas.waking import Waking
from controllers.transmitter.buses.bus import TransmitterCfg, Watch
from controllers.transmitter.commands.converter import CONVERSION_S
from controllers.transmitter.commands.issuing import CommandControllerCfg, Enable
from experiments.closed_loop.robot_with_ledger import RobotWithLedgerCfg
from experiments.scenarios.vocabulary.events import ScenarioEvent
from experiments.scenarios.vocabulary.judge import Expected
from experiments.scenarios.vocabulary.setup import Setup
from models import Robot
from models.library import Library, Unit
from sim.robot import SimulationCfg


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """A schema that runs, with its parameters and its habits as an owner."""

    name: str
    path: str
    """Names from the top to it, with `/`: its name as an owner."""
    schema: str
    """Registered name."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Name to value, as the schema accepts them; the others keep their defaults."""
    children: tuple["Behaviour", ...] = ()
    """In their static order, the first one the highest."""
    needs: tuple[str, ...] | None = None
    """Resources that it asks for when it wins; None: those that its schema declares."""
    optional: tuple[str, ...] | None = None
    rates: Mapping[str, float] | None = None
    policy: ConflictPolicy | None = None
    """None: Lock."""
    priority: int | None = None
    timeout_s: float = 5.0
    start_tick: int | None = 0
    """When it is woken; None waits for an event. Only for the top level."""
    owner_parent: str | None = None
    """Path of the owner that it is a part of, other than the one above it."""
    line: int = 0
    """Of the file."""

    def walk(self) -> Iterator["Behaviour"]:
        """Yield it and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()

    def as_waking(self, order: int = 0) -> Waking:
        """Return how its schema is to be woken, with all below it.

        Args:
            order: its rank among its siblings.
        """
        n = len(self.children)
        return Waking(
            schema=self.schema,
            name=self.name,
            parameters=self.parameters,
            order=order,
            needs=self.needs,
            optional=self.optional,
            rates=self.rates,
            priority=self.priority,
            policy=self.policy,
            timeout_s=self.timeout_s,
            children=tuple(c.as_waking(n - i) for i, c in enumerate(self.children)),
        )


@dataclass(frozen=True, kw_only=True)
class TransmitterPlan:
    """How outputs are put on buses."""

    buses: Mapping[str, tuple[Unit, ...]] = field(
        default_factory=lambda: {"main": tuple(Unit)}
    )
    """Bus to the units that it serves."""
    mode: str = "watching"
    """`watching` or `elected`."""
    enable: str = "expected"
    """When synchronous outputs are asked for: `expected`, `at end` or `early`."""
    early_ticks: int | None = None
    """`early`: so many slots earlier than `expected`."""
    time_to_live_s: float = 10.0
    """A group that is not complete by then is deleted."""
    conversion_s: Mapping[Unit, float] = field(default_factory=dict)
    """What each converter takes, and knows of; absent: its default."""
    late_s: Mapping[Unit, float] = field(default_factory=dict)
    """What it takes beyond that, and nobody expects."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """All that a run needs."""

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
    """Stored posture in which it begins, at rest."""
    duration_ticks: int
    seed: int
    controller: str
    """Stiffness controller, as `nao-testbed heat` names it."""
    voice: str
    """As `controllers.speech.make_voice` names it."""
    simulation: SimulationCfg
    ledger: LedgerCfg
    transmitter: TransmitterPlan
    library: Library
    """The robot's, and what the file brings."""
    behaviours: tuple[Behaviour, ...]
    """Of the top level, in the order of acting."""
    events: tuple[ScenarioEvent, ...]
    """In the order of the file; of one slot, they take place in this order."""
    expectations: tuple[Expected, ...]

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
            self._robot_with_ledger(),
            [(one.as_waking(), one.owner_parent) for one in self.behaviours],
            controller=self.controller,
            seed=self.seed,
            listeners=listeners,
        )

    def _robot_with_ledger(self) -> RobotWithLedgerCfg:
        plan = self.transmitter
        early = plan.early_ticks
        expected = {**CONVERSION_S, **plan.conversion_s}
        return RobotWithLedgerCfg(
            posture=self.posture,
            simulation=self.simulation,
            ledger=self.ledger,
            library=self.library,
            voice=self.voice,
            transmitter=TransmitterCfg(
                buses=plan.buses, watch=Watch(plan.mode), ttl_s=plan.time_to_live_s
            ),
            commands=CommandControllerCfg(
                enable=Enable(plan.enable.replace(" ", "_")),
                early_s=0.0 if early is None else early * self.tick_s,
                conversion_s=expected,
            ),
            delays={u: expected[u] + plan.late_s.get(u, 0.0) for u in Unit},
        )
