"""Requests that the server refuses with a clear error and no change (RM-65)."""

import base64
import socket
from collections.abc import Callable, Iterator

import httpx
import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.experiments.server.link import Refused, ServerLink
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.service.address import ServerCfg
from nao_testbed.experiments.server.service.routes import MAX_BODY
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput
from tests.experiments.server.helpers import (
    AT_MOST_S,
    ask,
    picture,
    register,
    small_tree,
)

SECRET = "correct horse"
URL = "http://127.0.0.1:1"
MakeServer = Callable[..., ReservationServer]


@pytest.fixture(scope="module")
def server() -> Iterator[ReservationServer]:
    """One server for all tests: refused requests must not change it."""
    with (
        SharedLedger(Ledger(small_tree())) as front,
        ReservationServer(front, ServerCfg(port=0)) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def http(server: ReservationServer) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=AT_MOST_S, verify=False) as client:
        yield client


@pytest.fixture(scope="module")
def key(http: httpx.Client) -> dict[str, str]:
    """Headers of a long-lived owner that holds a resource."""
    key = register(http, "a", time_to_live_s=600.0)
    ask(http, key, "HeadPitch")
    return key


JSON = {"Content-Type": "application/json"}
REGISTER = ("POST", "/owners")
REQUEST = ("POST", "/owner/requests")
BAD: dict[str, tuple[tuple[str, str], bytes, int, str]] = {
    "not JSON": (REGISTER, b'{"name":', 400, "not JSON, at character 8"),
    "no object": (REGISTER, b"[1, 2]", 400, "the body is"),
    "nothing": (REGISTER, b"", 400, "the body is missing"),
    "not UTF-8": (REGISTER, b'{"name": "\xff\xfe"}', 400, "send JSON in UTF-8"),
    "deeply nested": (REGISTER, b"[" * 100_000, 400, ""),
    "endless number": (REGISTER, b'{"priority": ' + b"9" * 9999 + b"}", 400, ""),
    "no name": (REGISTER, b"{}", 400, "name is missing"),
    "empty name": (REGISTER, b'{"name": ""}', 400, "name is ''"),
    "control character": (REGISTER, b'{"name": "a\\u0000"}', 400, "name is"),
    "C1 control character": (REGISTER, b'{"name": "a\\u009b31m"}', 400, "U+009B"),
    "delete character": (REGISTER, b'{"name": "a\\u007f"}', 400, "U+007F"),
    "right to left": (REGISTER, b'{"name": "a\\u202eb"}', 400, "U+202E"),
    "invisible character": (REGISTER, b'{"name": "\\u200b"}', 400, "readable name"),
    "lone surrogate": (REGISTER, b'{"name": "\\ud800"}', 400, "name is"),
    "unknown field": (REGISTER, b'{"name": "x", "prio": 1}', 400, "prio is unknown"),
    "priority 12": (REGISTER, b'{"name": "x", "priority": 12}', 400, "'12'"),
    "priority as text": (REGISTER, b'{"name": "x", "priority": "1"}', 400, "priority"),
    "no time to live": (REGISTER, b'{"name": "x", "time_to_live_s": 0}', 400, "live"),
    "NaN": (REGISTER, b'{"name": "x", "timeout_s": NaN}', 400, "finite number"),
    "policy": (
        REGISTER,
        b'{"name": "x", "policy": {"name": "stopp"}}',
        404,
        "Did you mean 'stop'?",
    ),
    "policy setting": (
        REGISTER,
        b'{"name": "x", "policy": {"name": "stop", "settings": {"within": 1}}}',
        404,
        "Did you mean 'within_s'?",
    ),
    "not Python": (
        REGISTER,
        b'{"name": "x", "policy": {"name": "callback", "settings": {"function": 1}}}',
        404,
        "Known: limit_s",
    ),
    "unknown resource": (
        REQUEST,
        b'{"resources": ["HeadYa"]}',
        404,
        "Did you mean 'HeadYaw'?",
    ),
    "empty request": (REQUEST, b"{}", 400, "requests nothing"),
    "twice": (REQUEST, b'{"resources": ["ball", "ball"]}', 400, "twice"),
    "rate above 100": (REQUEST, b'{"rates": {"CPU": 101}}', 400, "rates.CPU is '101"),
    "negative limit": (
        REQUEST,
        b'{"resources": ["ball"], "timeout_s": -1}',
        400,
        "timeout_s is '-1",
    ),
    "endless wait": (
        REQUEST,
        b'{"resources": ["ball"], "timeout_s": 1e999}',
        400,
        "timeout_s",
    ),
    "mode": (REQUEST, b'{"resources": ["ball"], "mode": "own"}', 400, "'use' or"),
    "bad token": (
        REQUEST,
        b'{"resources": ["ball"], "add_to": "123"}',
        400,
        "malformed",
    ),
    "release nonsense": (("POST", "/release"), b'{"token": "1-2"}', 400, "malformed"),
    "release unknown": (
        ("POST", "/release"),
        b'{"token": "1-99-0123456789abcdef"}',
        409,
        "UNKNOWN",
    ),
    "taken name": (
        ("POST", "/resources"),
        b'{"name": "ball", "parent": "Objects"}',
        400,
        "ball",
    ),
    "no parent": (
        ("POST", "/resources"),
        b'{"name": "cup", "parent": "Object"}',
        404,
        "Did you mean 'Objects'?",
    ),
    "held parent": (
        ("POST", "/resources"),
        b'{"name": "cup", "parent": "HeadPitch"}',
        400,
        "HeadPitch",
    ),
    "ask a composite": (
        ("POST", "/authorise"),
        b'{"resource": "Heat"}',
        404,
        "Did you mean 'Head",
    ),
    "unknown path": (("POST", "/nothing"), b"{}", 404, "no '/nothing'"),
    "wrong method": (("PUT", "/resources"), b"{}", 405, ""),
    "ticket": (("GET", "/owner/requests/77"), b"", 404, "Ticket '77'"),
    "ticket as text": (("GET", "/owner/requests/x"), b"", 400, "number is 'x'"),
    "wait too long": (("GET", "/owner/requests/1?wait_s=1e9"), b"", 400, "wait_s"),
    "bad event": (("GET", "/owner/notices"), b"", 400, "Last-Event-ID is '-1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_clear_error_and_changes_nothing(
    http: httpx.Client, key: dict[str, str], case: str
) -> None:
    (method, path), body, status, text = BAD[case]
    before = picture(http)
    extra = {"Last-Event-ID": "-1"} if case == "bad event" else {}
    answer = http.request(method, path, content=body, headers={**JSON, **key, **extra})
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    assert text in answer.json()["error"]
    assert "Traceback" not in answer.text
    assert picture(http) == before


FOREIGN: tuple[str, ...] = (
    "http://evil.example",
    "null",
    "",
    "http://127.0.0.1",
    "{url}.evil.example",
)
FOREIGN += ("http://127.0.0.1:1", "app://x", "ftp://{host}", "{url}/", "x{url}")


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/resources"), ("GET", "/"), ("GET", "/events"), ("POST", "/resources")],
)
def test_page_of_another_origin_is_always_refused(
    server: ReservationServer, http: httpx.Client, origin: str, method: str, path: str
) -> None:
    """Including other servers of this machine, which have other ports."""
    origin = origin.format(url=server.url, host=server.url.removeprefix("http://"))
    body = {"name": "cup", "parent": "Objects"} if method == "POST" else None
    before = picture(http)
    headers = {"Origin": origin}
    with http.stream(method, path, json=body, headers=headers) as answer:
        assert answer.status_code == 403
        answer.read()
    assert answer.json()["error"].startswith(f"Origin is {origin!r}; ")
    assert picture(http) == before


@pytest.mark.parametrize("place", ["127.0.0.1", "localhost"])
def test_own_page_and_requests_without_origin_are_accepted(
    server: ReservationServer, http: httpx.Client, place: str
) -> None:
    host = f"{place}:{server.url.rpartition(':')[2]}"
    for scheme in ("http", "https"):  # a TLS proxy in front keeps Host
        headers = {"Host": host, "Origin": f"{scheme}://{host}"}
        assert http.get("/resources", headers=headers).status_code == 200
    assert http.get("/resources").status_code == 200


@pytest.mark.parametrize("wrong", [{}, {"Owner-Key": "guess"}, {"Owner-Key": "ä"}])
def test_owner_calls_require_the_owner_key(
    http: httpx.Client, key: dict[str, str], wrong: dict[str, str]
) -> None:
    before = picture(http)
    raw = {name.encode(): value.encode() for name, value in wrong.items()}
    for method, path in (
        ("POST", "/owner/alive"),
        ("DELETE", "/owner"),
        ("GET", "/owner/notices"),
        ("DELETE", "/owner/requests/1"),
    ):
        answer = http.request(method, path, headers=raw)
        assert (answer.status_code, "Register again" in answer.text) == (410, True)
    assert picture(http) == before


@pytest.mark.parametrize("is_announced", [True, False])
def test_ten_megabytes_are_refused_before_reading(
    http: httpx.Client, server: ReservationServer, is_announced: bool
) -> None:
    before = picture(http)
    port = int(server.url.rpartition(":")[2])
    length = 10_000_000 if is_announced else None
    head = f"Content-Length: {length}" if length else "Transfer-Encoding: chunked"
    with socket.create_connection(("127.0.0.1", port), timeout=AT_MOST_S) as raw:
        raw.sendall(
            f"POST /owners HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n"
            "Content-Type: application/json\r\n\r\n".encode()
        )
        if not is_announced:
            chunk = b"x" * 0x10000
            for _ in range(MAX_BODY // len(chunk) + 1):
                raw.sendall(b"10000\r\n" + chunk + b"\r\n")
        answer = b""  # long before the body is complete
        while b"}" not in answer:
            part = raw.recv(65536)
            assert part, answer
            answer += part
    assert b" 413 " in answer.partition(b"\r\n")[0]
    assert b"the limit is 262144 bytes" in answer
    assert picture(http) == before


# -- secret and hosts ------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded() -> Iterator[ReservationServer]:
    with (
        SharedLedger(Ledger(small_tree())) as front,
        ReservationServer(front, ServerCfg(port=0, secret=SECRET)) as server,
    ):
        yield server


PLACES = [
    ("GET", "/"),
    ("GET", "/resources"),
    ("GET", "/events"),
    ("GET", "/openapi.json"),
    ("GET", "/nothing"),
    ("POST", "/owners"),
    ("POST", "/resources"),
    ("POST", "/release"),
    ("POST", "/authorise"),
]


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "value",
    [
        None,
        "Bearer wrong horse",
        f"Bearer {SECRET}x",
        "Bearer",
        "Digest x",
        "Basic %%%",
        basic("me:wrong"),
        basic(SECRET),
    ],
)
def test_requests_without_the_secret_are_refused(
    guarded: ReservationServer, value: str | None
) -> None:
    headers = {} if value is None else {"Authorization": value}
    with httpx.Client(base_url=guarded.url, headers=headers, verify=False) as http:
        for method, path in PLACES:
            answer = http.request(method, path)
            assert answer.status_code == 401
            assert "secret is missing or wrong" in answer.json()["error"]
            assert answer.headers["www-authenticate"].startswith("Basic")


@pytest.mark.parametrize("value", [f"Bearer {SECRET}", basic(f"anybody:{SECRET}")])
def test_requests_with_the_secret_are_accepted(
    guarded: ReservationServer, value: str
) -> None:
    for path in ("/", "/resources"):
        answer = httpx.get(
            guarded.url + path, headers={"Authorization": value}, verify=False
        )
        assert answer.status_code == 200


def test_secret_may_contain_any_letters(make_server: MakeServer) -> None:
    secret = "schlüssel 🗝"
    url = make_server(secret=secret).url
    with ServerLink(url, secret) as link:
        assert link.snapshot().epoch == 1
    with ServerLink(url, "schlussel 🗝") as link, pytest.raises(Refused, match="wrong"):
        link.snapshot()


@pytest.mark.parametrize("secret", ["ab\ncdefghij", "abcdefghi ", "abcde\x00fghi"])
def test_unusable_secret_is_refused_without_printing_it(secret: str) -> None:
    for ask_for in (lambda: ServerCfg(secret=secret), lambda: ServerLink(URL, secret)):
        with pytest.raises(BadInput, match="shared secret") as told:
            ask_for()
        assert "cde" not in str(told.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "robot.local"])
def test_open_host_needs_a_secret(host: str) -> None:
    with pytest.raises(BadInput, match="shared secret"):
        ServerCfg(host=host)
    ServerCfg(host=host, secret=SECRET)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_loopback_needs_no_secret(host: str) -> None:
    ServerCfg(host=host)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.x"])
def test_other_host_name_is_refused(server: ReservationServer, host: str) -> None:
    """DNS rebinding: a foreign page resolves its own name to 127.0.0.1."""
    answer = httpx.get(f"{server.url}/resources", headers={"Host": host}, verify=False)
    assert answer.status_code in {421, 400}
    assert "error" in answer.json() or answer.status_code == 400


def test_page_of_another_site_cannot_change_anything(http: httpx.Client) -> None:
    """A form needs no permission, but it cannot send the JSON content type."""
    before = picture(http)
    body = b'{"name": "cup", "parent": "Objects"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        headers = {"Content-Type": kind}
        answer = http.post("/resources", content=body, headers=headers)
        assert answer.status_code == 400
        assert "application/json" in answer.json()["error"]
    asked = http.options("/resources", headers={"Origin": "http://evil.example"})
    assert "access-control-allow-origin" not in asked.headers
    assert picture(http) == before
