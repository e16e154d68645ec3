"""Clients that do not finish their request, or meet a full server (RM-65)."""

import socket
from collections.abc import Callable

import httpx
import pytest

from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.link import ServerLink, ServerUnreachable
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.service import connections
from tests.experiments.server.helpers import AT_MOST_S, ask, eventually, register

MakeServer = Callable[..., ReservationServer]
WHOLE = b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALVES = {
    "nothing": b"",
    "half a header": b"GET / HTTP/1.1\r\nHost: 127",
    "half a body": (
        b"POST /owners HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b'Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{"name'
    ),
    "half a second request": WHOLE + b"GET / HT",
}


def connect(server: ReservationServer) -> socket.socket:
    port = int(server.url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=AT_MOST_S)


def read_all(stranger: socket.socket) -> bytes:
    """Read until the server ends the connection."""
    said = b""
    try:
        while piece := stranger.recv(4096):
            said += piece
    except ConnectionResetError:
        pass
    return said


@pytest.mark.parametrize("said", HALVES.values(), ids=HALVES)
def test_incomplete_request_times_out(
    server: ReservationServer, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WHOLE_S", 0.1)
    with connect(server) as stranger:
        stranger.sendall(said)
        read_all(stranger)  # raises TimeoutError unless the server closes


def test_complete_request_may_wait_longer(
    server: ReservationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WHOLE_S", 0.05)
    with httpx.Client(base_url=server.url, verify=False, timeout=AT_MOST_S) as http:
        ask(http, register(http, "a"), "ball", timeout_s=0.0)
        late = ask(http, register(http, "b"), "ball", timeout_s=0.4, wait_s=5.0)
        assert late["outcome"]["kind"] == "timed_out"


def test_full_server_keeps_serving_its_clients(
    make_server: MakeServer,
) -> None:
    server = make_server(max_connections=8)
    with Client(server.url, "robot 1", time_to_live_s=5.0) as robot:
        token = robot.take("ball").token
        assert token is not None
        robot.renew()
        crowd = [connect(server) for _ in range(20)]
        try:
            said = read_all(crowd[-1])
            assert b"503" in said
            assert b"8 connections" in said
            with ServerLink(server.url) as late, pytest.raises(ServerUnreachable):
                late.snapshot()
            for _ in range(3):
                robot.renew()
            assert robot.holds(token)
        finally:
            for stranger in crowd:
                stranger.close()
        with ServerLink(server.url) as later:
            eventually(lambda: is_answered(later))


def is_answered(link: ServerLink) -> bool:
    try:
        link.snapshot()
    except ServerUnreachable:
        return False
    return True
