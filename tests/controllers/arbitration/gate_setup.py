"""A gate with a robot that records commands, and a small resource tree."""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers import Command, Observation
from nao_testbed.controllers.arbitration.events import Event, Rejected
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.device_map import map_devices
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import Loss, Preemption, Refusal, Token
from nao_testbed.models import Robot
from nao_testbed.models.resources import Device, DeviceKind, ResourceKind, ResourceNode
from nao_testbed.testing import TraceChecker

E = TypeVar("E", bound=Event)


def motor(name: str) -> ResourceNode:
    return ResourceNode(name=name, device=Device(kind=DeviceKind.MOTOR, names=(name,)))


def limits(name: str, *groups: str) -> ResourceNode:
    return ResourceNode(
        name=name, device=Device(kind=DeviceKind.STIFFNESS, names=groups)
    )


def node(name: str, *children: ResourceNode) -> ResourceNode:
    return ResourceNode(name=name, children=children)


def leaf(name: str, kind: ResourceKind = ResourceKind.EXCLUSIVE) -> ResourceNode:
    return ResourceNode(name=name, kind=kind)


EYES = ResourceNode(
    name="Eyes",
    device=Device(kind=DeviceKind.LEDS, names=("LeftFaceLeds", "RightFaceLeds")),
)


def whole_tree(robot: Robot) -> ResourceNode:
    """Return every motor, one stiffness for all joints, and leaves without joints."""
    head = node("Head", motor("HeadYaw"), motor("HeadPitch"))
    others = [motor(n) for n in robot.motor_names if not n.startswith("Head")]
    return node(
        "root",
        node("All motors", head, *others),
        limits("Stiffness", *robot.joint_names),
        leaf("Speech"),
        EYES,
        leaf("Processor", ResourceKind.CUMULATIVE),
        node(
            "State",
            leaf("Stand", ResourceKind.STATE),
            leaf("Sit", ResourceKind.STATE),
        ),
    )


class KeepingRobot:
    """Robot that applies commands at once and records them."""

    def __init__(self, robot: Robot) -> None:
        n = len(robot.joints)
        self._robot = robot
        self.q = robot.posture("PoseInit").angles.copy()
        self.commands: list[Command] = []
        self.target = self.q.copy()
        self.stiffness = np.ones(n)
        self.fails = False
        """True: `write` raises an error."""

    @property
    def robot(self) -> Robot:
        return self._robot

    def read(self) -> Observation:
        n, zeros = len(self._robot.motors), np.zeros(3)
        return Observation(
            time_s=0.0,
            q=self.q.copy(),
            v=np.zeros_like(self.q),
            target=self.target.copy(),
            stiffness=self.stiffness.copy(),
            current=np.zeros(n),
            temperature=np.zeros(n),
            gyro=zeros,
            accelerometer=zeros,
            fsr=zeros,
        )

    def write(self, command: Command) -> None:
        if self.fails:
            raise OSError("no answer")
        self.commands.append(command)
        if command.target is not None:
            self.target = command.target.copy()
        if command.stiffness is not None:
            self.stiffness = command.stiffness.copy()

    def step(self, ticks: int) -> None:
        del ticks

    def close(self) -> None:
        pass


@dataclass
class World:
    """A ledger, its gate, and the robot."""

    robot: KeepingRobot
    ledger: Ledger
    gate: Gate
    checker: TraceChecker
    """Checks the invariants of the whole trace."""
    events: list[Event]
    """Of the trace, without the initial list of resources."""
    beginning: tuple[Event, ...] = ()
    """Initial list of resources."""

    @classmethod
    def of(
        cls,
        robot: Robot,
        root: ResourceNode | None = None,
        *,
        tells_commands: bool = True,
    ) -> "World":
        root = root or whole_tree(robot)
        keeping = KeepingRobot(robot)
        cfg = LedgerCfg(
            preemption=Preemption.BY_PRIORITY, tells_commands=tells_commands
        )
        events: list[Event] = []
        checker = TraceChecker()
        ledger = Ledger(ResourceTree(root), cfg, listeners=[events.append, checker.see])
        gate = Gate(ledger, keeping, map_devices(root, robot))
        beginning = tuple(events)
        events.clear()
        return cls(keeping, ledger, gate, checker, events, beginning)

    def take(
        self, owner: str, *names: str, priority: int = 0, loss: Loss = Loss.WHOLE
    ) -> Token:
        """Return the token of resources that are granted at once."""
        self.ledger.add_owner(Owner(name=owner, priority=priority), self.ledger.tick)
        token = self.ask(Request(owner=owner, resources=names, loss=loss))
        assert token is not None, f"{owner} was not granted {names}"
        return token

    def ask(self, request: Request) -> Token | None:
        """Request for a known owner; None if it would have to wait."""
        once = replace(request, timeout_s=0.0)
        outcome = self.ledger.request(once, self.ledger.tick).outcome
        return outcome.token if outcome else None

    def flush(self) -> tuple[str, ...]:
        """Go to the next tick and flush; return the reasons of late refusals."""
        tick = self.ledger.tick + 1
        self.ledger.advance(tick)
        return tuple(late.reason for late in self.gate.flush(tick))

    def joint(self, name: str) -> int:
        return self.robot.robot.joint_index(name)

    def target_of(self, name: str) -> float:
        """Return the set-point in force, in rad."""
        return float(self.robot.target[self.joint(name)])

    def stiffness_of(self, name: str) -> float:
        return float(self.robot.stiffness[self.joint(name)])

    def told(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


def ramp(n: int) -> NDArray[np.float64]:
    """Return a different stiffness for each of n joints."""
    return np.linspace(0.2, 0.9, n)


def reason_of(rejected: Rejected | None) -> Refusal | None:
    """Return the reason of a rejection; None if there is none."""
    return None if rejected is None else rejected.reason
