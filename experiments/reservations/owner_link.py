"""The calls of one owner to a server: registering, signs of life, its key."""

import threading
import time
from collections.abc import Callable

import httpx

from experiments.reservations.link import (
    CALL_S,
    NotRegistered,
    ServerLink,
    ServerUnreachable,
)
from experiments.reservations.trusted_tokens import TrustedTokens
from experiments.reservations.wire import (
    Alive,
    OwnerData,
    Registered,
    RequestData,
    TicketData,
)
from models import TestbedError

AGAIN_S = 0.05
"""Pause before a call that found no server is made again."""


class ServerRestarted(TestbedError):
    """The server began a new epoch; all earlier tokens are refused."""


class OwnerLink(ServerLink):
    """A link on which one owner speaks; `Client` adds what it says and when."""

    def __init__(
        self,
        url: str,
        data: OwnerData,
        secret: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open no connection yet.

        Args:
            url: of the server.
            data: the owner.
            secret: what the server asks of everyone, if it does.
            clock: seconds, never going back.
        """
        super().__init__(url, secret)
        self.key: str | None = None
        """What the server knows it by, while it is registered; keep it secret."""
        self.why_lost: TestbedError | None = None
        """Why it may trust no token any more; None while all is well."""
        self._data = data
        self._clock = clock
        self._trusted = TrustedTokens(clock, data.time_to_live_s)
        self._closing = threading.Event()
        self._epoch: int | None = None
        """In which it registered."""

    @property
    def name(self) -> str:
        """Name of the owner."""
        return self._data.name

    @property
    def _call_s(self) -> float:
        """Longest time for a call: a sign of life more than once in a time to live."""
        return min(CALL_S, self._data.time_to_live_s / 2.0)

    def renew(self) -> None:
        """Send a sign of life now.

        Raises:
            ServerUnreachable: no answer; tokens are trusted until the time is over.
            ServerRestarted: it began a new epoch.
            NotRegistered: it thinks that this owner is gone.
        """
        sent = self._trusted.sending()
        alive = self.read(Alive, self._own("POST", "/owner/alive"))
        self._trusted.answered(sent, alive.tokens)
        self.why_lost = None

    # -- inside ------------------------------------------------------------------------

    def _register(self) -> Registered:
        sent = self._trusted.sending()
        answer = self.call("POST", "/owners", self._data, timeout_s=self._call_s)
        registered = self.read(Registered, answer)
        self._trusted.lose_all()
        self._trusted.answered(sent, ())
        self.key, self._epoch = registered.key, registered.epoch
        self.why_lost = None
        return registered

    def _own(
        self,
        method: str,
        path: str,
        data: RequestData | None = None,
        wait_s: float = 0.0,
    ) -> httpx.Response:
        """Make a call of this owner; note when the server does not know it."""
        key = self.key
        try:
            return self.call(
                method,
                path,
                data,
                headers={"Owner-Key": key} if key else {},
                params={"wait_s": wait_s} if wait_s and data is None else None,
                timeout_s=wait_s + self._call_s,
            )
        except NotRegistered as error:
            why = self._why_unknown(error)
            if self.key == key:  # not registered again meanwhile
                self.key = None
                self._trusted.lose_all()
                self.why_lost = why
            raise why from error

    def _why_unknown(self, error: NotRegistered) -> TestbedError:
        if self.epoch == self._epoch:
            return error
        return ServerRestarted(
            f"the server at {self.url} was restarted: its epoch is {self.epoch}, not "
            f"{self._epoch} any more. All earlier tokens are refused; ask anew."
        )

    def _insist(
        self,
        method: str,
        path: str,
        data: RequestData | None = None,
        wait_s: float = 0.0,
    ) -> TicketData:
        """Call until there is an answer, for a time to live at most."""
        give_up_s = self._clock() + self._data.time_to_live_s
        wait_s = data.wait_s if data else wait_s
        while True:
            try:
                return self.read(TicketData, self._own(method, path, data, wait_s))
            except ServerUnreachable:
                if self._clock() >= give_up_s or self._closing.wait(AGAIN_S):
                    raise
