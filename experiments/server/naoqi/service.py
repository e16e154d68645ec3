"""What every service has: its robot, its client, and the calls of NAOqi's ALModule.

A service is made anew for each client, and keeps nothing itself: what is shared stands
in the parts of the robot. Its public methods are what clients see; their parameters are
checked by their annotations (`arguments`). One that takes time returns a future, which
ends in the robot's time.
"""

import inspect
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from nao_testbed.experiments.server.naoqi.arguments import Signature, Value
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot, finish
from nao_testbed.models import BadInput, UnknownName

if TYPE_CHECKING:
    from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient

Blocks = Future[Any]
"""What a method returns that takes time; its client waits until it ends."""
NAOQI_VERSION = "2.8.5.10"
"""The release whose interface is served."""


class NotSimulated(BadInput):
    """What a real robot does and this one cannot."""

    def __init__(self, what: str, instead: str = "") -> None:
        """Say what, and what there is instead."""
        super().__init__(f"{what} is not simulated.{' ' if instead else ''}{instead}")


_METHODS: dict[str, dict[str, Signature]] = {}


def methods_of(kind: type["ALService"]) -> dict[str, Signature]:
    """Return the public methods of a service, and what each takes."""
    found = _METHODS.get(kind.NAME)
    if found is None:
        found = _METHODS[kind.NAME] = {
            name: Signature(method)
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }
    return found


class ALService:
    """One service as one client has it."""

    NAME = ""
    """Under which clients ask for it."""

    def __init__(self, client: "NaoqiClient") -> None:
        """Serve a client."""
        self._client = client
        self._parts = client.parts
        self._served: ServedRobot = client.parts.served
        self._begun: dict[int, Blocks] = {}

    def _call(self, method: str, args: tuple[object, ...]) -> object:
        """Check the arguments, and call a method.

        Raises:
            TestbedError: it is refused; the text names the service and the method.
        """
        found = methods_of(type(self)).get(method)
        if found is None:
            raise UnknownName("Method", method, methods_of(type(self)), self.NAME)
        call: Callable[..., object] = getattr(self, method)
        return call(*found.accept(args))

    # -- ALModule ------------------------------------------------------------------

    def ping(self) -> bool:
        """Return true."""
        return True

    def version(self) -> str:
        """Return the release whose interface this is."""
        return NAOQI_VERSION

    def getBrokerName(self) -> str:
        """Return who serves it."""
        return "nao-testbed"

    def getMethodList(self) -> list[str]:
        """Return the names of all methods."""
        return sorted(methods_of(type(self)))

    def getMethodHelp(self, methodName: str) -> list[str]:
        """Return name, parameters and a sentence about a method."""
        return [methodName, self.getUsage(methodName), _said(getattr(self, methodName))]

    def getModuleHelp(self) -> list[str]:
        """Return a sentence about the service."""
        return [self.NAME, _said(type(self))]

    def getUsage(self, methodName: str) -> str:
        """Return how a method is called."""
        found = methods_of(type(self))
        if methodName not in found:
            raise UnknownName("Method", methodName, found, self.NAME)
        return f"{methodName}({found[methodName]})"

    def pCall(self, methodName: str, *args: Value) -> int:
        """Begin a method, and return the number of its call."""
        number, result = self._client.next_number(), self._call(methodName, args)
        if isinstance(result, Future):
            self._begun[number] = result
        return number

    def isRunning(self, id: int) -> bool:  # as published
        """Tell whether a call that was begun still runs."""
        return id in self._begun and not self._begun[id].done()

    def wait(self, id: int, timeoutMs: int = 0) -> Blocks:
        """Wait for a call; true where the time (0: none) ran out before it ended."""
        answer: Blocks = Future()
        begun = self._begun.get(id)
        if begun is None or begun.done():
            finish(answer, value=False)
            return answer
        begun.add_done_callback(lambda _: finish(answer, value=False))
        if timeoutMs > 0:
            self._served.after(timeoutMs / 1000.0, lambda: finish(answer, value=True))
        return answer

    def stop(self, id: int) -> None:
        """End a call that was begun."""
        begun = self._begun.pop(id, None)
        if begun is not None:
            begun.cancel()  # whatever it stands for stops, see `on_cancel`

    def exit(self) -> None:
        """Do nothing: a service of the robot stays."""


def _said(what: object) -> str:
    return (inspect.getdoc(what) or "").partition("\n")[0]


def ended(value: object = None) -> Blocks:
    """Return a future that has ended already."""
    future: Blocks = Future()
    finish(future, value)
    return future
