"""Routes of a reservation server.

    GET  /                       a page with the resource list, updated continuously
    GET  /resources              the same as JSON; GET /events streams it
    POST /resources              adds a resource, such as a ball
    POST /owners                 registers an owner; the answer holds its key
    POST /owner/alive            renews the owner      (these with header Owner-Key)
    POST /owner/follow           present state of a token, after a pause
    POST /owner/end              releases a token, paused or not
    GET  /owner/notices          notices of the owner, as a stream
    POST /owner/requests         requests; GET, DELETE /owner/requests/N read, withdraw
    DELETE /owner                unregisters the owner
    POST /release                releases a token, or a part of it
    POST /authorise              checks a command for a device
    POST /rules                  installs a station's file; GET returns its state
    GET  /behaviours/NAME        returns a behaviour, for playing it
    POST /start                  starts a behaviour by name; POST /stop stops it
    POST /take-away              revokes resources; POST /give-back returns them

Every error is `{"error": "..."}` with a 4xx status that tells the caller how to react,
and changes nothing; a closed ledger answers 503.
"""

import json
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from importlib.resources import files
from typing import Annotated

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException

from nao_testbed.controllers.arbitration.requests import StaleToken, Ticket
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.experiments.server.messages import (
    KEEP_ALIVE_S,
    MAX_WAIT_S,
    Alive,
    AuthoriseAnswer,
    CommandData,
    DefinitionData,
    GivenData,
    InstalledData,
    NameData,
    NoticeData,
    OwnerData,
    PresentData,
    Registered,
    ReleaseData,
    RequestData,
    ResourceData,
    RulesData,
    SnapshotData,
    StartedData,
    TakenData,
    TicketData,
)
from nao_testbed.experiments.server.service.connections import (
    EventStream,
    WakeSignal,
    as_event,
    error_response,
)
from nao_testbed.experiments.server.service.owner_service import (
    NameTaken,
    OwnerGone,
    Service,
    TooMany,
)
from nao_testbed.experiments.server.service.station import Busy
from nao_testbed.experiments.server.shared_ledger import LedgerClosed
from nao_testbed.models import BadInput, TestbedError, UnknownName

_STATUS: Mapping[type[TestbedError], int] = {
    UnknownName: 404,
    BadInput: 400,
    StaleToken: 409,
    NameTaken: 409,
    OwnerGone: 410,
    TooMany: 429,
    Busy: 409,
}
_CLOSED = (
    "this server's ledger is closed and grants nothing; try again when the server "
    "has a new one."
)


def add_error_answers(app: FastAPI, max_body: int) -> None:
    """Install handlers that answer errors in our form.

    Args:
        app: application.
        max_body: maximum body in bytes.
    """

    @app.exception_handler(TestbedError)
    async def ours(_: Request, error: Exception) -> Response:
        if isinstance(error, LedgerClosed):  # its text is only for its owner
            return error_response(503, _CLOSED)
        known = (kind for kind in type(error).__mro__ if kind in _STATUS)
        return error_response(_STATUS[next(known, BadInput)], str(error))

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return error_response(400, _explain(error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        text = str(error.detail)
        if error.status_code == 404:
            path = request.url.path[:100]
            text = f"there is no {path!r} here; GET / lists the resources."
        elif error.status_code == 413:
            text = f"the body is too large; the limit is {max_body} bytes."
        elif error.status_code == 405:
            path = request.url.path[:100]
            text = f"{request.method} {path} is not supported."
        elif error.status_code == 400:  # too deep, too many digits, not UTF-8
            text = (
                "the body cannot be read; send JSON in UTF-8, flat, of short numbers."
            )
        return error_response(error.status_code, text)


def _explain(error: RequestValidationError) -> str:
    """Return the errors of a request, field by field."""
    texts = []
    for fault in error.errors()[:5]:
        place = ".".join(str(part) for part in fault["loc"][1:])[:100]
        if fault["type"] == "json_invalid":
            detail = fault.get("ctx", {}).get("error", "")
            texts.append(f"the body is not JSON, at character {place}: {detail}")
        elif fault["type"] == "missing":
            texts.append(f"{place or 'the body'} is missing")
        elif isinstance(fault["input"], bytes):
            texts.append("the body must come with Content-Type: application/json")
        elif fault["type"] == "extra_forbidden":
            texts.append(f"{place} is unknown")
        else:
            texts.append(
                f"{place or 'the body'} is {str(fault['input'])[:80]!r}: {fault['msg']}"
            )
    return "; ".join(texts) + "."


MAX_BODY = 256 * 1024
"""Maximum body of a request in bytes; larger ones are rejected unread."""
PAGE_PERIOD_S = 0.1
"""Minimum time between two snapshots sent to one page."""

_NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}

OwnerKey = Annotated[str | None, Header(alias="Owner-Key", max_length=200)]
Wait = Annotated[float, Query(ge=0.0, le=MAX_WAIT_S, allow_inf_nan=False)]


class Routes:
    """All routes of one service; `app` is the ASGI application."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._signals: set[WakeSignal] = set()
        self._is_closing = False
        self._page = (
            files("nao_testbed.experiments.server.service")
            .joinpath("page.html")
            .read_text("utf-8")
        )
        self._snapshot = ("", 0.0, 0)
        self.app = FastAPI(
            title="Reservations of a robot",
            docs_url=None,  # these pages load external scripts
            redoc_url=None,
            telemetry=_NO_TELEMETRY,
            max_body_size=MAX_BODY,
        )
        add_error_answers(self.app, MAX_BODY)
        self._add_views()
        self._add_owners()
        self._add_requests()
        self._add_station()

    def close(self) -> None:
        """End the streams and waiting calls, so that the server can end."""
        self._is_closing = True
        for signal in list(self._signals):
            signal.set()

    # -- routes ------------------------------------------------------------------------

    def _add_views(self) -> None:
        app, service = self.app, self._service

        @app.get("/", response_class=HTMLResponse)
        async def page() -> HTMLResponse:
            nonce = secrets.token_urlsafe(16)
            policy = (
                f"default-src 'none'; connect-src 'self'; style-src 'nonce-{nonce}'; "
                f"script-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; "
                "form-action 'none'; frame-ancestors 'none'"
            )
            return HTMLResponse(
                self._page.replace("NONCE", nonce),
                headers={"content-security-policy": policy},
            )

        @app.get("/resources")
        async def resources() -> SnapshotData:
            return service.snapshot()

        @app.post("/resources", status_code=201)
        async def add_resource(data: ResourceData) -> ResourceData:
            service.add_resource(data)
            return data

        @app.get("/events", response_model=None)
        async def events() -> EventStream:
            signal = self._signal()
            service.front.on_change.append(signal.set)

            def end() -> None:
                service.front.on_change.remove(signal.set)
                self._signals.discard(signal)

            return EventStream(self._snapshots(signal), end)

        @app.post("/release", status_code=204, response_class=Response)
        async def release(data: ReleaseData) -> None:
            service.front.release(Token.from_text(data.token), data.names)

        @app.post("/authorise")
        async def authorise(data: CommandData) -> AuthoriseAnswer:
            return service.authorise(data)

    def _add_owners(self) -> None:
        app, service = self.app, self._service

        @app.post("/owners", status_code=201)
        async def register(data: OwnerData, key: OwnerKey = None) -> Registered:
            return service.register(data, key)

        @app.post("/owner/alive")
        async def alive(key: OwnerKey = None) -> Alive:
            return service.renew(key)

        @app.post("/owner/follow")
        async def follow(data: ReleaseData, key: OwnerKey = None) -> PresentData:
            return service.follow(key, Token.from_text(data.token))

        @app.post("/owner/end", status_code=204, response_class=Response)
        async def end(data: ReleaseData, key: OwnerKey = None) -> None:
            service.end(key, Token.from_text(data.token))

        @app.delete("/owner", status_code=204, response_class=Response)
        async def leave(key: OwnerKey = None) -> None:
            service.leave(key)

        @app.get("/owner/notices", response_model=None)
        async def notices(
            key: OwnerKey = None,
            last: Annotated[int, Header(alias="Last-Event-ID", ge=0)] = 0,
        ) -> EventStream:
            owner = service.owner(key)
            signal = self._signal()
            service.front.notices.add_reader(owner, signal.set)

            def end() -> None:
                service.front.notices.remove_reader(owner, signal.set)
                self._signals.discard(signal)

            return EventStream(self._notices(owner, key, last, signal), end)

    def _add_requests(self) -> None:
        app, service = self.app, self._service

        @app.post("/owner/requests")
        async def ask(data: RequestData, key: OwnerKey = None) -> TicketData:
            return await self._wait_for(service.ask(key, data), data.wait_s)

        @app.get("/owner/requests/{number}")
        async def look(
            number: int, key: OwnerKey = None, wait_s: Wait = 0.0
        ) -> TicketData:
            return await self._wait_for(service.ticket(key, number), wait_s)

        @app.delete("/owner/requests/{number}")
        async def withdraw(number: int, key: OwnerKey = None) -> TicketData:
            return await self._wait_for(service.withdraw(key, number), 0.0)

    def _add_station(self) -> None:
        app, service = self.app, self._service

        @app.get("/rules")
        async def installed() -> InstalledData:
            return service.station.installed()

        @app.post("/rules")
        def install(data: RulesData) -> InstalledData:  # reading takes time
            service.station.install(data.text, data.name, service.said)
            return service.station.installed()

        @app.get("/behaviours/{name:path}")
        async def definition(name: str) -> DefinitionData:
            return service.station.definition(name)

        @app.post("/start")
        def start(data: NameData) -> StartedData:  # may wait
            return StartedData.model_validate(service.station.start(data.name))

        @app.post("/stop", status_code=204, response_class=Response)
        async def stop(data: NameData) -> None:
            service.station.stop(data.name)

        @app.post("/take-away", status_code=204, response_class=Response)
        async def take_away(data: TakenData) -> None:
            service.station.take_away(data.names, data.priority)

        @app.post("/give-back", status_code=204, response_class=Response)
        async def give_back(data: GivenData) -> None:
            service.station.give_back(data.names)

    # -- waiting and streams -----------------------------------------------------------

    def _signal(self) -> WakeSignal:
        signal = WakeSignal()
        self._signals.add(signal)
        return signal

    async def _wait_for(self, ticket: Ticket, wait_s: float) -> TicketData:
        if ticket.outcome is None and wait_s > 0.0 and not self._is_closing:
            signal = self._signal()

            def done(_: Ticket) -> None:
                signal.set()

            self._service.front.watch(ticket, done)
            try:
                await signal.wait(wait_s)
            finally:
                self._service.front.unwatch(ticket, done)
                self._signals.discard(signal)
        return TicketData.model_validate(
            {"ticket": ticket.number, "outcome": ticket.outcome}
        )

    async def _snapshots(self, signal: WakeSignal) -> AsyncIterator[str]:
        changed = True
        while not self._is_closing:
            yield as_event("snapshot", self._fresh_snapshot()) if changed else ":\n\n"
            changed = await signal.wait(KEEP_ALIVE_S)
            if changed and not self._is_closing:
                await signal.settle(PAGE_PERIOD_S)

    def _fresh_snapshot(self) -> str:
        """Return the list as JSON, shared by all pages."""
        text, made_s, of = self._snapshot
        n = self._service.front.n_changes  # read before the list
        if not text or of != n or time.monotonic() > made_s + PAGE_PERIOD_S:
            made_s = time.monotonic()
            text = self._service.snapshot().model_dump_json()
            self._snapshot = (text, made_s, n)
        return text

    async def _notices(
        self, owner: str, key: str | None, last: int, signal: WakeSignal
    ) -> AsyncIterator[str]:
        yield ":\n\n"  # confirms the connection at once
        while not self._is_closing:
            try:
                self._service.owner(key)
            except OwnerGone:
                return
            batch = self._service.front.notices.after(owner, last)
            if batch.n_missed:
                yield as_event("missed", json.dumps({"n_missed": batch.n_missed}))
            for notice in batch.notices:
                data = NoticeData.of(notice).model_dump_json()
                yield as_event("notice", data, notice.number)
                last = notice.number
            if not await signal.wait(KEEP_ALIVE_S):
                yield ":\n\n"
