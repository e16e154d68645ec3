"""ALBehaviorManager, ALAnimationPlayer, ALAutonomousLife, ALSystem, ALRobotModel."""

import shutil
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.manager.snapshot import users_of
from nao_testbed.controllers.arbitration.requests import Ticket
from nao_testbed.controllers.schemas.library.common import needs_of_command
from nao_testbed.controllers.transmitter.commands.order import OutputSet, PlacedOrder
from nao_testbed.experiments.server.naoqi.arguments import Value, known
from nao_testbed.experiments.server.naoqi.memory.memory_keys import CONFIG
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts
from nao_testbed.experiments.server.naoqi.served_robot import (
    ServedRobot,
    fail,
    finish,
    on_cancel,
)
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks, SharedPart
from nao_testbed.models import BadInput, TestbedError

LIFE_STATES = ("solitary", "interactive", "safeguard", "disabled")
ABILITIES = (
    "BasicAwareness",
    "AutonomousBlinking",
    "BackgroundMovement",
    "ListeningMovement",
    "SpeakingMovement",
)


class ClientOrder:
    """Command of the robot in the name of a program: resources, order, and end."""

    def __init__(
        self,
        served: ServedRobot,
        owner: str,
        command: str | OutputSet,
        needs: Sequence[str],
        what: str,
    ) -> None:
        """Request the resources of a command.

        Args:
            served: served robot.
            owner: new owner, a part of a client: `CLIENT/NAME`.
            command: name of a command of the library, or an output.
            needs: resources; without any, nothing happens until `end`.
            what: its name in errors.
        """
        self._served, self._owner, self._command = served, owner, command
        self._needs, self._what = needs, what
        self.started: Blocks = Future()
        self.done: Blocks = Future()
        self.is_stopped = False
        """True if a program has stopped it."""
        self._order: PlacedOrder | None = None
        self._ticket: Ticket | None = None
        if needs:
            served.add_owner(owner, owner.partition("/")[0])
            self._ticket = served.request(owner, needs, LONGEST_S)
        for future in (self.started, self.done):
            on_cancel(future, self.stop)

    @property
    def is_silent(self) -> bool:
        """True if it needs no resources, and so has no order."""
        return self._ticket is None

    @property
    def has_begun(self) -> bool:
        """True once its order was submitted."""
        return self._order is not None

    def step(self, tick: int) -> None:
        """Submit the order once its resources are granted; notice its end."""
        if self._ticket is None:
            return
        outcome = self._ticket.outcome
        if not self._served.body.ledger.knows(self._owner):
            self.end(TestbedError(f"{self._what} ended with its client."))
        elif outcome is None:
            return
        elif outcome.token is None:
            self.end(TestbedError(f"{self._what} was refused: {outcome}"))
        elif self._order is None:
            try:
                self._order = self._served.body.commands.submit(
                    self._command, outcome.token, tick
                )
            except TestbedError as error:
                self.end(error)
            else:
                finish(self.started)
        elif self._order.has_failed:
            self.end(TestbedError(self._failure(self._order)))
        elif self._order.is_over:
            self.end()

    def stop(self) -> None:
        """End the command at the request of a program."""
        with self._served.access():
            self.is_stopped = True
            self.end()

    def end(self, error: Exception | None = None) -> None:
        """Withdraw the order, release its resources, and end both futures."""
        body = self._served.body
        if self._order is not None and not self._order.is_over:
            body.commands.withdraw(self._order, self._served.tick)
        self._served.forget_owner(self._owner)
        for future in (self.started, self.done):
            if error is None:
                finish(future)
            else:
                fail(future, error)

    def _failure(self, order: PlacedOrder) -> str:
        ledger = self._served.body.ledger
        users = {who for leaf in self._needs for who in users_of(ledger, leaf)}
        if others := sorted(users - {self._owner}):
            return f"{self._what} was taken away by {', '.join(others)}."
        return f"{self._what} failed: {order.refused or order.reason} {order.detail}"


class Programs:
    """Behaviours and settings of the robot, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Create it without running behaviours."""
        self._parts, self._served = parts, parts.served
        self.installed = sorted(parts.served.robot.library.orders)
        self.defaults: list[str] = []
        self.running: dict[str, ClientOrder] = {}
        self.life = "disabled"
        self.services: list[ALService] = []
        """Services that emit the signals of behaviours, one for each client."""
        parts.served.each_slot.append(lambda tick, _: self._step(tick))

    def check(self, name: str) -> str:
        """Return the name of a behaviour, which must be installed."""
        return known("Behavior", name, self.installed, "the robot")

    def start(self, client: str, name: str) -> ClientOrder:
        """Request a behaviour's resources, and start it when they are granted.

        Raises:
            BadInput: the behaviour already runs.
        """
        self.check(name)
        with self._served.access():
            if name in self.running:
                raise BadInput(f"behavior {name!r} is already running.")
            needs = needs_of_command(self._served.robot, name)
            owner, what = f"{client}/behavior {name}", f"behavior {name!r}"
            one = ClientOrder(self._served, owner, name, needs, what)
            self.running[name] = one
            one.started.add_done_callback(lambda _: self._started(one, name))
            one.done.add_done_callback(lambda done: self._ended(name, done))
            self._raise_event()
            return one

    def stop(self, name: str) -> None:
        """End a running behaviour."""
        if (one := self.running.get(name)) is not None:
            one.stop()

    def _step(self, tick: int) -> None:
        for one in list(self.running.values()):
            one.step(tick)

    def _started(self, one: ClientOrder, name: str) -> None:
        if one.has_begun:
            self._emit("behaviorStarted", name)

    def _ended(self, name: str, done: Blocks) -> None:
        del self.running[name]
        self._raise_event()
        if not done.cancelled() and (error := done.exception()) is not None:
            self._emit("behaviorFailed", name, "", str(error))
        self._emit("behaviorStopped", name)

    def _emit(self, signal: str, *values: object) -> None:
        for service in list(self.services):
            service.emit(signal, *values)

    def _raise_event(self) -> None:
        self._parts.memory.raise_event("BehaviorsRun", list(self.running))


class ALBehaviorManager(ALService):
    """Starts and stops the robot's behaviours: the commands of its library."""

    NAME = "ALBehaviorManager"
    SIGNALS = {  # noqa: RUF012
        "behaviorStarted": "(s)",
        "behaviorStopped": "(s)",
        "behaviorFailed": "(sss)",
    }
    _programs = SharedPart(Programs)

    def __init__(self, client: NaoqiClient) -> None:
        """Emit the signals of all behaviours to the client."""
        super().__init__(client)
        services = self._programs.services
        services.append(self)
        client.on_leave.append(lambda: services.remove(self))

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


class ALAnimationPlayer(ALService):
    """Plays behaviours of the robot; the published animations are not here."""

    NAME = "ALAnimationPlayer"

    def run(self, path: str, *options: Value) -> Blocks:
        """Run the behaviour with this name, and wait; other paths are refused."""
        del options
        return self._parts.get(Programs).start(self._client.name, path).done


class ALAutonomousLife(ALService):
    """States of autonomous life, stored only: the robot does not act autonomously."""

    NAME = "ALAutonomousLife"
    _programs = SharedPart(Programs)

    def setState(self, state: str) -> None:
        """Store a state, and notify its listeners."""
        known("State", state, LIFE_STATES, "autonomous life")
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


class ALSystem(ALService):
    """Computer of the robot."""

    NAME = "ALSystem"

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
