"""An owner on another robot: registers, stays alive, asks, and knows what it holds.

with Client("http://127.0.0.1:8640", "robot 1") as robot:
    outcome = robot.take("ball", timeout_s=3.0)
    if outcome.token and robot.holds(outcome.token):
        ...  # kick
        robot.release(outcome.token)
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType

from controllers.resources.request import Outcome
from controllers.resources.tokens import Token
from controllers.resources.words import AskerTie, HolderTie, Loss
from experiments.reservations.link import checked, text_of
from experiments.reservations.notice_reader import NoticeReader
from experiments.reservations.owner_link import OwnerLink
from experiments.reservations.wire import (
    MAX_WAIT_S,
    OwnerData,
    RequestData,
    TicketData,
)
from experiments.reservations.wire_views import NoticeData
from models import TestbedError

SIGNS = 3
"""Signs of life in one time to live: two may be lost."""


class Client(OwnerLink):
    """One owner at one server; a context manager, safe for threads.

    A thread sends signs of life until `close`; another one reads notices. What the
    server ends (a loss, a release elsewhere) is known after the notice, or after the
    next sign of life at the latest.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        secret: str | None = None,
        parent: "Client | None" = None,
        policy: str = "lock",
        policy_settings: Mapping[str, float] | None = None,
        priority: int = 0,
        timeout_s: float = 5.0,
        time_to_live_s: float = 5.0,
        asker_tie: AskerTie = AskerTie.LOSES,
        holder_tie: HolderTie = HolderTie.KEEPS,
        on_notice: Callable[[NoticeData], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Describe the owner; `with` or `open` registers it.

        Args:
            url: of the server.
            name: of the owner, unique at the server.
            secret: what the server asks of everyone, if it does.
            parent: an open client of which this owner is a part.
            policy: what the server answers for it to a demand: lock, stop, pause, or
                callback, which leaves it to `on_notice` and a limit.
            policy_settings: times of the policy in s, such as `limit_s`.
            priority: 0 to 9.
            timeout_s: longest wait of requests that say nothing else.
            time_to_live_s: silence after which the server frees all that it holds.
            asker_tie: what it wants when priorities are equal.
            holder_tie: what it allows then.
            on_notice: called in a thread of the client with each notice.
            clock: seconds, never going back.

        Raises:
            BadInput: a value is out of range.
        """
        data = checked(
            OwnerData,
            name=name,
            parent_key=parent.key if parent else None,
            policy={"name": policy, "settings": policy_settings or {}},
            priority=priority,
            timeout_s=timeout_s,
            time_to_live_s=time_to_live_s,
            asker_tie=asker_tie,
            holder_tie=holder_tie,
        )
        super().__init__(url, data, secret, clock)
        self._registering = threading.Lock()
        self._heart: threading.Thread | None = None
        self._reader = NoticeReader(self, self._trusted.learn, on_notice)

    # -- life --------------------------------------------------------------------------

    def __enter__(self) -> "Client":
        """Register."""
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave: all that it holds is free at once."""
        self.close()

    def open(self) -> None:
        """Register, and send signs of life from now on.

        Raises:
            ServerUnreachable: nobody answers.
            Refused: the name is taken, the secret wrong, the server full.
        """
        self._begin()
        if self._heart is None:
            self._heart = threading.Thread(
                target=self._beat, name=f"alive-{self.name}", daemon=True
            )
            self._heart.start()
            self._reader.start()

    def close(self) -> None:
        """Leave the server, if it can be reached, and end the threads."""
        self._closing.set()
        self._reader.stop()
        if self._heart is not None:
            self._heart.join()
            self._heart = None
        if self.key is not None:
            with suppress(TestbedError):  # it will notice our silence
                self._own("DELETE", "/owner")
            self.key = None
        self._trusted.lose_all()
        super().close()

    # -- asking ------------------------------------------------------------------------

    def take(
        self,
        *resources: str,
        optional: tuple[str, ...] = (),
        rates: Mapping[str, float] | None = None,
        priority: int | None = None,
        timeout_s: float | None = None,
        loss: Loss = Loss.WHOLE,
        add_to: Token | None = None,
    ) -> Outcome:
        """Ask, and wait until the request has ended.

        Args:
            resources: all of them or nothing.
            optional: those it can do without.
            rates: cumulative resource to percent.
            priority: None takes the owner's.
            timeout_s: longest wait, on the server's clock; None takes the owner's.
            loss: what the token loses when one resource is taken away.
            add_to: a token of its own to enlarge.

        Returns:
            The outcome, as a ledger on this robot would give it.

        Raises:
            BadInput: the request makes no sense there.
            ServerUnreachable: no answer for longer than the time to live.
            NotRegistered, ServerRestarted: the server knows this owner no more; the
                next call registers it again.
        """
        with self._registering:  # another thread may have done it meanwhile
            if self.key is None:
                self._begin()
        data = checked(
            RequestData,
            resources=resources,
            optional=optional,
            rates={} if rates is None else rates,
            priority=priority,
            timeout_s=timeout_s,
            loss=loss,
            add_to=None if add_to is None else text_of(add_to),
            mark=secrets.token_hex(8),
            wait_s=min(MAX_WAIT_S, self._data.time_to_live_s),
        )
        try:
            ticket = self._insist("POST", "/owner/requests", data)
            while ticket.outcome is None:
                place = f"/owner/requests/{ticket.ticket}"
                ticket = self._insist("GET", place, wait_s=data.wait_s)
        except BaseException:  # Ctrl-C, or the server is gone
            self._take_back(data)
            raise
        outcome = ticket.outcome.as_outcome()
        if outcome.token is not None:
            self._trusted.add(outcome.token)
        return outcome

    def release(self, token: Token, names: tuple[str, ...] | None = None) -> None:
        """Give back all of a token, or these names."""
        text_of(token)
        if names is None:
            self._trusted.discard(token)
        super().release(token, names)

    def holds(self, token: Token) -> bool:
        """Whether this owner may act on a token, by its own clock.

        False as soon as the server has not answered for too long: by then it may soon
        give the resources to somebody else.
        """
        return self._trusted.holds(token)

    def notices(self) -> Iterator[NoticeData]:
        """Yield notices as they come, until the client is closed."""
        return self._reader.all()

    # -- inside ------------------------------------------------------------------------

    def _begin(self) -> None:
        registered = self._register()
        self._reader.begin(registered.key, registered.last_notice)

    def _take_back(self, data: RequestData) -> None:
        """Leave no request behind that nobody waits for; best effort.

        Whether it has arrived is not known: asked again with its mark, it is the same.
        """
        if self.key is None:
            return
        with suppress(TestbedError):
            now = data.model_copy(update={"wait_s": 0.0, "timeout_s": 0.0})
            asked = self.read(TicketData, self._own("POST", "/owner/requests", now))
            answer = self._own("DELETE", f"/owner/requests/{asked.ticket}")
            outcome = self.read(TicketData, answer).outcome
            if outcome is not None and outcome.token is not None:
                self.release(Token.from_text(outcome.token))

    def _beat(self) -> None:
        """Send signs of life; what goes wrong shows in `holds` and `why_lost`."""
        period_s = self._data.time_to_live_s / SIGNS
        while not self._closing.wait(period_s):
            if self.key is not None:
                try:
                    self.renew()
                except TestbedError as error:
                    self.why_lost = error
