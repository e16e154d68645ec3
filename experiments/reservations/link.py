"""The way to a reservation server: HTTP, and its errors as ours.

Server, client and command line speak of the same errors; which one a caller gets says
what it can do about it.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from controllers.resources.tokens import Token
from controllers.resources.words import Refusal
from experiments.reservations.guards import EPOCH_HEADER
from experiments.reservations.shared_secret import check_sendable
from experiments.reservations.wire import (
    CommandData,
    DefinitionData,
    GivenData,
    InstalledData,
    NameData,
    ReleaseData,
    ResourceData,
    RulesData,
    StartedData,
    TakenData,
    Verdict,
    printable,
)
from experiments.reservations.wire_views import SnapshotData
from models import BadInput, TestbedError
from models.resource_node import ResourceKind

CALL_S = 5.0
"""Longest time for one call that need not wait, in s."""
INSTALL_S = 30.0
"""Longest time for reading a file, in s."""
START_S = 3600.0
"""Longest time for the start of a behaviour: each part of it may wait a minute."""

M = TypeVar("M", bound=BaseModel)


class ServerUnreachable(TestbedError):
    """Nobody answers there, or not in time. Worth a retry."""


class Refused(TestbedError):
    """The server will not do it; nothing has changed there."""

    def __init__(self, status: int, text: str) -> None:
        """Keep the HTTP status for those who look closer."""
        self.status = status
        super().__init__(text)


class NotRegistered(Refused):
    """The server knows this owner no more: it is to register again."""


class ServerLink:
    """Calls to one server that need no owner; safe for threads."""

    def __init__(self, url: str, secret: str | None = None) -> None:
        """Open no connection yet.

        Args:
            url: such as http://127.0.0.1:8640.
            secret: what the server asks of everyone, if it does.

        Raises:
            BadInput: the address is malformed, or the secret cannot be sent.
        """
        self.url = _checked(url)
        self.epoch: int | None = None
        """Of the last answer; a server that was restarted has a higher one."""
        headers = {}
        if secret is not None:
            check_sendable(secret)
            headers[b"Authorization"] = b"Bearer " + secret.encode()
        self.http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=CALL_S,
            trust_env=False,  # robots of one network: no proxy
            verify=self.url.startswith("https:"),  # else it would read certificates
        )

    def __enter__(self) -> "ServerLink":
        """Return the link itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    # -- what anybody may do -----------------------------------------------------------

    def snapshot(self) -> SnapshotData:
        """Return the list of resources with owners and waiters (RM-62)."""
        return self.read(SnapshotData, self.call("GET", "/resources"))

    def add_resource(
        self, name: str, parent: str, kind: ResourceKind = ResourceKind.EXCLUSIVE
    ) -> None:
        """Add a resource, such as a ball (RM-60)."""
        data = checked(ResourceData, name=name, parent=parent, kind=kind)
        self.call("POST", "/resources", data)

    def release(self, token: Token, names: tuple[str, ...] | None = None) -> None:
        """Give back all of a token, or these names."""
        data = checked(ReleaseData, token=text_of(token), names=names)
        self.call("POST", "/release", data)

    def authorise(self, token: Token | None, resource: str) -> Refusal | None:
        """Ask, as a device, why a command may not pass; None: it may (AR-10)."""
        text = None if token is None else text_of(token)
        data = checked(CommandData, token=text, resource=resource)
        return self.read(Verdict, self.call("POST", "/authorise", data)).reason

    # -- what a station does -----------------------------------------------------------

    def install(self, text: str, name: str) -> InstalledData:
        """Send a file of rules and behaviours, installed whole or not at all (RM-64).

        Raises:
            BadInput: all that is wrong in it, a line each.
        """
        data = checked(RulesData, name=name, text=text)
        answer = self.call("POST", "/rules", data, timeout_s=INSTALL_S)
        return self.read(InstalledData, answer)

    def installed(self) -> InstalledData:
        """Return what a station sent that is there now."""
        return self.read(InstalledData, self.call("GET", "/rules"))

    def definition(self, behaviour: str) -> DefinitionData:
        """Return a behaviour that a station sent, in a scenario's words, to play it."""
        answer = self.call("GET", f"/behaviours/{quote(behaviour, safe='')}")
        return self.read(DefinitionData, answer)

    def start(self, behaviour: str) -> StartedData:
        """Start a behaviour by its name; wait as long as it waits for its resources."""
        data = checked(NameData, name=behaviour)
        answer = self.call("POST", "/start", data, timeout_s=START_S)
        return self.read(StartedData, answer)

    def stop(self, behaviour: str) -> None:
        """Stop a behaviour; one that does not run stays as it is."""
        self.call("POST", "/stop", checked(NameData, name=behaviour))

    def take_away(self, *names: str, priority: int | None = None) -> None:
        """Take resources from whoever has them, until `give_back`.

        Args:
            names: leaves and composites.
            priority: takes only from lower ones, or nothing; None: from all.
        """
        data = checked(TakenData, names=names, priority=priority)
        self.call("POST", "/take-away", data)

    def give_back(self, *names: str) -> None:
        """Let resources that were taken away be had again; without a name all."""
        data = checked(GivenData, names=names or None)
        self.call("POST", "/give-back", data)

    # -- calls -------------------------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        data: BaseModel | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, float] | None = None,
        timeout_s: float = CALL_S,
    ) -> httpx.Response:
        """Make one call.

        Raises:
            ServerUnreachable: there is no answer in time, or the server is full.
            BadInput: the server says that what was asked makes no sense.
            NotRegistered: it does not know the owner.
            Refused: it will not do it for another reason.
        """
        body = None if data is None else data.model_dump_json(exclude_defaults=True)
        all_headers = dict(headers or {})
        if body is not None:
            all_headers["Content-Type"] = "application/json"
        try:
            answer = self.http.request(
                method,
                path,
                content=body,
                headers=all_headers,
                params=params,
                timeout=timeout_s,
            )
        except httpx.HTTPError as error:
            raise self.unreachable(error) from error
        self.note_epoch(answer)
        if answer.status_code >= 400:
            raise _refusal(answer)
        return answer

    def note_epoch(self, answer: httpx.Response) -> None:
        """Remember the epoch that an answer tells."""
        text = answer.headers.get(EPOCH_HEADER, "")
        if text.isdecimal():
            self.epoch = int(text[:20])

    def unreachable(self, error: httpx.HTTPError) -> ServerUnreachable:
        """Return our error for one of the transport."""
        return ServerUnreachable(
            f"no reservation server answers at {self.url} "
            f"({str(error) or type(error).__name__}). Start one with `nao-testbed "
            "resources serve`, or give its address."
        )

    def read(self, model: type[M], answer: httpx.Response) -> M:
        """Return an answer as data.

        Raises:
            Refused: it is none of a reservation server.
        """
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            raise Refused(
                answer.status_code,
                f"what answers at {self.url} is no reservation server, or one of "
                "another version.",
            ) from error


def text_of(token: Token) -> str:
    """Return the form in which a token goes to the server.

    Raises:
        BadInput: it is none.
    """
    if type(token) is not Token:
        kind = type(token).__name__  # its value may be a secret
        raise BadInput(f"a token is of type {kind}; give the Token of a grant.")
    return token.as_text()


def checked(model: type[M], **values: Any) -> M:
    """Return data for the server, checked before it is sent.

    Raises:
        BadInput: a value is out of range.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        texts = [
            f"{'.'.join(map(str, fault['loc']))} is {str(fault['input'])[:80]!r}: "
            f"{fault['msg']}"
            for fault in error.errors()[:5]
        ]
        raise BadInput("; ".join(texts) + ".") from error


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_good = (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and parts.port != 0  # out of range: ValueError
            and not (parts.query or parts.fragment or parts.username)
        )
    except ValueError:
        is_good = False
    if not is_good:
        raise BadInput(
            f"server address {url!r} is malformed; give one such as "
            "http://127.0.0.1:8640."
        )
    return url.rstrip("/")


def _refusal(answer: httpx.Response) -> TestbedError:
    try:
        lines = str(answer.json()["error"]).split("\n")
        text = "\n".join(map(printable, lines))
    except (ValueError, KeyError, TypeError):
        text = (
            f"the server answered {answer.status_code} "
            f"{printable(answer.reason_phrase)} without a reason; is it a reservation "
            "server?"
        )
        return Refused(answer.status_code, text)
    if answer.status_code in {400, 404}:
        return BadInput(text)
    if answer.status_code == 503:  # full
        return ServerUnreachable(text)
    kind = NotRegistered if answer.status_code == 410 else Refused
    return kind(answer.status_code, text)
