"""Every error of a server as `{"error": "..."}`, with a status that says what to do."""

from collections.abc import Mapping

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from controllers.resources.stale_token import StaleToken
from experiments.reservations.desk import NameTaken, OwnerGone, TooMany
from experiments.reservations.guards import error_response
from experiments.reservations.station import Busy
from experiments.reservations.threaded import LedgerClosed
from models import BadInput, TestbedError, UnknownName

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
    "this server's ledger is closed, and grants nothing any more; ask again when it "
    "serves a new one."
)


def add_error_answers(app: FastAPI, max_body: int) -> None:
    """Let an application answer errors in our form.

    Args:
        app: the application.
        max_body: largest body that it takes, in bytes.
    """

    @app.exception_handler(TestbedError)
    async def ours(_: Request, error: Exception) -> Response:
        if isinstance(error, LedgerClosed):  # whose own words are for its owner
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
            text = f"there is no {path!r} here; GET / shows what is."
        elif error.status_code == 413:
            text = f"the body is too large; this server takes {max_body} bytes."
        elif error.status_code == 405:
            path = request.url.path[:100]
            text = f"{request.method} {path} is nothing to do here."
        elif error.status_code == 400:  # too deep, too many digits, not UTF-8
            text = (
                "the body cannot be read; send JSON in UTF-8, flat, of short numbers."
            )
        return error_response(error.status_code, text)


def _explain(error: RequestValidationError) -> str:
    """Say what is wrong with a request, field by field."""
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
            texts.append(f"{place} is not known here")
        else:
            texts.append(
                f"{place or 'the body'} is {str(fault['input'])[:80]!r}: {fault['msg']}"
            )
    return "; ".join(texts) + "."
