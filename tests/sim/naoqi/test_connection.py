"""NAOqi addresses and servers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from nao_testbed.models import BadInput
from nao_testbed.sim.naoqi.connection import connect, is_naoqi, read_url


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("naoqi://127.0.0.1:9559", ("127.0.0.1", 9559)),
        ("naoqi://nao.local", ("nao.local", 9559)),
        ("naoqi://[::1]:7000", ("::1", 7000)),
        ("naoqi://10.0.0.2/", ("10.0.0.2", 9559)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, found: tuple[str, int]) -> None:
    assert is_naoqi(text)
    assert read_url(text) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tcp://127.0.0.1:9559", "does not start with naoqi://"),
        ("naoqi://", "host is missing"),
        ("naoqi:127.0.0.1", "host is missing"),
        ("naoqi://host:99999", "out of range"),
        ("naoqi://host:nine", "nine"),
        ("naoqi://host:0", "port 0"),
        ("naoqi://me@host", "more than a host"),
        ("naoqi://host/robot", "more than a host"),
    ],
)
def test_an_invalid_address_error_states_the_format(text: str, why: str) -> None:
    with pytest.raises(BadInput, match="naoqi://HOST:PORT") as caught:
        read_url(text)
    assert why in str(caught.value)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        yield found


def test_connection_refused_is_reported(listener: socket.socket) -> None:
    pytest.importorskip("qi", reason="qi is not installed: extra `naoqi`")
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(BadInput, match="connection refused") as caught:
        connect(f"naoqi://127.0.0.1:{port}")
    assert "naoqi serve" in str(caught.value)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\x42"])
def test_another_protocol_is_not_naoqi(listener: socket.socket, answer: bytes) -> None:
    """`qi` does not connect to it."""
    pytest.importorskip("qi", reason="qi is not installed: extra `naoqi`")

    def serve() -> None:
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(answer)
        connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with pytest.raises(BadInput, match="is not NAOqi"):
        connect(f"naoqi://127.0.0.1:{listener.getsockname()[1]}")
    thread.join(timeout=5.0)


def test_without_qi_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    says = r"'\.\[naoqi\]'` in the checkout, with Python 3.11 or 3.12 on Linux"
    with pytest.raises(BadInput, match=says):
        connect("naoqi://127.0.0.1:9559")
