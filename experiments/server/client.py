"""Client of a reservation server: registers an owner and requests resources.

with Client("http://127.0.0.1:8640", "robot 1") as robot:
    with robot.lease("ball", wait_s=3.0) as lease:
        while lease.token is not None:
            ...  # dribble

The server releases the resources of an owner that is silent for its time to live. The
owner does not know which of its renewals arrived. It therefore measures the time from
the sending of the last answered renewal, and stops slightly before the server does. So
two robots never hold the ball at the same time (`TrustedTokens`).
"""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

import httpx
from pydantic import BaseModel

from nao_testbed.controllers.arbitration.leases import Leasing, Lessor
from nao_testbed.controllers.arbitration.requests import End, Present, Request, Ticket
from nao_testbed.controllers.arbitration.tokens import (
    AskerTie,
    HolderTie,
    Loss,
    LossCause,
    Outcome,
    OutcomeKind,
    Refusal,
    Token,
    TokenId,
    Why,
)
from nao_testbed.experiments.server.link import (
    CALL_S,
    NoticeReader,
    NotRegistered,
    ServerLink,
    ServerUnreachable,
    checked,
    text_of,
)
from nao_testbed.experiments.server.messages import (
    MAX_WAIT_S,
    Alive,
    NoticeData,
    OwnerData,
    PolicyData,
    PresentData,
    Registered,
    ReleaseData,
    RequestData,
    TicketData,
)
from nao_testbed.experiments.server.shared_ledger import SIGNS
from nao_testbed.models import BadInput, TestbedError

TRUSTED = 0.9
"""Fraction of the time to live for which tokens are trusted: a margin for the server's
tick and for clock drift."""
_REMEMBERED = 1000
"""Number of stored ended tokens, since the notice of an end may overtake the grant."""


class TrustedTokens:
    """Tokens of one owner; thread-safe."""

    def __init__(self, clock: Callable[[], float], time_to_live_s: float) -> None:
        """Start without tokens.

        Args:
            clock: function that returns seconds, never decreasing.
            time_to_live_s: silence after which the server releases an owner's
                resources.
        """
        self._clock = clock
        self._trust_s = TRUSTED * time_to_live_s
        self._lock = threading.Lock()
        self._held: set[TokenId] = set()
        self._ended: deque[TokenId] = deque(maxlen=_REMEMBERED)
        self._paused: set[int] = set()
        """Numbers of requests with which paused tokens wait to resume."""
        self.until_s = float("-inf")
        """End of trust, on the clock."""

    def holds(self, token: Token) -> bool:
        """Return True if the owner may act on a token now."""
        with self._lock:
            return token.id in self._held and self._clock() < self.until_s

    def before_send(self) -> tuple[float, frozenset[TokenId]]:
        """Return the argument `sent` of `after_answer`, before a call."""
        with self._lock:
            return self._clock(), frozenset(self._held)

    def after_answer(
        self, sent: tuple[float, frozenset[TokenId]], valid: Iterable[str]
    ) -> None:
        """Extend the trust; drop tokens that the server had ended when it answered.

        Args:
            sent: result of `before_send`; tokens granted since then are kept.
            valid: public parts of the valid tokens in the answer.
        """
        sent_s, before = sent
        with self._lock:
            self.until_s = max(self.until_s, sent_s + self._trust_s)
            self._held -= before - {_read(text) for text in valid}

    def add(self, token: Token) -> None:
        """Add a granted token."""
        with self._lock:
            if token.id not in self._ended:
                self._held.add(token.id)

    def discard(self, token: Token) -> None:
        """Remove a token."""
        with self._lock:
            self._held.discard(token.id)

    def invalidate_all(self) -> None:
        """Remove all tokens until a new registration."""
        with self._lock:
            self._held.clear()
            self._paused.clear()

    def apply_notice(self, notice: NoticeData) -> None:
        """Update the owner's tokens from a notice."""
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


def _place(ticket: int) -> str:
    return f"/owner/requests/{ticket}"


RETRY_PAUSE_S = 0.05
"""Pause in s before a call is repeated that did not reach the server."""


class ServerRestarted(TestbedError):
    """The server started a new epoch; all earlier tokens are refused."""


class Client(ServerLink, Leasing):
    """Owner at one server; a context manager, thread-safe.

    One thread renews the owner until `close`; another one reads notices. A token ended
    by the server is known to be invalid after the notice, at the latest after the next
    renewal.
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
        retry_s: float | None = None,
        time_to_live_s: float = 5.0,
        asker_tie: AskerTie = AskerTie.LOSES,
        holder_tie: HolderTie = HolderTie.KEEPS,
        on_notice: Callable[[NoticeData], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Describe the owner; `with` or `open` registers it.

        Its defaults are those of `OwnerData`. With the policy `callback`, `on_notice`
        answers a demand, within a limit; a thread of the client calls it with each
        notice. `secret` is the shared secret of the server, `parent` an open client of
        which this owner is a part, `clock` returns seconds.

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
            retry_s=retry_s,
            time_to_live_s=time_to_live_s,
            asker_tie=asker_tie,
            holder_tie=holder_tie,
        )
        super().__init__(url, secret)
        self.key: str | None = None
        """Key at the server while it is registered; keep it secret."""
        self.why_lost: TestbedError | None = None
        """Reason why no token can be trusted; None without one."""
        self._data: OwnerData = data
        self._clock = clock
        self._trusted = TrustedTokens(clock, data.time_to_live_s)
        self._closing = threading.Event()
        self._epoch: int | None = None
        """Epoch of the registration."""
        self._registering = threading.Lock()
        self._renewer: threading.Thread | None = None
        self._unreleased: deque[Token] = deque()
        """Tokens released by leases while the server could not be reached."""
        self._reader = NoticeReader(self, self._trusted.apply_notice, on_notice)

    @property
    def name(self) -> str:
        """Name of the owner."""
        return self._data.name

    @property
    def _call_s(self) -> float:
        """Timeout of a call: signs of life need more than one per time to live."""
        return min(CALL_S, self._data.time_to_live_s / 2.0)

    # -- registration ------------------------------------------------------------------

    def __enter__(self) -> "Client":
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def open(self) -> None:
        """Register, and renew the registration from now on.

        Raises:
            ServerUnreachable: the server does not answer.
            Refused: the name is taken, the secret is wrong, or the server is full.
        """
        self._register()
        if self._renewer is None:
            self._renewer = threading.Thread(
                target=self._renew_until_closed, name=f"alive-{self.name}", daemon=True
            )
            self._renewer.start()
            self._reader.start()

    def close(self) -> None:
        """Unregister from the server, if reachable, and end the threads.

        All its resources are released at once; leaving `with` closes it.
        """
        self._closing.set()
        self._reader.stop()
        if self._renewer is not None:
            self._renewer.join()
            self._renewer = None
        if self.key is not None:
            with suppress(TestbedError):  # the server drops a silent owner
                self._own("DELETE", "/owner")
            self.key = None
        self._trusted.invalidate_all()
        super().close()

    def renew(self) -> None:
        """Renew the registration now.

        Raises:
            ServerUnreachable: no answer; tokens are trusted until their time has
                passed.
            ServerRestarted: the server started a new epoch.
            NotRegistered: the owner is no longer registered there.
        """
        sent = self._trusted.before_send()
        alive = self.read(Alive, self._own("POST", "/owner/alive"))
        self._trusted.after_answer(sent, alive.tokens)
        self.why_lost = None
        for _ in range(len(self._unreleased)):
            self._give_back(self._unreleased.popleft())

    # -- requests ----------------------------------------------------------------------

    def take(
        self,
        *resources: str,
        optional: tuple[str, ...] = (),
        rates: Mapping[str, float] | None = None,
        priority: int | None = None,
        operation: str | None = None,
        timeout_s: float | None = None,
        retry_s: float | None = None,
        loss: Loss = Loss.WHOLE,
        add_to: Token | None = None,
    ) -> Outcome:
        """Submit a request, and wait until it has ended.

        Defaults are those of the owner; see `RequestData`.

        Returns:
            The outcome, in the form of a local ledger.

        Raises:
            BadInput: the server rejects the request.
            ServerUnreachable: no answer for longer than the time to live.
            NotRegistered, ServerRestarted: the server does not know this owner; the
                next call registers it again.
        """
        data = checked(
            RequestData,
            resources=resources,
            optional=optional,
            rates={} if rates is None else rates,
            priority=priority,
            operation=operation,
            timeout_s=timeout_s,
            retry_s=retry_s,
            loss=loss,
            add_to=None if add_to is None else text_of(add_to),
            mark=secrets.token_hex(8),
            wait_s=self._wait_s,
        )
        state = self._post_request(data)
        try:
            while (outcome := self._read_outcome(state)) is None:
                state = self._poll(state.ticket, self._wait_s)
        except BaseException:  # Ctrl-C, or the server is unreachable
            self._withdraw_request(data)
            raise
        return outcome

    def release(self, token: Token, names: tuple[str, ...] | None = None) -> None:
        """Release a token or some of its resources."""
        text_of(token)
        if names is None:
            self._trusted.discard(token)
        super().release(token, names)

    def holds(self, token: Token) -> bool:
        """Return True if this owner may act on a token, by its own clock.

        False as soon as the server has not answered for too long, since it may soon
        grant the resources to another owner.
        """
        return self._trusted.holds(token)

    # -- interface for leases (`Lessor`) -----------------------------------------------

    def _lessor(self, owner: str | None) -> tuple[str, Lessor]:
        if owner not in (None, self.name):
            raise BadInput(
                f"this client is the owner {self.name!r}, not {owner!r}; leave out "
                "the owner, or open a client with that name."
            )
        return self.name, self

    def ask(self, request: Request) -> Ticket:
        """Submit a request without waiting.

        Raises:
            BadInput: as `take`; or the policy has a function, which cannot be sent.
            ServerUnreachable, NotRegistered, ServerRestarted: as `take`.
        """
        policy = request.policy
        data = checked(
            RequestData,
            resources=request.resources,
            optional=request.optional,
            rates=dict(request.rates),
            priority=request.priority,
            operation=request.operation,
            timeout_s=request.timeout_s,
            retry_s=request.retry_s,
            policy=None if policy is None else PolicyData.of(policy),
            mark=secrets.token_hex(8),
        )
        state = self._post_request(data)
        ticket = Ticket(state.ticket, request)
        ticket.outcome = self._read_outcome(state)
        return ticket

    def outcome(self, ticket: Ticket) -> Outcome | None:
        """Return the outcome of a request; None while it waits, or if unknown."""
        if ticket.outcome is None:
            try:
                state = self.read(TicketData, self._own("GET", _place(ticket.number)))
                ticket.outcome = self._read_outcome(state)
            except ServerUnreachable:
                return None
            except (NotRegistered, ServerRestarted):
                ticket.outcome = Outcome(OutcomeKind.CANCELLED, 0, why=Why.OWNER_GONE)
        return ticket.outcome

    def wait(self, ticket: Ticket) -> Outcome:
        """Wait until a request has ended.

        Raises:
            ServerUnreachable, NotRegistered, ServerRestarted: as `take`.
        """
        while ticket.outcome is None:
            state = self._poll(ticket.number, self._wait_s)
            ticket.outcome = self._read_outcome(state)
        return ticket.outcome

    def present(self, owner: str, token: Token, newest: Token) -> Present:
        """Return the present state of a token.

        If no token is trusted for lack of answers, the state has neither a token nor a
        ticket nor an end.
        """
        if self._trusted.holds(newest):
            return Present(token=newest)
        try:
            data = checked(ReleaseData, token=text_of(token))
            answer = self._own("POST", "/owner/follow", data)
        except ServerUnreachable:
            return Present()
        except (NotRegistered, ServerRestarted):
            return Present(end=self._end_reason())
        now = self.read(PresentData, answer)
        if now.token is not None:
            newest = Token.from_text(now.token)
            self._trusted.add(newest)
            return Present(token=newest if self._trusted.holds(newest) else None)
        if now.ticket is not None:
            request = Request(owner=owner, resources=now.resources)
            return Present(ticket=Ticket(now.ticket, request))
        return Present(end=End(**dict(now.end)) if now.end else None)

    def end(self, ticket: Ticket, token: Token | None) -> None:
        """Release the grant of a request, or withdraw the request.

        A failed call is repeated with the next renewal.
        """
        if token is None:
            with suppress(TestbedError):
                answer = self._own("DELETE", _place(ticket.number))
                outcome = self._read_outcome(self.read(TicketData, answer))
                token = None if outcome is None else outcome.token
        if token is not None:
            self._give_back(token)

    def _give_back(self, token: Token) -> None:
        """Release the present replacement of a token; without an answer, later."""
        self._trusted.discard(token)
        try:
            data = checked(ReleaseData, token=text_of(token))
            self._own("POST", "/owner/end", data)
        except ServerUnreachable:
            self._unreleased.append(token)
        except (NotRegistered, ServerRestarted):
            pass  # already ended

    def _end_reason(self) -> End:
        is_restarted = isinstance(self.why_lost, ServerRestarted)
        return End(Refusal.WRONG_EPOCH if is_restarted else Refusal.EXPIRED)

    def notices(self) -> Iterator[NoticeData]:
        """Yield notices as they arrive, until the client is closed."""
        return self._reader.all()

    # -- internals ---------------------------------------------------------------------

    @property
    def _wait_s(self) -> float:
        """Maximum time for which the server may hold a call, in s."""
        return min(MAX_WAIT_S, self._data.time_to_live_s)

    def _post_request(self, data: RequestData) -> TicketData:
        """Send a request once, even if the call is repeated."""
        with self._registering:  # another thread may have registered
            if self.key is None:
                self._register()
        try:
            return self._call_until_answered("POST", "/owner/requests", data)
        except BaseException:  # Ctrl-C, or the server is unreachable
            self._withdraw_request(data)
            raise

    def _poll(self, ticket: int, wait_s: float) -> TicketData:
        return self._call_until_answered("GET", _place(ticket), wait_s=wait_s)

    def _read_outcome(self, state: TicketData) -> Outcome | None:
        """Return the outcome of a request; trust the token of a grant."""
        if state.outcome is None:
            return None
        outcome = state.outcome.as_outcome()
        if outcome.token is not None:
            self._trusted.add(outcome.token)
        return outcome

    def _register(self) -> None:
        sent = self._trusted.before_send()
        answer = self.call("POST", "/owners", self._data, timeout_s=self._call_s)
        registered = self.read(Registered, answer)
        self._trusted.invalidate_all()
        self._trusted.after_answer(sent, ())
        self.key, self._epoch = registered.key, registered.epoch
        self.why_lost = None
        self._reader.begin(registered.key, registered.last_notice)

    def _own(
        self,
        method: str,
        path: str,
        data: BaseModel | None = None,
        wait_s: float = 0.0,
    ) -> httpx.Response:
        """Call the server for this owner; record if the server does not know it."""
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
            why = self._unknown_reason(error)
            if self.key == key:  # not registered again in between
                self.key = None
                self._trusted.invalidate_all()
                self.why_lost = why
            raise why from error

    def _unknown_reason(self, error: NotRegistered) -> TestbedError:
        if self.epoch == self._epoch:
            return error
        return ServerRestarted(
            f"the server at {self.url} was restarted: its epoch is {self.epoch}, not "
            f"{self._epoch} any more. All earlier tokens are refused; request again."
        )

    def _call_until_answered(
        self,
        method: str,
        path: str,
        data: RequestData | None = None,
        wait_s: float = 0.0,
    ) -> TicketData:
        """Repeat the call until there is an answer, for at most a time to live."""
        give_up_s = self._clock() + self._data.time_to_live_s
        wait_s = data.wait_s if data else wait_s
        while True:
            try:
                return self.read(TicketData, self._own(method, path, data, wait_s))
            except ServerUnreachable:
                if self._clock() >= give_up_s or self._closing.wait(RETRY_PAUSE_S):
                    raise

    def _withdraw_request(self, data: RequestData) -> None:
        """Withdraw a request without a waiter; best effort.

        It is unknown whether the request arrived: a repeated mark returns the same
        request.
        """
        if self.key is None:
            return
        with suppress(TestbedError):
            now = data.model_copy(update={"wait_s": 0.0, "timeout_s": 0.0})
            state = self.read(TicketData, self._own("POST", "/owner/requests", now))
            answer = self._own("DELETE", f"/owner/requests/{state.ticket}")
            outcome = self.read(TicketData, answer).outcome
            if outcome is not None and outcome.token is not None:
                self.release(Token.from_text(outcome.token))

    def _renew_until_closed(self) -> None:
        """Renew the registration; failures change `holds` and `why_lost`."""
        period_s = self._data.time_to_live_s / SIGNS
        while not self._closing.wait(period_s):
            if self.key is not None:
                try:
                    self.renew()
                except TestbedError as error:
                    self.why_lost = error
