"""The door: who has no key, a foreign page, or asks viser itself stays out."""

import http.client
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from experiments.live.server import PageServer, closed_viser

PROTOCOL = "viser-v1.1.1"


@dataclass
class Served:
    port: int
    key: str
    viser_port: int

    @property
    def cookie(self) -> str:
        return f"nao_testbed_live_{self.port}={self.key}"

    def get(self, path: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    secret = secrets.token_urlsafe(8)
    with closed_viser(secret) as viser, PageServer(viser, secret, 0) as page:
        url = urlsplit(page.url)
        assert url.hostname == "127.0.0.1"
        assert url.port is not None
        yield Served(url.port, url.query.removeprefix("key="), viser.get_port())


def test_the_key_opens_and_the_cookie_keeps_it(served: Served) -> None:
    answer = served.get(f"/?key={served.key}")
    assert answer.status == 303
    cookie = answer.getheader("set-cookie") or ""
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    for path in ("/", "/view/"):
        answer = served.get(path, Cookie=served.cookie)
        assert answer.status == 200
        policy = answer.getheader("content-security-policy") or ""
        assert "default-src 'none'" in policy
        assert "http:" not in policy
        assert "frame-ancestors" in policy


@pytest.mark.parametrize("path", ["/", "/view/", "/?key=wrong", "/view/?darkMode"])
def test_without_the_key_nothing_is_shown(served: Served, path: str) -> None:
    assert served.get(path).status == 401
    assert served.get(path, Cookie=served.cookie + "x").status == 401


def test_another_name_of_this_machine_is_refused(served: Served) -> None:
    """DNS rebinding: a stranger's name that points here."""
    answer = served.get("/", Host=f"evil.example:{served.port}", Cookie=served.cookie)
    assert answer.status == 421


def test_a_page_of_ours_reaches_viser(served: Served) -> None:
    with connect(
        f"ws://127.0.0.1:{served.port}/view",
        origin=f"http://127.0.0.1:{served.port}",  # type: ignore[arg-type]  # a NewType
        additional_headers={"Cookie": served.cookie},
        subprotocols=[PROTOCOL],  # type: ignore[list-item]  # the same
    ) as messages:
        assert messages.subprotocol == PROTOCOL
        assert isinstance(messages.recv(timeout=20), bytes)


@pytest.mark.parametrize(
    ("origin", "host", "has_cookie"),
    [
        ("http://evil.example", None, True),
        (None, None, True),
        ("http://127.0.0.1:{port}", None, False),
        ("http://127.0.0.1:1", None, True),
        ("http://evil.example:{port}", "evil.example:{port}", True),
    ],
)
def test_a_foreign_page_gets_no_socket(
    served: Served, origin: str | None, host: str | None, has_cookie: bool
) -> None:
    headers = {"Cookie": served.cookie} if has_cookie else {}
    place = (host or "127.0.0.1:{port}").format(port=served.port)
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(
            f"ws://{place}/view",
            sock=socket.create_connection(("127.0.0.1", served.port)),
            origin=origin and origin.format(port=served.port),  # type: ignore[arg-type]
            additional_headers=headers,
            subprotocols=[PROTOCOL],  # type: ignore[list-item]
        ),
    ):
        pass


def test_viser_itself_answers_to_nobody_else(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.viser_port, timeout=20)
    connection.request("GET", "/")
    assert connection.getresponse().status == 403
    connection.close()
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(
            f"ws://127.0.0.1:{served.viser_port}/",
            subprotocols=[PROTOCOL],  # type: ignore[list-item]
        ),
    ):
        pass
