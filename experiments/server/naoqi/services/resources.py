"""ALResourceManager: the calls of `controllers.arbitration.naoqi`, for one client.

Owners that a client names are a part of that client's own owner: they end with it. When
another owner asks for what one holds, its callback is called on the service of that
name, if the client has registered one, in a thread of its own.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from nao_testbed.controllers.arbitration.manager.ledger_cfg import LONGEST_S
from nao_testbed.controllers.arbitration.naoqi import ResourceCalls
from nao_testbed.experiments.server.naoqi.arguments import Names
from nao_testbed.experiments.server.naoqi.motion.engine import CLIENT_PRIORITY
from nao_testbed.experiments.server.naoqi.naoqi_client import NaoqiClient
from nao_testbed.experiments.server.naoqi.served_robot import LedgerAccess, fail, finish
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks
from nao_testbed.models.resources import ResourceNode

MOST_WAITING = 16
"""Calls of a client that wait at a time; further ones wait for these."""


class _Callbacks:
    """A service of a client, whose callbacks are called later and answer nothing."""

    def __init__(self, service: Any, pool: ThreadPoolExecutor) -> None:
        self._service, self._pool = service, pool

    def __getattr__(self, name: str) -> Callable[[str, str], None]:
        method = getattr(self._service, name)  # raises where it has none

        def call(leaf: str, owner: str) -> None:
            self._pool.submit(_quietly, method, leaf, owner)

        return call

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._service) if not name.startswith("_")]


def _quietly(method: Callable[..., object], *args: object) -> None:
    with suppress(Exception):  # its client is gone, or refuses
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
    """Takes and gives back resources of the ledger."""

    NAME = "ALResourceManager"

    def __init__(self, client: NaoqiClient) -> None:
        """Serve a client."""
        super().__init__(client)
        self._waiting = ThreadPoolExecutor(MOST_WAITING, thread_name_prefix="acquire")
        self._calling = ThreadPoolExecutor(2, thread_name_prefix="callback")
        services = _ClientServices(client, self._calling)
        front = LedgerAccess(client.parts.served, client.name, CLIENT_PRIORITY)
        self._calls = ResourceCalls(front, services)
        client.on_leave.append(self._end)

    # -- take and give back --

    def acquireResource(
        self, resource: str, module: str, callback: str, timeoutSeconds: float
    ) -> Blocks:
        """Take a resource, or wait for it; below 0: for ever."""
        limit_s = _limit(timeoutSeconds)
        return self._wait(
            lambda: self._calls.acquireResource(resource, module, callback, limit_s),
            lambda _: self._calls.releaseResource(resource, module),
        )

    def acquireResourcesTree(
        self, resources: Names, module: str, callback: str, timeout: float
    ) -> Blocks:
        """Take several resources at once, or wait for them."""
        limit_s = _limit(timeout)
        return self._wait(
            lambda: self._calls.acquireResourcesTree(
                resources, module, callback, limit_s
            ),
            lambda _: self._calls.releaseResources(resources, module),
        )

    def waitForResource(
        self, resource: str, owner: str, callback: str, timeoutSeconds: float
    ) -> Blocks:
        """Do as `acquireResource`."""
        return self.acquireResource(resource, owner, callback, timeoutSeconds)

    def waitForResourcesTree(
        self, resources: Names, owner: str, callback: str, timeout: float
    ) -> Blocks:
        """Do as `acquireResourcesTree`."""
        return self.acquireResourcesTree(resources, owner, callback, timeout)

    def waitForOptionalResourcesTree(
        self,
        resources: Names,
        owner: str,
        callback: str,
        timeout: float,
        optional: Names,
    ) -> Blocks:
        """Take all of some resources, and of others what is free; return both."""
        limit_s = _limit(timeout)
        return self._wait(
            lambda: self._calls.waitForOptionalResourcesTree(
                resources, owner, callback, limit_s, optional
            ),
            lambda taken: self._calls.releaseResources(taken, owner),
        )

    def releaseResource(self, resource: str, owner: str) -> None:
        """Give a resource back."""
        self._calls.releaseResource(resource, owner)

    def releaseResources(self, resources: Names, owner: str) -> None:
        """Give several resources back."""
        self._calls.releaseResources(resources, owner)

    # -- look --

    def isResourceFree(self, resource: str) -> bool:
        """Tell whether nobody has it."""
        return self._calls.isResourceFree(resource)

    def areResourcesFree(self, resources: Names) -> bool:
        """Tell whether nobody has any of them."""
        return self._calls.areResourcesFree(resources)

    def areResourcesOwnedBy(self, resources: Names, owner: str) -> bool:
        """Tell whether one owner has all."""
        return self._calls.areResourcesOwnedBy(resources, owner)

    def checkStateResourceFree(self, resources: Names) -> bool:
        """Tell whether all are free, which for a state is to be active."""
        return self._calls.checkStateResourceFree(resources)

    def isInGroup(self, group: str, resource: str) -> bool:
        """Tell whether a resource is somewhere under another."""
        return self._calls.isInGroup(group, resource)

    def getResources(self) -> list[Any]:
        """Return the tree: each resource with its name and a list of its parts."""
        return _as_list(self._calls.getResources())

    def ownersGet(self) -> dict[str, list[str]]:
        """Return resource to owners, of those that have any."""
        return self._calls.ownersGet()

    # -- change the list --

    def createResource(self, name: str, parent: str) -> None:
        """Let a resource be known; parent "" puts it at the root."""
        self._calls.createResource(name, parent)

    def createResourcesList(self, names: Names, parent: str) -> None:
        """Let several resources be known under one parent."""
        self._calls.createResourcesList(names, parent)

    def deleteResource(self, name: str, deleteChildren: bool = False) -> None:
        """Forget a resource without parts."""
        del deleteChildren
        self._calls.deleteResource(name)

    def enableStateResource(self, name: str, enabled: bool) -> None:
        """Note that the robot is in a state, or has left it."""
        self._calls.enableStateResource(name, enabled)

    # -- inside --

    def _wait(self, call: Callable[[], Any], undo: Callable[[Any], None]) -> Blocks:
        """Let a thread wait; the future ends with it.

        Args:
            call: waits.
            undo: gives back what it returned, for a client that cancelled meanwhile.
        """
        future: Blocks = Future()

        def work() -> None:
            try:
                result = call()
            except Exception as error:  # noqa: BLE001  # the client is told
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


def _limit(timeout_s: float) -> float:
    return LONGEST_S if timeout_s < 0.0 else timeout_s


def _as_list(node: ResourceNode) -> list[Any]:
    return [node.name, [_as_list(child) for child in node.children]]
