"""An owner on another robot: registers, stays alive, asks, and knows what it holds.

with Client("http://127.0.0.1:8640", "robot 1") as robot:
    outcome = robot.take("ball", timeout_s=3.0)
    if outcome.token and robot.holds(outcome.token):
        ...  # kick
        robot.release(outcome.token)

The server frees what an owner holds when it has been silent for its time to live. The
owner cannot know which of its signs of life arrived, so it counts from the moment at
which it sent the last one that was answered, and stops a little before the server does:
two robots never both think that they hold the ball (`TrustedTokens`).
"""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

import httpx

from controllers.arbitration.tokens import (
    AskerTie,
    HolderTie,
    Loss,
    LossCause,
    Outcome,
    Token,
    TokenId,
)
from experiments.server.link import (
    CALL_S,
    NoticeReader,
    NotRegistered,
    ServerLink,
    ServerUnreachable,
    checked,
    text_of,
)
from experiments.server.messages import (
    MAX_WAIT_S,
    Alive,
    NoticeData,
    OwnerData,
    Registered,
    RequestData,
    TicketData,
)
from models import TestbedError

TRUSTED = 0.9
"""Part of the time to live for which tokens are trusted: the rest is for the server's
tick and for clocks that drift."""
_REMEMBERED = 1000
"""Ended tokens that are remembered: the notice of an end may overtake the grant."""


class TrustedTokens:
    """The tokens of one owner; safe for threads."""

    def __init__(self, clock: Callable[[], float], time_to_live_s: float) -> None:
        """Trust nothing yet.

        Args:
            clock: seconds, never going back.
            time_to_live_s: after which the server frees what a silent owner holds.
        """
        self._clock = clock
        self._trust_s = TRUSTED * time_to_live_s
        self._lock = threading.Lock()
        self._held: set[TokenId] = set()
        self._ended: deque[TokenId] = deque(maxlen=_REMEMBERED)
        self._paused: set[int] = set()
        """Numbers of requests with which paused tokens wait to resume."""
        self.until_s = float("-inf")
        """When trust ends, on the clock."""

    def holds(self, token: Token) -> bool:
        """Whether the owner may act on a token now."""
        with self._lock:
            return token.id in self._held and self._clock() < self.until_s

    def sending(self) -> tuple[float, frozenset[TokenId]]:
        """Return what `answered` needs to know, just before a sign of life is sent."""
        with self._lock:
            return self._clock(), frozenset(self._held)

    def answered(
        self, sent: tuple[float, frozenset[TokenId]], valid: Iterable[str]
    ) -> None:
        """Trust for longer; forget what the server had ended when it answered.

        Args:
            sent: of `sending`; what was granted since then stays.
            valid: public parts of the tokens that the server named.
        """
        sent_s, before = sent
        with self._lock:
            self.until_s = max(self.until_s, sent_s + self._trust_s)
            self._held -= before - {_read(text) for text in valid}

    def add(self, token: Token) -> None:
        """Trust a token that was granted."""
        with self._lock:
            if token.id not in self._ended:
                self._held.add(token.id)

    def discard(self, token: Token) -> None:
        """Trust a token no more."""
        with self._lock:
            self._held.discard(token.id)

    def lose_all(self) -> None:
        """Trust nothing any more, until a new registration."""
        with self._lock:
            self._held.clear()
            self._paused.clear()

    def learn(self, notice: NoticeData) -> None:
        """Take what a notice says about the owner's tokens."""
        outcome = notice.outcome
        with self._lock:
            if notice.token is not None and notice.has_ended:
                ended = _read(notice.token)
                self._held.discard(ended)
                self._ended.append(ended)
            if notice.why is LossCause.PAUSED and notice.request is not None:
                self._paused.add(notice.request)
            has_resumed = outcome is not None and notice.request in self._paused
        if has_resumed and outcome is not None and notice.request is not None:
            with self._lock:
                self._paused.discard(notice.request)
            if outcome.token is not None:
                self.add(Token.from_text(outcome.token))


def _read(text: str) -> TokenId:
    epoch, _, sequence = text.partition(".")
    return TokenId(int(epoch), int(sequence))


AGAIN_S = 0.05
"""Pause before a call that found no server is made again."""


class ServerRestarted(TestbedError):
    """The server began a new epoch; all earlier tokens are refused."""


SIGNS = 3
"""Signs of life in one time to live: two may be lost."""


class Client(ServerLink):
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

        Its habits are those of `OwnerData`. With the policy `callback` the answer to a
        demand is left to `on_notice`, which a thread of the client calls with each
        notice, and to a limit. `secret` is what the server asks of everyone, `parent`
        an open client of which this owner is a part, `clock` counts seconds.

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
        super().__init__(url, secret)
        self.key: str | None = None
        """What the server knows it by, while it is registered; keep it secret."""
        self.why_lost: TestbedError | None = None
        """Why it may trust no token any more; None while all is well."""
        self._data: OwnerData = data
        self._clock = clock
        self._trusted = TrustedTokens(clock, data.time_to_live_s)
        self._closing = threading.Event()
        self._epoch: int | None = None
        """In which it registered."""
        self._registering = threading.Lock()
        self._renewer: threading.Thread | None = None
        self._reader = NoticeReader(self, self._trusted.learn, on_notice)

    @property
    def name(self) -> str:
        """Name of the owner."""
        return self._data.name

    @property
    def _call_s(self) -> float:
        """Longest time for a call: a sign of life more than once in a time to live."""
        return min(CALL_S, self._data.time_to_live_s / 2.0)

    # -- life --------------------------------------------------------------------------

    def __enter__(self) -> "Client":
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def open(self) -> None:
        """Register, and send signs of life from now on.

        Raises:
            ServerUnreachable: nobody answers.
            Refused: the name is taken, the secret wrong, the server full.
        """
        self._register()
        if self._renewer is None:
            self._renewer = threading.Thread(
                target=self._renew_until_closed, name=f"alive-{self.name}", daemon=True
            )
            self._renewer.start()
            self._reader.start()

    def close(self) -> None:
        """Leave the server, if it can be reached, and end the threads.

        All that it holds is free at once; leaving `with` closes it.
        """
        self._closing.set()
        self._reader.stop()
        if self._renewer is not None:
            self._renewer.join()
            self._renewer = None
        if self.key is not None:
            with suppress(TestbedError):  # it will notice our silence
                self._own("DELETE", "/owner")
            self.key = None
        self._trusted.lose_all()
        super().close()

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

        What is not said is taken from the owner; see `RequestData`.

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
                self._register()
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

    def _register(self) -> None:
        sent = self._trusted.sending()
        answer = self.call("POST", "/owners", self._data, timeout_s=self._call_s)
        registered = self.read(Registered, answer)
        self._trusted.lose_all()
        self._trusted.answered(sent, ())
        self.key, self._epoch = registered.key, registered.epoch
        self.why_lost = None
        self._reader.begin(registered.key, registered.last_notice)

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

    def _renew_until_closed(self) -> None:
        """Send signs of life; what goes wrong shows in `holds` and `why_lost`."""
        period_s = self._data.time_to_live_s / SIGNS
        while not self._closing.wait(period_s):
            if self.key is not None:
                try:
                    self.renew()
                except TestbedError as error:
                    self.why_lost = error
