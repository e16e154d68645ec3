"""ALResourceManager: the calls of `controllers.arbitration.naoqi`, for one client.

Owners named by a client are parts of the client's owner: they end with it. When another
owner requests a held resource, the holder's callback is called in a separate thread, on
the client's registered service of that name.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from typing import Any

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.naoqi import ResourceCalls
from nao_testbed.experiments.server.naoqi.arguments import Names
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient
from nao_testbed.experiments.server.naoqi.served_robot import (
    CLIENT_PRIORITY,
    LedgerAccess,
    fail,
    finish,
)
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks
from nao_testbed.models.resources import ResourceNode

MAX_WAITING = 16
"""Maximum number of waiting calls of a client; further calls are queued."""


class _Callbacks:
    """Client service whose callbacks are called later and return nothing."""

    def __init__(self, service: Any, pool: ThreadPoolExecutor) -> None:
        self._service, self._pool = service, pool

    def __getattr__(self, name: str) -> Callable[[str, str], None]:
        method = getattr(self._service, name)  # raises if unknown

        def call(leaf: str, owner: str) -> None:
            self._pool.submit(_ignore_errors, method, leaf, owner)

        return call

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._service) if not name.startswith("_")]


def _ignore_errors(method: Callable[..., object], *args: object) -> None:
    with suppress(Exception):  # the client has disconnected, or refuses
        method(*args)


class _ClientServices(Mapping[str, object]):
    """Services that a client has registered, by name."""

    def __init__(self, client: NaoqiClient, pool: ThreadPoolExecutor) -> None:
        self._client, self._pool = client, pool

    def __getitem__(self, name: str) -> object:
        find = self._client.find_service
        if find is None:
            raise KeyError(name)
        try:
            return _Callbacks(find(name), self._pool)
        except RuntimeError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class ALResourceManager(ALService):
    """Acquisition and release of the ledger's resources."""

    NAME = "ALResourceManager"

    def __init__(self, client: NaoqiClient) -> None:
        """Serve a client."""
        super().__init__(client)
        self._waiting = ThreadPoolExecutor(MAX_WAITING, thread_name_prefix="acquire")
        self._calling = ThreadPoolExecutor(2, thread_name_prefix="callback")
        services = _ClientServices(client, self._calling)
        front = LedgerAccess(client.parts.served, client.name, CLIENT_PRIORITY)
        self._calls = ResourceCalls(front, services)
        client.on_leave.append(self._end)

    # -- acquire and release --

    def acquireResource(
        self, resource: str, module: str, callback: str, timeoutSeconds: float
    ) -> Blocks:
        """Acquire a resource, or wait for it; a negative timeout waits forever."""
        limit_s = _limit(timeoutSeconds)
        return self._wait(
            lambda: self._calls.acquireResource(resource, module, callback, limit_s),
            lambda _: self._calls.releaseResource(resource, module),
        )

    def acquireResourcesTree(
        self, resources: Names, module: str, callback: str, timeout: float
    ) -> Blocks:
        """Acquire several resources together, or wait for them."""
        limit_s = _limit(timeout)
        return self._wait(
            lambda: self._calls.acquireResourcesTree(
                resources, module, callback, limit_s
            ),
            lambda _: self._calls.releaseResources(resources, module),
        )

    def waitForOptionalResourcesTree(
        self,
        resources: Names,
        owner: str,
        callback: str,
        timeout: float,
        optional: Names,
    ) -> Blocks:
        """Acquire some resources and any free optional ones; return both."""
        limit_s = _limit(timeout)
        return self._wait(
            lambda: self._calls.waitForOptionalResourcesTree(
                resources, owner, callback, limit_s, optional
            ),
            lambda taken: self._calls.releaseResources(taken, owner),
        )

    def getResources(self) -> list[Any]:
        """Return the tree: each resource with its name and a list of its parts."""
        return _as_list(self._calls.getResources())

    def deleteResource(self, name: str, deleteChildren: bool = False) -> None:
        """Delete a resource without parts."""
        del deleteChildren
        self._calls.deleteResource(name)

    # -- internals ---------------------------------------------------------------------

    def _wait(self, call: Callable[[], Any], undo: Callable[[Any], None]) -> Blocks:
        """Run a blocking call in a thread; the returned future ends with it.

        Args:
            call: blocking function.
            undo: function that releases its result if the client has cancelled the
                call.
        """
        future: Blocks = Future()

        def work() -> None:
            try:
                result = call()
            except Exception as error:  # noqa: BLE001  # sent to the client
                fail(future, error)
            else:
                if future.cancelled():
                    undo(result)
                finish(future, result)

        self._waiting.submit(work)
        return future

    def _end(self) -> None:
        self._waiting.shutdown(wait=False, cancel_futures=True)
        self._calling.shutdown(wait=False, cancel_futures=True)


def _forwarded(name: str) -> Callable[..., Any]:
    """Return a method that calls `ResourceCalls`, with its parameters."""

    @wraps(getattr(ResourceCalls, name))
    def call(self: ALResourceManager, *args: object) -> Any:
        return getattr(self._calls, name)(*args)

    return call


for _name in (
    *("releaseResource", "releaseResources", "createResource", "createResourcesList"),
    *("isResourceFree", "areResourcesFree", "areResourcesOwnedBy", "isInGroup"),
    *("checkStateResourceFree", "enableStateResource", "ownersGet"),
):
    setattr(ALResourceManager, _name, _forwarded(_name))


def _limit(timeout_s: float) -> float:
    return LONGEST_S if timeout_s < 0.0 else timeout_s


def _as_list(node: ResourceNode) -> list[Any]:
    return [node.name, [_as_list(child) for child in node.children]]
