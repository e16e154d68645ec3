"""Base class of all services: robot, client, and the calls of NAOqi's ALModule.

A service is created for each client and has no state: the parts of the robot hold all
shared state. Its public methods are visible to clients; `arguments` validates their
parameters by annotation. A method that takes time returns a future, which ends in
simulated time.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from nao_testbed.experiments.server.naoqi.arguments import Signature, Value, known
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot, finish
from nao_testbed.models import BadInput

if TYPE_CHECKING:
    from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient, Parts

PartT = TypeVar("PartT")

Blocks = Future[Any]
"""Return type of a method that takes time; its client waits until it ends."""
NAOQI_VERSION = "2.8.5.10"
"""Release whose interface is served."""
MAX_NAMES = 1000
"""Maximum number of names in a table that programs fill."""


class NotSimulated(BadInput):
    """Function of a real robot that is not simulated."""

    def __init__(self, what: str, instead: str = "") -> None:
        """Create the error from the missing function and an alternative."""
        super().__init__(f"not simulated: {what}.{' ' if instead else ''}{instead}")


def check_room(table: Collection[Any], name: Any, what: str) -> None:
    """Refuse another name in a table of programs that has `MAX_NAMES`."""
    if len(table) >= MAX_NAMES and name not in table:
        raise BadInput(f"there are already {len(table)} {what}; use or remove those.")


class Typed(list[Any]):
    """Answer of ints, floats and bytes that a program gets in the types of NAOqi."""


_METHODS: dict[str, dict[str, Signature]] = {}


def methods_of(kind: type["ALService"]) -> dict[str, Signature]:
    """Return the public methods of a service with their signatures."""
    found = _METHODS.get(kind.NAME)
    if found is None:
        found = _METHODS[kind.NAME] = {
            name: Signature(method)
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_") or name in kind.HIDDEN
        }
    return found


class SharedPart(Generic[PartT]):
    """Attribute of a service: a part of the robot that all clients share."""

    def __init__(self, kind: Callable[["Parts"], PartT]) -> None:
        """Declare the part, which is created at its first use."""
        self._kind = kind

    def __get__(self, service: "ALService | None", _: object) -> PartT:
        """Return the part; the class itself has none."""
        if service is None:
            raise AttributeError
        return service._parts.get(self._kind)


class ALService:
    """One service for one client."""

    NAME = ""
    """Name of the service for clients."""
    SIGNALS: Mapping[str, str] = {}
    """Signals for clients by name, with their signatures."""
    HIDDEN: tuple[str, ...] = ()
    """Its methods for clients whose names begin with an underscore."""

    def __init__(self, client: "NaoqiClient") -> None:
        """Create the service for a client."""
        self._client = client
        self._parts = client.parts
        self._served: ServedRobot = client.parts.served
        self._begun: dict[int, Blocks] = {}
        self.emit: Callable[..., object] = lambda signal, *values: None  # noqa: ARG005
        """Function that emits a signal by name, once the service is exported."""

    def _call(self, method: str, args: tuple[object, ...]) -> object:
        """Validate the arguments, and call a method.

        Raises:
            TestbedError: the call is rejected; the text names the service and the
                method.
        """
        found = methods_of(type(self))
        signature = found[known("Method", method, found, self.NAME)]
        call: Callable[..., object] = getattr(self, method)
        return call(*signature.accept(args))

    # -- ALModule ------------------------------------------------------------------

    def ping(self) -> bool:
        """Return true."""
        return True

    def version(self) -> str:
        """Return the NAOqi release of this interface."""
        return NAOQI_VERSION

    def getBrokerName(self) -> str:
        """Return the name of the server."""
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
        """Return the signature of a method."""
        found = methods_of(type(self))
        return f"{known('Method', methodName, found, self.NAME)}({found[methodName]})"

    def pCall(self, methodName: str, *args: Value) -> int:
        """Start a method, and return the number of its call."""
        number, result = self._client.next_number(), self._call(methodName, args)
        if isinstance(result, Future):
            self._begun[number] = result
            result.add_done_callback(lambda _: self._begun.pop(number, None))
        return number

    def isRunning(self, id: int) -> bool:  # as published
        """Return true if a call still runs."""
        return id in self._begun

    def wait(self, id: int, timeoutMs: int = 0) -> Blocks:
        """Wait for a call; return true if the time limit (0: none) passed first."""
        answer: Blocks = Future()
        begun = self._begun.get(id)
        if begun is None:
            finish(answer, value=False)
            return answer
        begun.add_done_callback(lambda _: finish(answer, value=False))
        if timeoutMs > 0:
            self._served.after(timeoutMs / 1000.0, lambda: finish(answer, value=True))
        return answer

    def stop(self, id: int) -> None:
        """End a call."""
        begun = self._begun.pop(id, None)
        if begun is not None:
            begun.cancel()  # stops its motion or text, see `on_cancel`

    def exit(self) -> None:
        """Refuse: services of the robot are never unloaded."""
        raise NotSimulated("unloading a service")


def _said(what: object) -> str:
    return (inspect.getdoc(what) or "").partition("\n")[0]


def ended(value: object = None) -> Blocks:
    """Return a future that has ended already."""
    future: Blocks = Future()
    finish(future, value)
    return future
