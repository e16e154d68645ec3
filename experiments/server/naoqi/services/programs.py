"""ALBehaviorManager, ALAnimationPlayer, ALAutonomousLife, ALSystem, ALRobotModel."""

import shutil
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.requests import Ticket
from nao_testbed.controllers.schemas.library.common import needs_of_command
from nao_testbed.controllers.transmitter.commands.order import PlacedOrder
from nao_testbed.experiments.server.naoqi.arguments import Value
from nao_testbed.experiments.server.naoqi.memory.memory_keys import CONFIG
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.served_robot import fail, finish, on_cancel
from nao_testbed.experiments.server.naoqi.service import (
    NAOQI_VERSION,
    ALService,
    Blocks,
)
from nao_testbed.models import BadInput, TestbedError, UnknownName

LIFE_STATES = ("solitary", "interactive", "safeguard", "disabled")
ABILITIES = (
    "BasicAwareness",
    "AutonomousBlinking",
    "BackgroundMovement",
    "ListeningMovement",
    "SpeakingMovement",
)
MEMORY_KB = 1_048_576


@dataclass
class _Running:
    """Behaviour, until it has ended."""

    name: str
    owner: str
    ticket: Ticket
    started: Blocks
    done: Blocks
    order: PlacedOrder | None = None


class Programs:
    """Behaviours and settings of the robot, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Create it without running behaviours."""
        self._parts, self._served = parts, parts.served
        self.installed = sorted(parts.served.robot.library.orders)
        self.defaults: list[str] = []
        self.running: dict[str, _Running] = {}
        self.life = "disabled"
        parts.served.each_slot.append(lambda tick, _: self._step(tick))

    def check(self, name: str) -> str:
        """Return the name of an installed behaviour.

        Raises:
            UnknownName: no behaviour has this name.
        """
        if name not in self.installed:
            raise UnknownName("Behavior", name, self.installed, "the robot")
        return name

    def start(self, client: str, name: str) -> _Running:
        """Request a behaviour's resources, and start it when they are granted.

        Raises:
            BadInput: the behaviour already runs.
        """
        self.check(name)
        with self._served.access():
            if name in self.running:
                raise BadInput(f"behavior {name!r} is already running.")
            owner = f"{client}/behavior {name}"
            self._served.add_owner(owner, client)
            needs = needs_of_command(self._served.robot, name)
            ticket = self._served.request(owner, needs, LONGEST_S)
            one = _Running(name, owner, ticket, Future(), Future())
            self.running[name] = one
            for future in (one.started, one.done):
                on_cancel(future, lambda: self._stop(one))
            self._raise_event()
            return one

    def stop(self, name: str) -> None:
        """End a running behaviour."""
        with self._served.access():
            one = self.running.get(name)
            if one is not None:
                self._stop(one)

    def _stop(self, one: _Running) -> None:
        with self._served.access():
            if self.running.get(one.name) is one:
                self._end(one)

    def _step(self, tick: int) -> None:
        for one in list(self.running.values()):
            outcome = one.ticket.outcome
            if not self._served.body.ledger.knows(one.owner):
                self._end(
                    one,
                    BadInput(f"the client that started {one.name!r} has disconnected."),
                )
            elif outcome is None:
                continue
            elif outcome.token is None:
                self._end(one, TestbedError(f"{one.name!r} was refused: {outcome}"))
            elif one.order is None:
                try:
                    one.order = self._served.body.commands.submit(
                        one.name, outcome.token, tick
                    )
                except TestbedError as error:
                    self._end(one, error)
                else:
                    finish(one.started)
            elif one.order.is_over:
                why = one.order.refused or one.order.reason
                failed = one.order.has_failed
                said = f"{one.name!r} failed: {why} {one.order.detail}"
                self._end(one, TestbedError(said) if failed else None)

    def _end(self, one: _Running, error: Exception | None = None) -> None:
        self.running.pop(one.name, None)
        body = self._served.body
        if one.order is not None and not one.order.is_over:
            body.commands.withdraw(one.order, self._served.tick)
        if body.ledger.knows(one.owner):
            body.ledger.forget_owner(one.owner, body.ledger.tick)
        for future in (one.started, one.done):
            if error is None:
                finish(future)
            else:
                fail(future, error)
        self._raise_event()

    def _raise_event(self) -> None:
        self._parts.memory.raise_event("BehaviorsRun", list(self.running))


class ALBehaviorManager(ALService):
    """Starts and stops the robot's behaviours: the commands of its library."""

    NAME = "ALBehaviorManager"

    def getInstalledBehaviors(self) -> list[str]:
        """Return all behaviours."""
        return list(self._programs.installed)

    def getRunningBehaviors(self) -> list[str]:
        """Return the behaviours that run or wait for their resources."""
        return list(self._programs.running)

    def isBehaviorInstalled(self, name: str) -> bool:
        """Return true if the behaviour exists."""
        return name in self._programs.installed

    def isBehaviorRunning(self, behavior: str) -> bool:
        """Return true if a behaviour runs."""
        return behavior in self._programs.running

    def startBehavior(self, behavior: str) -> Blocks:
        """Start a behaviour, and wait until it has started."""
        return self._programs.start(self._client.name, behavior).started

    def runBehavior(self, behavior: str) -> Blocks:
        """Run a behaviour, and wait until it has ended."""
        return self._programs.start(self._client.name, behavior).done

    def stopBehavior(self, behavior: str) -> None:
        """End a behaviour."""
        self._programs.stop(behavior)

    def stopAllBehaviors(self) -> None:
        """End all behaviours."""
        for name in list(self._programs.running):
            self._programs.stop(name)

    def getDefaultBehaviors(self) -> list[str]:
        """Return the behaviours that would start with the robot."""
        return list(self._programs.defaults)

    def addDefaultBehavior(self, behavior: str) -> None:
        """Add a default behaviour."""
        if self._programs.check(behavior) not in self._programs.defaults:
            self._programs.defaults.append(behavior)

    def removeDefaultBehavior(self, behavior: str) -> None:
        """Remove a default behaviour."""
        if behavior in self._programs.defaults:
            self._programs.defaults.remove(behavior)

    def playDefaultProject(self) -> None:
        """Start all default behaviours."""
        for name in self._programs.defaults:
            self._programs.start(self._client.name, name)

    def resolveBehaviorName(self, name: str) -> str:
        """Return the full name of a behaviour."""
        return self._programs.check(name)

    def getBehaviorNature(self, behavior: str) -> str:
        """Return the nature of a behaviour."""
        self._programs.check(behavior)
        return "interactive"

    @property
    def _programs(self) -> Programs:
        return self._parts.get(Programs)


class ALAnimationPlayer(ALService):
    """Plays behaviours of the robot; the published animations are not here."""

    NAME = "ALAnimationPlayer"

    def run(self, path: str, *options: Value) -> Blocks:
        """Run the behaviour with this name, and wait; other paths are refused."""
        del options
        return self._parts.get(Programs).start(self._client.name, path).done

    def runTag(self, *tag: Value) -> Blocks:
        """Refuse: animations have no tags here."""
        raise UnknownName("Tag", str(tag[-1]) if tag else "", [], "the animations")


class ALAutonomousLife(ALService):
    """States of autonomous life, stored only: the robot does not act autonomously."""

    NAME = "ALAutonomousLife"

    def setState(self, state: str) -> None:
        """Store a state, and notify its listeners."""
        if state not in LIFE_STATES:
            raise UnknownName("State", state, LIFE_STATES, "autonomous life")
        self._client.pretended["ALAutonomousLife.setState"] += 1
        if self._programs.life != state:
            self._programs.life = state
            self._parts.memory.raise_event("AutonomousLife/State", state)

    def getState(self) -> str:
        """Return the state."""
        return self._programs.life

    def getAutonomousAbilitiesStatus(self) -> list[list[object]]:
        """Return name, switch and activity of each ability."""
        get = "getAutonomousAbilityEnabled"
        return [[name, self._call(get, (name,)), False] for name in ABILITIES]

    def getStateHistory(self, *depth: Value) -> list[list[object]]:
        """Return past states with their times in s, the newest last."""
        del depth
        past = self._parts.memory.history("AutonomousLife/State")
        return [[state, int(time_s)] for state, time_s in past]

    def getLifeTime(self) -> int:
        """Return the time since the start, in s."""
        return int(self._served.time_s)

    @property
    def _programs(self) -> Programs:
        return self._parts.get(Programs)


class ALSystem(ALService):
    """Computer of the robot."""

    NAME = "ALSystem"

    def systemVersion(self) -> str:
        """Return the NAOqi release of this interface."""
        return NAOQI_VERSION

    def freeMemory(self) -> int:
        """Return a constant in kB: no computer is simulated."""
        return MEMORY_KB // 2

    def totalMemory(self) -> int:
        """Return a constant in kB: no computer is simulated."""
        return MEMORY_KB

    def diskFree(self, all: bool) -> list[Any]:  # as published
        """Return name, size and used space of this machine's disk, in MB."""
        del all
        total, used, _ = shutil.disk_usage("/")
        return [["/", total >> 20, used >> 20]]


class ALRobotModel(ALService):
    """Equipment of the robot."""

    NAME = "ALRobotModel"
    HIDDEN = ("_getConfigMap", "_getMicrophoneConfig")

    def hasArms(self) -> bool:
        """Return true if the robot has arms."""
        return "LArm" in self._parts.body.chains

    def hasHands(self) -> bool:
        """Return true if the robot has hands."""
        return "LHand" in self._parts.body.body

    def hasLegs(self) -> bool:
        """Return true if the robot has legs."""
        return "LLeg" in self._parts.body.chains

    def getConfig(self) -> str:
        """Return the name of the model."""
        return f"<robot name={self._served.robot.name!r}/>"

    def _getConfigMap(self) -> dict[str, str]:
        """Return the equipment of the robot, as the keys RobotConfig."""
        return dict(CONFIG)

    def _getMicrophoneConfig(self) -> int:
        """Return the version of the microphones."""
        return int(CONFIG["RobotConfig/Head/Device/Micro/Version"])
