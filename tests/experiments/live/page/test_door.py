"""Access control of the page: key, origin, and no direct access to viser."""

import http.client
import json
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

import pytest

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from nao_testbed.experiments.live.page import Address
from nao_testbed.experiments.live.page.gateway import PageServer, closed_viser
from nao_testbed.experiments.live.page.page_api import PageApi
from nao_testbed.experiments.live.robot.operation import Action, PushNow
from nao_testbed.models import load_robot

PROTOCOL = "viser-v1.1.1"
MOST = 50


@dataclass
class Served:
    port: int
    key: str
    viser_port: int
    wanted: list[tuple[int, Action]]
    """Actions that were passed on to the robots."""
    api: PageApi

    @property
    def cookie(self) -> str:
        return f"nao_testbed_live_{self.port}={self.key}"

    def get(self, path: str, **headers: str) -> http.client.HTTPResponse:
        return self.ask("GET", path, None, headers)[0]

    def ask(
        self, method: str, path: str, body: str | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def has_viewers(self, count: int) -> bool:
        """Return True if the viewer count is reached in time."""
        end = time.monotonic() + 20.0
        while self.api.viewers != count and time.monotonic() < end:
            time.sleep(0.01)
        return self.api.viewers == count

    def want(self, body: str, **changed: str) -> tuple[int, str]:
        """Post a request like the page, with changed headers; empty removes one."""
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "Cookie": self.cookie}
        headers = {k: v for k, v in (headers | changed).items() if v}
        answer, text = self.ask("POST", "/do", body, headers)
        return answer.status, text


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    secret = secrets.token_urlsafe(8)
    wanted: list[tuple[int, Action]] = []

    def send(i: int, action: Action) -> bool:
        if len(wanted) >= MOST:
            return False
        wanted.append((i, action))
        return True

    api = PageApi(load_robot(), ["fixed", "<img src=x>"], ["fixed"], send)
    door = Address(port=0)
    with closed_viser(secret) as viser, PageServer(viser, secret, door, api) as page:
        url = urlsplit(page.url)
        assert url.hostname == "127.0.0.1"
        assert url.port is not None
        key = url.query.removeprefix("key=")
        yield Served(url.port, key, viser.get_port(), wanted, api)


def test_key_sets_a_cookie_that_gives_access(served: Served) -> None:
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


@pytest.mark.parametrize(
    "path",
    ["/", "/view/", "/?key=wrong", "/view/?darkMode", "/about", "/state", "/picture"],
)
def test_page_is_refused_without_the_key(served: Served, path: str) -> None:
    assert served.get(path).status == 401
    assert served.get(path, Cookie=served.cookie + "x").status == 401


def test_other_host_name_is_refused(served: Served) -> None:
    """DNS rebinding: a foreign host name that points to this machine."""
    answer = served.get("/", Host=f"evil.example:{served.port}", Cookie=served.cookie)
    assert answer.status == 421


def test_own_page_reaches_viser(served: Served) -> None:
    with connect(
        f"ws://127.0.0.1:{served.port}/view",
        origin=f"http://127.0.0.1:{served.port}",  # type: ignore[arg-type]  # a NewType
        additional_headers={"Cookie": served.cookie},
        subprotocols=[PROTOCOL],  # type: ignore[list-item]  # the same
    ) as messages:
        assert messages.subprotocol == PROTOCOL
        assert isinstance(messages.recv(timeout=20), bytes)
        assert served.has_viewers(1)
    assert served.has_viewers(0)


def test_viewers_are_counted_until_they_leave(served: Served) -> None:
    """Without viewers, robots send their state once a second."""
    tabs = []
    for count in (1, 2):
        tab = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
        tab.request("GET", "/state", headers={"Cookie": served.cookie})
        answer = tab.getresponse()
        tabs.append((tab, answer))
        assert answer.status == 200
        assert served.has_viewers(count)
    for tab, answer in tabs:
        answer.close()
        tab.close()
    assert served.has_viewers(0)


@pytest.mark.parametrize("path", ["/", "/view/", "/state", "/picture"])
def test_foreign_page_cannot_read(served: Served, path: str) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        headers = {"Cookie": served.cookie, "Origin": origin}
        answer, text = served.ask("GET", path, None, headers)
        assert (answer.status, "Origin is" in text) == (403, True)


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
def test_foreign_page_gets_no_socket(
    served: Served, origin: str | None, host: str | None, has_cookie: bool
) -> None:
    headers = {"Cookie": served.cookie} if has_cookie else {}
    place = (host or "127.0.0.1:{port}").format(port=served.port)
    with (
        pytest.raises(InvalidStatus, match="403") as refused,
        connect(
            f"ws://{place}/view",
            sock=socket.create_connection(("127.0.0.1", served.port)),
            origin=origin and origin.format(port=served.port),  # type: ignore[arg-type]
            additional_headers=headers,
            subprotocols=[PROTOCOL],  # type: ignore[list-item]
        ),
    ):
        pass
    body = refused.value.response.body or b""
    assert b"only a page of this server" in body


def test_viser_refuses_direct_connections(served: Served) -> None:
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


PUSH = {"do": "PushNow", "direction_deg": 0, "force_n": 5, "duration_s": 0.2}


def test_request_of_the_own_page_reaches_its_robots(served: Served) -> None:
    del served.wanted[:]
    push = PushNow(direction_deg=0.0, force_n=5.0, duration_s=0.2)
    assert served.want(json.dumps({"robot": 1, **PUSH}))[0] == 202
    assert served.want(json.dumps({"robot": None, **PUSH}))[0] == 202
    assert served.wanted == [(1, push), (0, push), (1, push)]


@pytest.mark.requirement("JD-23")
@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "null"}, 403),
        ({"Cookie": ""}, 401),
        ({"Cookie": "nao_testbed_live=x"}, 401),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 403),
    ],
    ids=str,
)
def test_request_without_origin_or_key_is_refused(
    served: Served, changed: dict[str, str], status: int
) -> None:
    del served.wanted[:]
    assert served.want(json.dumps(PUSH), **changed)[0] == status
    assert not served.wanted


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("", "not JSON"),
        ("[" * 3000, "JSON"),
        ("[1]", "an object"),
        ('{"do": "Stop"}', "Action"),
        ('{"do": "__init__"}', "Action"),
        ('{"do": ["Say"]}', "Action"),
        (json.dumps(PUSH | {"force_n": float("nan")}), "finite"),
        (json.dumps(PUSH | {"force_n": float("inf")}), "finite"),
        (json.dumps(PUSH | {"force_n": "5"}), "valid number"),
        (json.dumps(PUSH | {"force_n": True}), "valid number"),
        (json.dumps(PUSH | {"force_n": 101}), "less than or equal to 100"),
        (json.dumps(PUSH | {"robot": 2}), "0 to 1"),
        (json.dumps(PUSH | {"robot": True}), "0 to 1"),
        (json.dumps(PUSH | {"token": "1-1-0000000000000000"}), "token"),
        ('{"do": "MoveJoint", "joint": "HeadYaw", "angle_deg": 1e400}', "finite"),
        ('{"do": "MoveJoint", "joint": 5, "angle_deg": 1}', "valid string"),
        ('{"do": "MoveJoint", "joint": "HeadYaw"}', "has no angle_deg"),
        (json.dumps({"do": "Say", "text": "x" * 201}), "200"),
        (json.dumps({"do": "Say", "text": ""}), "1"),
        ('{"do": "Take", "resource": "Head", "priority": 10}', "9"),
        ('{"do": "Take", "resource": "Head", "priority": 6.5}', "integer"),
        ('{"do": "Light", "leds": "Leds", "colour": "red"}', "#rrggbb"),
    ],
)
def test_malformed_request_is_refused_with_the_reason(
    served: Served, body: str, word: str
) -> None:
    del served.wanted[:]
    status, text = served.want(body)
    assert status == 400
    assert word in json.loads(text)["error"]
    assert not served.wanted


def test_too_long_or_too_many_requests_are_dropped(served: Served) -> None:
    del served.wanted[:]
    assert served.want(" " * 5000)[0] == 413
    statuses = {
        served.want(json.dumps(PUSH | {"robot": 0}))[0] for _ in range(MOST + 5)
    }
    assert statuses == {202, 429}
    assert len(served.wanted) == MOST


@pytest.mark.parametrize("robot", ["0", "-1", "<b>", "999999999999999999999"])
def test_missing_picture_is_not_found(served: Served, robot: str) -> None:
    query = urlencode({"robot": robot})
    path, cookie = f"/picture?{query}", {"Cookie": served.cookie}
    answer, text = served.ask("GET", path, None, cookie)
    assert answer.status == 404
    assert "TakePicture" in json.loads(text)["error"]


def test_names_are_sent_as_json_text(served: Served) -> None:
    """JSON type and `nosniff`; the page assigns it to `textContent`."""
    answer, text = served.ask("GET", "/about", None, {"Cookie": served.cookie})
    assert answer.getheader("content-type") == "application/json"
    assert answer.getheader("x-content-type-options") == "nosniff"
    assert json.loads(text)["robots"] == ["fixed", "<img src=x>"]


@pytest.mark.slow(covers=False)
def test_page_needs_only_the_packages_of_its_extra() -> None:
    """The client of the reservation server has its own extra."""
    server = "nao_testbed.experiments.server.server"
    code = f"import sys; sys.modules['httpx'] = None; import {server}"
    subprocess.run([sys.executable, "-c", code], check=True)
