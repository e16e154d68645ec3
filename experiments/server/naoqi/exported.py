"""Services exported as objects of `qi`: methods by name, futures, error texts."""

import logging
import secrets
import struct
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import qi

from nao_testbed.experiments.server.naoqi.service import ALService, Typed, methods_of
from nao_testbed.models import TestbedError

TYPED = secrets.token_bytes(16)
"""Start of a text that the door replaces by the rest of it, a serialised value."""
_LOG = logging.getLogger(__name__)


class CallRefused(Exception):
    """Error text for a client: the service, the method, and the reason."""


_KINDS: dict[str, Callable[[], Any]] = {}


def exported(service: ALService) -> object:
    """Return an object of `qi` with the public methods of a service.

    Calls run concurrently. A method that returns a future answers when the future ends,
    without blocking a thread.
    """
    kind = _KINDS.get(service.NAME)
    if kind is None:
        methods = {name: _method(service, name) for name in methods_of(type(service))}
        kind = qi.multiThreaded()(type(service.NAME, (_Exported,), methods))
        _KINDS[service.NAME] = kind
    found = kind()
    found.served_by = service
    for name, signature in service.SIGNALS.items():
        setattr(found, name, qi.Signal(signature))
    service.emit = lambda signal, *values: getattr(found, signal)(*values)
    return found


class _Exported:
    """Base class of exported objects; one class per service, one object per client."""

    served_by: ALService


def _method(service: ALService, name: str) -> Callable[..., object]:
    where = f"{service.NAME}::{name}"

    def call(self: _Exported, *args: object) -> object:
        try:
            result = self.served_by._call(name, args)  # private counterpart
        except TestbedError as error:
            raise CallRefused(f"{where}: {error}") from None
        except Exception as error:  # noqa: BLE001  # sent to the client
            _LOG.exception("%s failed", where)
            raise CallRefused(f"{where}: {type(error).__name__}: {error}") from None
        if isinstance(result, Typed):
            return TYPED + serialised(result)
        return _promised(result, where) if isinstance(result, Future) else result

    call.__name__ = name
    call.__doc__ = (getattr(service, name).__doc__ or "").partition("\n")[0]
    return call


def _promised(future: Future[Any], where: str) -> qi.Future:
    promise = qi.Promise(lambda _: future.cancel())

    def finish(done: Future[Any]) -> None:
        if done.cancelled():
            promise.setCanceled()
        elif (error := done.exception()) is not None:
            promise.setError(f"{where}: {error}")
        else:
            promise.setValue(done.result())

    future.add_done_callback(finish)
    return promise.future()


def serialised(value: Any) -> bytes:
    """Return a list, bytes, float or int as a dynamic value of `qi`, in 4-byte numbers.

    `qi` itself sends numbers of Python with 8 bytes, and bytes as a text. Programs in
    C++ refuse both in a picture.
    """
    if isinstance(value, list):
        parts = b"".join(map(serialised, value))
        return struct.pack("<I3sI", 3, b"[m]", len(value)) + parts
    if isinstance(value, bytes):
        return struct.pack("<IcI", 1, b"r", len(value)) + value
    kind = "f" if isinstance(value, float) else "i"
    return struct.pack(f"<Ic{kind}", 1, kind.encode(), value)
