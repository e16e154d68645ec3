"""Address of a server, its access rules, and the header of its answers."""

import ipaddress
import socket
from dataclasses import dataclass

from nao_testbed.controllers.arbitration.requests import HIGHEST, check_priority
from nao_testbed.models import BadInput
from nao_testbed.models.system import claim_address, limit_send_time

EPOCH_HEADER = "reservation-epoch"
"""Header of every answer, with the epoch."""
SHORTEST = 8
"""Minimum characters of a secret; a shorter one can be guessed."""


@dataclass(frozen=True, kw_only=True)
class ServerCfg:
    """Address and access rules of a server."""

    host: str = "127.0.0.1"
    """Host; loopback by default, since every program that reaches a server can hold its
    resources."""
    port: int = 8640
    """Port; 0: a free port."""
    secret: str | None = None
    """Shared secret of all callers; required if the host is not loopback."""
    silent_reader_s: float = 10.0
    """Time in s after which a reader that reads nothing is disconnected."""
    max_connections: int = 500
    """Maximum number of connections; further ones are rejected."""
    max_priority: int = HIGHEST
    """Highest priority of registered owners; may be below that of a robot's own
    behaviours."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise BadInput(f"port is {self.port}; give one from 1 to 65535, or 0.")
        if not self.silent_reader_s > 0.0 or self.max_connections < 1:
            raise BadInput("limits of the server must be positive.")
        check_priority(self.max_priority)
        if self.secret is not None:
            check_secret(self.secret)
        if self.secret is None and not is_loopback(self.host):
            raise BadInput(
                f"host {self.host!r} can be reached from other machines and needs a "
                "shared secret: put one into a file for --secret-file, or into the "
                "environment as NAO_TESTBED_SECRET. Or serve on 127.0.0.1."
            )


def is_loopback(host: str) -> bool:
    """Return True if only programs of this machine reach a host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False  # a name may resolve to any address


def listen(cfg: ServerCfg, option: str = "--port") -> socket.socket:
    """Return a listening socket.

    Args:
        cfg: configuration with the address.
        option: command-line option of the port, for messages.

    Raises:
        BadInput: the address is not of this machine, or is in use.
    """
    host = cfg.host.strip("[]")
    try:
        found = socket.getaddrinfo(
            host, cfg.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise BadInput(
            f"host {cfg.host!r} is not an address of this machine: {error}. Give one "
            "such as 127.0.0.1."
        ) from error
    family, _, _, _, address = found[0]
    # asyncio sends at once (TCP_NODELAY) if it detects a TCP socket; without
    # it, each answer waits 40 ms for the other side's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        claim_address(listener)
        # Connections inherit both options: data for a reader that reads nothing fill a
        # small buffer, and the connection ends if the buffer stays full.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        limit_send_time(listener, cfg.silent_reader_s)
        listener.bind(address)
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        raise BadInput(
            f"cannot listen on {cfg.host} port {cfg.port}: {error.strerror}. Is "
            f"another server running there? Give another {option}, or 0 for a free one."
        ) from error
    return listener


def check_secret(secret: str) -> None:
    """Reject a secret that is too short or cannot be sent.

    Raises:
        BadInput: the secret is invalid; the message does not contain it.
    """
    if len(secret) < SHORTEST:
        raise BadInput(
            f"the shared secret has {len(secret)} characters; give at least {SHORTEST}."
        )
    check_sendable(secret)


def check_sendable(secret: str) -> None:
    """Reject a secret that a header cannot carry.

    Raises:
        BadInput: the secret is invalid; the message does not contain it.
    """
    if not secret.isprintable() or secret != secret.strip():
        raise BadInput(
            "the shared secret starts or ends with a space, or contains a "
            "non-printable character, such as a line end; remove it."
        )
