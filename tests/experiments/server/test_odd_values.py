"""Invalid values at the interfaces of a server, refused by client and server."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.link import ServerLink
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from nao_testbed.models import BadInput

HUGE = 10**400
NO_NUMBERS: tuple[Any, ...] = ("5", True, [], float("nan"), float("inf"), -1, HUGE)
NO_NAMES: tuple[Any, ...] = (
    "",
    "a\x1b[2Jb",
    "\u202egnirts",
    "half \ud800",
    "x" * 1_000_000,
    5,
    True,
    ["a"],
    b"name",
)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda v: repr(v)[:20])
def test_client_refuses_invalid_numbers(value: Any) -> None:
    url = "http://127.0.0.1:9"  # no server is contacted
    no_text: Any = 5 if value == "5" else value
    made: list[Callable[[], object]] = [
        lambda: Client(url, "a", timeout_s=value),
        lambda: Client(url, "a", time_to_live_s=value),
        lambda: Client(url, "a", priority=value),
        lambda: Client(url, "a", policy="stop", policy_settings={"within_s": value}),
        lambda: Client(url, "a", policy_settings=value),
        lambda: Client(url, "a", policy=no_text),
    ]
    client = Client(url, "a")
    client.key = "registered"
    made += [
        lambda: client.take("ball", timeout_s=value),
        lambda: client.take("ball", priority=value),
        lambda: client.take(rates={"CPU": value}),
        lambda: client.take("ball", rates=value),
    ]
    for number, make in enumerate(made):
        if number == 4 and value == []:
            continue  # equals empty settings
        with pytest.raises(BadInput):
            make()


@pytest.mark.parametrize("value", NO_NAMES, ids=lambda v: repr(v)[:20])
def test_client_refuses_invalid_names(value: Any) -> None:
    url = "http://127.0.0.1:9"
    client = Client(url, "a")
    client.key = "registered"
    no_tuples: list[Any] = [{"ball"}, frozenset({"ball"}), {"ball": 1}, "ball"]
    naoqi_server: list[Callable[[], object]] = [
        lambda: Client(url, value),
        lambda: client.take(value),
        lambda: client.take("ball", optional=(value,)),
        *(partial(client.take, "ball", optional=x) for x in no_tuples),
        lambda: client.take("ball", add_to=value),
        lambda: client.release(value),
        lambda: client.authorise(value, "ball"),
        lambda: client.add_resource(value, "root"),
        lambda: client.add_resource("cup", value),
    ]
    for call in naoqi_server:
        with pytest.raises(BadInput) as caught:
            call()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 2000


NUMBERS = [
    ("/owners", '{"name": "a", "timeout_s": %s}'),
    ("/owners", '{"name": "a", "time_to_live_s": %s}'),
    ("/owners", '{"name": "a", "priority": %s}'),
    (
        "/owners",
        '{"name": "a", "policy": {"name": "stop", "settings": {"within_s": %s}}}',
    ),
    ("/owner/requests", '{"resources": ["ball"], "timeout_s": %s}'),
    ("/owner/requests", '{"resources": ["ball"], "wait_s": %s}'),
    ("/owner/requests", '{"resources": ["ball"], "priority": %s}'),
    ("/owner/requests", '{"rates": {"CPU": %s}}'),
    ("/owner/requests", '{"resources": %s}'),
    ("/owner/requests", '{"resources": ["ball"], "mode": %s}'),
]
"""Path and body; each is refused with any invalid number in it."""
NAMES = [
    ("/owners", '{"name": %s}'),
    ("/owner/requests", '{"resources": [%s]}'),
    ("/resources", '{"name": %s, "parent": "Objects"}'),
    ("/resources", '{"name": "cup", "parent": %s}'),
    ("/authorise", '{"resource": %s}'),
]
"""Path and body; each is refused with any invalid name in it."""
ODD_NUMBERS = ['"5"', "true", "[1]", "{}", "NaN", "1e999", "-1", "9" * 400, "-1e400"]
ODD_NAMES = [  # 1 MB is refused before reading
    json.dumps(name[:200] if isinstance(name, str) else name)
    for name in NO_NAMES
    if not isinstance(name, bytes)
]


@pytest.mark.parametrize(
    ("text", "bodies"),
    [*((n, NUMBERS) for n in ODD_NUMBERS), *((n, NAMES) for n in ODD_NAMES)],
    ids=lambda v: v[:20] if isinstance(v, str) else "",
)
def test_server_refuses_invalid_values(
    server: ReservationServer,
    front: SharedLedger,
    text: str,
    bodies: list[tuple[str, str]],
) -> None:
    with httpx.Client(base_url=server.url) as http:
        key = http.post("/owners", json={"name": "registered"}).json()["key"]
        headers = {"Content-Type": "application/json", "Owner-Key": key}
        for path, body in bodies:
            said = http.post(path, content=body % text, headers=headers)
            odd = {400} if bodies is NUMBERS else {400, 404}
            assert said.status_code in odd, (path, body, said.text)
            assert said.json()["error"].isprintable()
    assert not any(row.holders for row in front.snapshot().resources)


def test_shared_ledger_refuses_invalid_callbacks_and_tokens(
    front: SharedLedger,
) -> None:
    front.add_owner(Owner(name="a"))
    with pytest.raises(BadInput, match="when_done"):
        front.ask(Request(owner="a", resources=("ball",)), "call me")  # type: ignore[arg-type]
    with ServerLink("http://127.0.0.1:9") as link, pytest.raises(BadInput):
        link.release("1-1-0")  # type: ignore[arg-type]
