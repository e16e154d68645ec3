"""Connection to a reservation server: shared secret, HTTP calls, stream of notices.

Server, client and command line share the same errors; the class of an error tells the
caller how to react. `ServerLink` makes the calls that need no owner. `NoticeReader`
reads an owner's notices and reconnects after a break: the server numbers notices and
keeps them for a while. The reader sends the last number that it has, so that a short
break loses no notice.
"""

import json
import logging
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from nao_testbed.controllers.arbitration.tokens import Refusal, Token
from nao_testbed.experiments.closed_loop.controller_failure import traceback_of
from nao_testbed.experiments.server.messages import (
    KEEP_ALIVE_S,
    AuthoriseAnswer,
    CommandData,
    DefinitionData,
    GivenData,
    InstalledData,
    NameData,
    NoticeData,
    ReleaseData,
    ResourceData,
    RulesData,
    SnapshotData,
    StartedData,
    TakenData,
)
from nao_testbed.experiments.server.service.address import EPOCH_HEADER, check_sendable
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.files import cause_of, read_text
from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.values import printable


def read_secret(path: Path) -> str:
    """Return the first line of a file.

    Raises:
        BadInput: the file cannot be read, or other users may read it.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise BadInput(
                f"secret file {path} can be read by others; `chmod 600 {path}` first."
            )
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"secret file {path} cannot be read: {cause_of(error)}."
        ) from error
    if not lines or not lines[0].strip():
        raise BadInput(
            f"secret file {path} is empty; put the secret on its first line."
        )
    return lines[0].strip()


CALL_S = 5.0
"""Timeout in s of a call that does not wait."""
INSTALL_S = 30.0
"""Timeout in s for reading a file."""
START_S = 3600.0
"""Timeout in s for the start of a behaviour, each part of which may wait a minute."""

M = TypeVar("M", bound=BaseModel)


class ServerUnreachable(TestbedError):
    """The server does not answer in time. Worth a retry."""


class Refused(TestbedError):
    """The server rejects the call; its state is unchanged."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


class NotRegistered(Refused):
    """The owner is not registered at the server; register again."""


class ServerLink:
    """Calls to one server that need no owner; thread-safe."""

    def __init__(self, url: str, secret: str | None = None) -> None:
        """Create the link without a connection.

        Args:
            url: address such as http://127.0.0.1:8640.
            secret: shared secret of the server, if any.

        Raises:
            BadInput: the address is malformed, or the secret cannot be sent.
        """
        self.url = _checked(url)
        self.epoch: int | None = None
        """Epoch of the last answer, which increases when the server restarts."""
        headers = {}
        if secret is not None:
            check_sendable(secret)
            headers[b"Authorization"] = b"Bearer " + secret.encode()
        self.http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=CALL_S,
            trust_env=False,  # no proxy between robots of one network
            verify=self.url.startswith("https:"),  # avoids reading certificates
        )

    def __enter__(self) -> "ServerLink":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    # -- calls for every program -------------------------------------------------------

    def snapshot(self) -> SnapshotData:
        """Return the list of resources with owners and waiters."""
        return self.read(SnapshotData, self.call("GET", "/resources"))

    def add_resource(
        self, name: str, parent: str, kind: ResourceKind = ResourceKind.EXCLUSIVE
    ) -> None:
        """Add a resource, such as a ball."""
        self._post("/resources", ResourceData, name=name, parent=parent, kind=kind)

    def release(self, token: Token, names: tuple[str, ...] | None = None) -> None:
        """Release a token or some of its resources."""
        self._post("/release", ReleaseData, token=text_of(token), names=names)

    def authorise(self, token: Token | None, resource: str) -> Refusal | None:
        """Return the reason why a command is refused, as a device; None: accepted."""
        text = None if token is None else text_of(token)
        answer = self._post("/authorise", CommandData, token=text, resource=resource)
        return self.read(AuthoriseAnswer, answer).reason

    # -- calls of a station ------------------------------------------------------------

    def install(self, text: str, name: str) -> InstalledData:
        """Send a file of rules and behaviours, installed completely or not at all.

        Raises:
            BadInput: all errors of the file, one per line.
        """
        answer = self._post("/rules", RulesData, INSTALL_S, name=name, text=text)
        return self.read(InstalledData, answer)

    def installed(self) -> InstalledData:
        """Return the present rules and behaviours of the station."""
        return self.read(InstalledData, self.call("GET", "/rules"))

    def definition(self, behaviour: str) -> DefinitionData:
        """Return a station's behaviour as sections of a scenario file."""
        answer = self.call("GET", f"/behaviours/{quote(behaviour, safe='')}")
        return self.read(DefinitionData, answer)

    def start(self, behaviour: str) -> StartedData:
        """Start a behaviour by name, and wait for its resources."""
        answer = self._post("/start", NameData, START_S, name=behaviour)
        return self.read(StartedData, answer)

    def stop(self, behaviour: str) -> None:
        """Stop a behaviour; ignore one that does not run."""
        self._post("/stop", NameData, name=behaviour)

    def take_away(self, *names: str, priority: int | None = None) -> None:
        """Revoke resources from their holders, until `give_back`.

        Args:
            names: leaves and composites.
            priority: revoke only if all holders have a lower priority; None: revoke
                from all.
        """
        self._post("/take-away", TakenData, names=names, priority=priority)

    def give_back(self, *names: str) -> None:
        """Return revoked resources; without names all."""
        self._post("/give-back", GivenData, names=names or None)

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
            ServerUnreachable: no answer arrives in time, or the server is full.
            BadInput: the server rejects the input.
            NotRegistered: the owner is unknown there.
            Refused: any other refusal.
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

    def _post(
        self,
        path: str,
        model: type[BaseModel],
        timeout_s: float = CALL_S,
        **values: Any,
    ) -> httpx.Response:
        return self.call("POST", path, checked(model, **values), timeout_s=timeout_s)

    def note_epoch(self, answer: httpx.Response) -> None:
        """Store the epoch of an answer."""
        text = answer.headers.get(EPOCH_HEADER, "")
        if text.isdecimal():
            self.epoch = int(text[:20])

    def unreachable(self, error: httpx.HTTPError) -> ServerUnreachable:
        """Convert a transport error to ours."""
        return ServerUnreachable(
            f"no reservation server answers at {self.url} "
            f"({str(error) or type(error).__name__}). Start one with `nao-testbed "
            "resources serve`, or give its address."
        )

    def read(self, model: type[M], answer: httpx.Response) -> M:
        """Parse an answer.

        Raises:
            Refused: the answer is not from a reservation server.
        """
        try:
            return model.model_validate_json(answer.content)
        except ValidationError as error:
            raise Refused(
                answer.status_code,
                f"{self.url} is not a reservation server, or has another version.",
            ) from error


def text_of(token: Token) -> str:
    """Return the text form of a token for the server.

    Raises:
        BadInput: the value is not a token.
    """
    if type(token) is not Token:
        kind = type(token).__name__  # the value may be a secret
        raise BadInput(f"a token is of type {kind}; give the Token of a grant.")
    return token.as_text()


def checked(model: type[M], **values: Any) -> M:
    """Return data for the server, validated before sending.

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


MAX_BREAK_S = 2.0
"""Maximum pause in s before the reader reconnects."""
KEPT = 10_000
"""Number of notices kept for a slow iterator; the oldest are dropped."""

_log = logging.getLogger(__name__)


class NoticeReader:
    """Thread that reads one owner's stream of notices."""

    def __init__(
        self,
        link: ServerLink,
        apply_notice: Callable[[NoticeData], None],
        on_notice: Callable[[NoticeData], None] | None,
    ) -> None:
        """Create the reader.

        Args:
            link: link to the server.
            apply_notice: function called first with each notice.
            on_notice: function of the user, called next; its errors are logged.
        """
        self._link = link
        self._apply_notice = apply_notice
        self._on_notice = on_notice
        self._key: str | None = None
        self._last = 0
        self.n_missed = 0
        """Number of notices that the server had already dropped."""
        self._queue: queue.SimpleQueue[NoticeData | None] | None = None
        self._changed = threading.Condition()
        self._is_stopped = False
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._run, name="notices", daemon=True)

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def begin(self, key: str, last: int) -> None:
        """Read for a registration, from the notices after `last` on."""
        with self._changed:
            self._key, self._last = key, last
            self._disconnect()
            self._changed.notify_all()

    def stop(self) -> None:
        """End the thread and all iterators."""
        with self._changed:
            self._is_stopped = True
            self._disconnect()
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()
        if self._queue is not None:
            self._queue.put(None)

    def all(self) -> Iterator[NoticeData]:
        """Yield notices from now on, until the reader stops."""
        if self._queue is None:
            self._queue = queue.SimpleQueue()
        waiting = self._queue
        while (notice := waiting.get()) is not None:
            yield notice

    # -- internals ---------------------------------------------------------------------

    def _run(self) -> None:
        pause_s = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped, pause_s)
                self._changed.wait_for(lambda: self._is_stopped or self._key)
                if self._is_stopped:
                    return
                key = self._key
            n_read = self._read_stream(key or "")
            pause_s = 0.05 if n_read else min(MAX_BREAK_S, 2.0 * pause_s + 0.05)

    def _read_stream(self, key: str) -> int:
        """Read until the stream ends; return the number of lines."""
        n_lines = 0
        headers = {"Owner-Key": key, "Last-Event-ID": str(self._last)}
        timeout = httpx.Timeout(KEEP_ALIVE_S, read=3.0 * KEEP_ALIVE_S)
        with (
            suppress(httpx.HTTPError),
            self._link.http.stream(
                "GET", "/owner/notices", headers=headers, timeout=timeout
            ) as answer,
        ):
            if answer.status_code != 200:
                self._forget(key, answer.status_code)
                return 0
            with self._changed:
                if self._is_stopped or self._key != key:
                    return 0
                stream = answer.extensions["network_stream"]
                self._socket = stream.get_extra_info("socket")
            try:
                for name, data in _events(answer.iter_lines()):
                    n_lines += 1
                    self._take(name, data)
            finally:
                self._socket = None
        return n_lines

    def _forget(self, key: str, status: int) -> None:
        """Wait for a new registration if the server rejects this one."""
        with self._changed:
            if status == 410 and self._key == key:
                self._key = None

    def _disconnect(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _take(self, name: str, data: str) -> None:
        if name == "missed":
            self.n_missed += int(json.loads(data)["n_missed"])
        if name != "notice":
            return
        notice = NoticeData.model_validate_json(data)
        self._last = notice.number
        self._apply_notice(notice)
        if self._queue is not None:
            if self._queue.qsize() >= KEPT:
                self._queue.get()
            self._queue.put(notice)
        if self._on_notice is not None:
            try:
                self._on_notice(notice)
            except BaseException as fault:  # noqa: BLE001  # a user's function
                said = "on_notice raised; reading continues with the next notice\n%s"
                _log.error(said, traceback_of(fault))


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Yield name and data of the events of a stream; an empty line ends each."""
    name, data = "", []
    for line in lines:
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].strip())
        elif not line:
            yield name, "\n".join(data)
            name, data = "", []
